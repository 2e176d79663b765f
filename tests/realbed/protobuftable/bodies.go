package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// body is a line that tests compare with: an object as a client sends it, and the JSON of what Go reads from that.
type body struct {
	Kind   string         `json:"kind"`
	Filled string         `json:"filled"`
	Body   []byte         `json:"body"`
	Object runtime.Object `json:"object"`
}

// printBodies writes each kind twice, with every field set and with none, in the order of their names.
func printBodies(out io.Writer) error {
	kinds := map[string]func(filled bool) (body, error){}
	for version, examples := range roots {
		for _, example := range examples {
			name, kindType := rootName(version, example), reflect.TypeOf(example)
			kinds[name] = func(filled bool) (body, error) { return bodyOf(name, version, kindType, filled) }
		}
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for _, filled := range []bool{true, false} {
			line, err := kinds[name](filled)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := lines.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

func bodyOf(name string, version schema.GroupVersion, kindType reflect.Type, filled bool) (body, error) {
	value := reflect.New(kindType)
	words := "nothing"
	if filled {
		words = "everything"
		(&filler{random: rand.New(rand.NewPCG(uint64(len(name)), 1))}).fill(value.Elem())
	}
	if version == anyVersion {
		version = schema.GroupVersion{Version: "v1"}
	}
	sent := value.Interface().(runtime.Object)
	sent.GetObjectKind().SetGroupVersionKind(version.WithKind(kindType.Name()))
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var encoded bytes.Buffer
	if err := serializer.Encode(sent, &encoded); err != nil {
		return body{}, err
	}
	read := reflect.New(kindType).Interface().(runtime.Object)
	_, found, err := serializer.Decode(encoded.Bytes(), nil, read)
	if err != nil {
		return body{}, err
	}
	read.GetObjectKind().SetGroupVersionKind(*found)
	return body{name, words, encoded.Bytes(), read}, nil
}

// filler gives every field a value that occurs nowhere else in the object, as far as its type allows.
type filler struct {
	random *rand.Rand
	words  int
}

func (f *filler) word() string {
	f.words++
	return fmt.Sprintf("w%d", f.words)
}

func (f *filler) fill(value reflect.Value) {
	switch special := value.Addr().Interface().(type) {
	case *metav1.FieldsV1:
		special.Raw = []byte(`{"f:a":{}}`)
		return
	case *metav1.MicroTime:
		*special = metav1.NewMicroTime(time.UnixMicro(f.random.Int64N(2e15)))
		return
	case *metav1.Time:
		*special = metav1.NewTime(time.Unix(f.random.Int64N(2e9), 0))
		return
	case *resource.Quantity:
		*special = *resource.NewMilliQuantity(f.random.Int64N(1e6), resource.DecimalSI)
		return
	case *intstr.IntOrString:
		if *special = intstr.FromInt32(f.random.Int32N(1e6)); f.random.IntN(2) == 0 {
			*special = intstr.FromString(f.word())
		}
		return
	}
	f.fillKind(value)
}

func (f *filler) fillKind(value reflect.Value) {
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).Type != reflect.TypeFor[metav1.TypeMeta]() {
				f.fill(value.Field(i))
			}
		}
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		f.fill(value.Elem())
	case reflect.Slice:
		if isBytes(value.Type()) {
			value.SetBytes([]byte(f.word()))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		f.fill(value.Index(0))
	case reflect.Map:
		key, entry := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		f.fill(key)
		f.fill(entry)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, entry)
	case reflect.String:
		value.SetString(f.word())
	case reflect.Bool:
		value.SetBool(true)
	default:
		value.SetInt(f.random.Int64N(1e6) - 5e5)
	}
}
