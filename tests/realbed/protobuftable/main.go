// Command protobuftable prints the table from which local clusters decode protobuf bodies.
//
// The table holds facts of the pinned k8s.io/api alone: the number, JSON name and type of each field of each message
// that a client may send, read from the struct tags of the Go types. Run it in the parent directory:
//
//	go run ./protobuftable > ../../localcluster/serving/protobuf/messages.json
//	go run ./protobuftable -bodies > ../unit/localcluster/recorded/protobuf.jsonl
//
// The second command writes the bodies with which the table is tested.
//
// A type is a scalar, a well-known type whose JSON form is its own affair, or a message. A prefix tells how it is shown:
//
//	(none)  a pointer: shown if it was sent
//	=       a value: always shown, as its zero if it was not sent
//	?       a value: shown unless it is zero
//	<       an embedded message: its fields are shown among those of the message around it
//	[]      a list: shown unless empty
//	{}      a map from strings: shown unless empty
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roots are the kinds that a client may send.
var roots = map[schema.GroupVersion][]any{
	authenticationv1.SchemeGroupVersion:   {authenticationv1.SelfSubjectReview{}, authenticationv1.TokenRequest{}, authenticationv1.TokenReview{}},
	authorizationv1.SchemeGroupVersion:    {authorizationv1.SelfSubjectAccessReview{}, authorizationv1.SelfSubjectRulesReview{}, authorizationv1.SubjectAccessReview{}},
	appsv1.SchemeGroupVersion:             {appsv1.Deployment{}, appsv1.StatefulSet{}},
	batchv1.SchemeGroupVersion:            {batchv1.Job{}},
	coordinationv1.SchemeGroupVersion:     {coordinationv1.Lease{}},
	corev1.SchemeGroupVersion:             {corev1.Binding{}, corev1.ConfigMap{}, corev1.Event{}, corev1.LimitRange{}, corev1.Namespace{}, corev1.Node{}, corev1.Pod{}, corev1.Secret{}, corev1.ServiceAccount{}},
	eventsv1.SchemeGroupVersion:           {eventsv1.Event{}},
	nodev1.SchemeGroupVersion:             {nodev1.RuntimeClass{}},
	policyv1.SchemeGroupVersion:           {policyv1.PodDisruptionBudget{}},
	rbacv1.SchemeGroupVersion:             {rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{}, rbacv1.Role{}, rbacv1.RoleBinding{}},
	schedulingv1.SchemeGroupVersion:       {schedulingv1.PriorityClass{}},
	schedulingv1alpha2.SchemeGroupVersion: {schedulingv1alpha2.PodGroup{}},
	anyVersion:                            {metav1.DeleteOptions{}},
}

// anyVersion is the empty one: clients send options under the version of whatever they are about.
var anyVersion = schema.GroupVersion{}

// wellKnown are the structs that are not shown as objects.
var wellKnown = map[reflect.Type]string{
	reflect.TypeFor[metav1.FieldsV1]():    "RawJSON",
	reflect.TypeFor[metav1.MicroTime]():   "MicroTime",
	reflect.TypeFor[metav1.Time]():        "Time",
	reflect.TypeFor[resource.Quantity]():  "Quantity",
	reflect.TypeFor[intstr.IntOrString](): "IntOrString",
}

var scalars = map[reflect.Kind]string{
	reflect.Bool:   "bool",
	reflect.Int32:  "int32",
	reflect.Int64:  "int64",
	reflect.String: "string",
}

// field is a number, a JSON name (empty if embedded) and a prefixed type.
type field [3]any

// table is filled message by message; a message is the list of its fields in the order of the Go struct, or the
// type of the list that it stands for.
type table struct {
	Kinds    map[string]string `json:"kinds"`
	Messages map[string]any    `json:"messages"`
}

