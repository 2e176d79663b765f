package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// outcome is what one cycle did.
type outcome struct {
	Result    string            `json:"result"`
	Victims   []string          `json:"victims"`
	Nominated map[string]string `json:"nominated"`
	Bound     map[string]string `json:"bound"`
}

// complete turns what is missing into what is empty.
func (o outcome) complete() outcome {
	if o.Victims == nil {
		o.Victims = []string{}
	}
	if o.Nominated == nil {
		o.Nominated = map[string]string{}
	}
	if o.Bound == nil {
		o.Bound = map[string]string{}
	}
	return o
}

// compare orders outcomes by all they hold, so that the same set is always the same list.
func (o outcome) compare(other outcome) int {
	left, _ := json.Marshal(o)
	right, _ := json.Marshal(other)
	return cmp.Compare(string(left), string(right))
}

// observer reads what the scheduler wrote to the API.
type observer struct {
	client *fake.Clientset
}

func (w *observer) isBound(pod *corev1.Pod) bool {
	_, isBound := w.bindings()[nameOf(pod)]
	return isBound
}

func (w *observer) bindings() map[string]string {
	bound := map[string]string{}
	for _, action := range w.client.Actions() {
		create, isCreate := action.(clienttesting.CreateAction)
		if !isCreate || action.GetSubresource() != "binding" {
			continue
		}
		if binding, isBinding := create.GetObject().(*corev1.Binding); isBinding {
			bound[action.GetNamespace()+"/"+binding.Name] = binding.Target.Name
		}
	}
	return bound
}

func (w *observer) victims() []string {
	victims := []string{}
	for _, action := range w.client.Actions() {
		if deletion, isDelete := action.(clienttesting.DeleteAction); isDelete && action.GetResource().Resource == "pods" {
			victims = append(victims, action.GetNamespace()+"/"+deletion.GetName())
		}
	}
	slices.Sort(victims)
	return slices.Compact(victims)
}

// outcome says what became of the pending pods, and the reason that the scheduler wrote.
func (w *observer) outcome(sc *scenario) (outcome, string, error) {
	found := outcome{Victims: w.victims(), Bound: w.bindings(), Nominated: map[string]string{}}
	message := ""
	for _, pod := range sc.pending {
		now, err := w.client.CoreV1().Pods(pod.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return found, "", err
		}
		if now.Status.NominatedNodeName != "" {
			found.Nominated[nameOf(pod)] = now.Status.NominatedNodeName
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				message = condition.Message
			}
		}
	}
	isRefused, err := w.isGroupRefused(sc)
	if err != nil {
		return found, "", err
	}
	switch {
	case isRefused:
		found.Result = "error"
	case len(found.Victims) > 0:
		found.Result = "preempting"
	case len(found.Bound) > 0:
		found.Result = "scheduled"
		maps.DeleteFunc(found.Nominated, func(string, string) bool { return true })
	case len(found.Nominated) > 0:
		found.Result = "waiting"
	default:
		found.Result = "unschedulable"
	}
	return found.complete(), message, nil
}

// isGroupRefused tells whether the scheduler wrote on a group that it cannot work with it.
func (w *observer) isGroupRefused(sc *scenario) (bool, error) {
	for _, group := range sc.groups {
		named, err := meta.Accessor(group)
		if err != nil {
			return false, err
		}
		now, err := w.client.Tracker().Get(podGroups, named.GetNamespace(), named.GetName())
		if err != nil {
			return false, err
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(now)
		if err != nil {
			return false, err
		}
		conditions, _, err := unstructured.NestedSlice(fields, "status", "conditions")
		if err != nil {
			return false, err
		}
		for _, each := range conditions {
			condition, _ := each.(map[string]any)
			if condition["type"] == podGroupCondition && condition["reason"] == "SchedulerError" {
				return true, nil
			}
		}
	}
	return false, nil
}

func nameOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// nominates tells whether a patch of a pod's status gives it a node to hope for.
func nominates(patch []byte) bool {
	var change struct {
		Status struct {
			NominatedNodeName string `json:"nominatedNodeName"`
		} `json:"status"`
	}
	return json.Unmarshal(patch, &change) == nil && change.Status.NominatedNodeName != ""
}
