package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// scenario is the picture of one cluster. Pods that are bound run; the others are pending, in order of arrival.
type scenario struct {
	name    string
	nodes   []*corev1.Node
	bound   []*corev1.Pod
	pending []*corev1.Pod
	budgets []*policyv1.PodDisruptionBudget
	groups  []runtime.Object
}

func readScenario(line []byte) (*scenario, error) {
	var read struct {
		Name  string
		Input struct {
			Nodes                []*corev1.Node
			Pods                 []*corev1.Pod
			PodGroups            []map[string]any
			PodDisruptionBudgets []*policyv1.PodDisruptionBudget
		}
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return nil, err
	}
	sc := &scenario{name: read.Name, nodes: read.Input.Nodes, budgets: read.Input.PodDisruptionBudgets}
	for _, pod := range read.Input.Pods {
		complete(pod)
		switch {
		case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
			// The scheduler's informer does not list finished pods.
		case pod.Spec.NodeName != "":
			sc.bound = append(sc.bound, pod)
		default:
			sc.pending = append(sc.pending, pod)
		}
	}
	for _, raw := range read.Input.PodGroups {
		group, err := typed(asPodGroup(raw))
		if err != nil {
			return nil, fmt.Errorf("PodGroup: %w", err)
		}
		sc.groups = append(sc.groups, group)
	}
	return sc, nil
}

// complete fills in what the API server would: the scheduler tells pods apart by uid and serves only its own. 1.36 tells
// groups apart by uid, too.
func complete(pod *corev1.Pod) {
	if pod.Namespace == "" {
		pod.Namespace = corev1.NamespaceDefault
	}
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
}

// typed makes the client's type of a raw PodGroup, whichever version this release calls its own.
func typed(raw map[string]any) (runtime.Object, error) {
	kind := podGroups.GroupVersion().WithKind("PodGroup")
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	group := &unstructured.Unstructured{Object: raw}
	group.SetGroupVersionKind(kind)
	if group.GetNamespace() == "" {
		group.SetNamespace(corev1.NamespaceDefault)
	}
	if group.GetUID() == "" {
		group.SetUID(types.UID(group.GetNamespace() + "/" + group.GetName()))
	}
	return object, runtime.DefaultUnstructuredConverter.FromUnstructured(group.Object, object)
}