func main() {
	bodies := flag.Bool("bodies", false, "print bodies of every kind instead")
	flag.Parse()
	print := printTable
	if *bodies {
		print = printBodies
	}
	if err := print(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func printTable(out io.Writer) error {
	found := table{Kinds: map[string]string{}, Messages: map[string]any{}}
	for version, kinds := range roots {
		for _, kind := range kinds {
			found.Kinds[rootName(version, kind)] = found.typeName(reflect.TypeOf(kind))
		}
	}
	return found.print(out)
}

func rootName(version schema.GroupVersion, kind any) string {
	name := reflect.TypeOf(kind).Name()
	if version != anyVersion {
		name = version.String() + "/" + name
	}
	return name
}

// typeName returns the name of a type without a prefix, after adding its message to the table.
func (t *table) typeName(of reflect.Type) string {
	if name, ok := wellKnown[of]; ok {
		return name
	}
	if isBytes(of) {
		return "bytes"
	}
	if name, ok := scalars[of.Kind()]; ok {
		return name
	}
	name := messageName(of)
	if _, ok := t.Messages[name]; !ok {
		t.Messages[name] = nil // ends the recursion of a message that contains itself
		t.Messages[name] = t.message(of)
	}
	return name
}

func (t *table) message(of reflect.Type) any {
	if of.Kind() == reflect.Slice {
		return "[]" + t.typeName(of.Elem())
	}
	if of.Kind() != reflect.Struct || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()) {
		log.Fatalf("the JSON form of %v is not known", of)
	}
	fields := []field{}
	for i := range of.NumField() {
		member := of.Field(i)
		tag, ok := member.Tag.Lookup("protobuf")
		if !ok {
			if member.Type != reflect.TypeFor[metav1.TypeMeta]() {
				log.Fatalf("%v.%s has no protobuf tag", of, member.Name)
			}
			continue
		}
		number, err := strconv.Atoi(strings.Split(tag, ",")[1])
		if err != nil {
			log.Fatalf("%v.%s: %v", of, member.Name, err)
		}
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		fields = append(fields, field{number, name, t.shown(member.Type, strings.Split(options, ","))})
	}
	return fields
}

// shown returns a type with its prefix.
func (t *table) shown(of reflect.Type, options []string) string {
	_, isWellKnown := wellKnown[of]
	switch {
	case slices.Contains(options, "inline"):
		return "<" + t.typeName(of)
	case of.Kind() == reflect.Pointer:
		return t.typeName(of.Elem())
	case isBytes(of):
		return "?" + t.typeName(of)
	case of.Kind() == reflect.Slice && !isMessage(of):
		return "[]" + t.typeName(of.Elem())
	case of.Kind() == reflect.Map && of.Key().Kind() == reflect.String:
		return "{}" + t.typeName(of.Elem())
	case slices.Contains(options, "omitzero") && !isWellKnown:
		log.Fatalf("whether a %v is zero is not known", of)
	case slices.Contains(options, "omitempty") && of.Kind() != reflect.Struct:
		return "?" + t.typeName(of)
	}
	return "=" + t.typeName(of)
}

func isBytes(of reflect.Type) bool {
	return of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8
}

// isMessage tells a named list that is a message of its own from a plain repeated field.
func isMessage(of reflect.Type) bool {
	_, ok := reflect.PointerTo(of).MethodByName("Unmarshal")
	return ok
}

func messageName(of reflect.Type) string {
	path := strings.TrimPrefix(of.PkgPath(), "k8s.io/api/")
	return strings.TrimPrefix(path, "k8s.io/apimachinery/pkg/apis/") + "." + of.Name()
}

// print writes one line per kind and message, so that a change of a message is a change of a line.
func (t *table) print(out io.Writer) error {
	kinds, err := lines(t.Kinds)
	if err != nil {
		return err
	}
	messages, err := lines(t.Messages)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "{\"kinds\":{\n%s\n},\n\"messages\":{\n%s\n}}\n", kinds, messages)
	return err
}

func lines[V any](entries map[string]V) (string, error) {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, err := plainJSON(entries[name])
		if err != nil {
			return "", err
		}
		found = append(found, fmt.Sprintf("%q:%s", name, entry))
	}
	return strings.Join(found, ",\n"), nil
}

func plainJSON(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(text.String()), err
}
