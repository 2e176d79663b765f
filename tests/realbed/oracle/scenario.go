package main

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// objectName addresses a namespaced object.
type objectName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// givenFlavor is one (pod set, resource) of an assignment that the scenario dictates.
type givenFlavor struct {
	Flavor kueue.ResourceFlavorReference `json:"flavor"`
	Mode   string                        `json:"mode"`
}

type givenAssignment map[kueue.PodSetReference]map[corev1.ResourceName]givenFlavor

// scenario is one line of input.
type scenario struct {
	Name               string            `json:"name"`
	Now                time.Time         `json:"now"`
	FairSharing        *fairSharing      `json:"fairSharing"`
	FeatureGates       map[string]bool   `json:"featureGates"`
	RequeuingTimestamp string            `json:"requeuingTimestamp"`
	Objects            []json.RawMessage `json:"objects"`
	Incoming           *objectName       `json:"incoming"`
	Assignment         givenAssignment   `json:"assignment"`
	Cycles             int               `json:"cycles"`
	VictimsKeepRunning bool              `json:"victimsKeepRunning"`
}

type fairSharing struct {
	PreemptionStrategies []config.PreemptionStrategy `json:"preemptionStrategies"`
}

func (s *scenario) fairSharingConfig() *config.FairSharing {
	if s.FairSharing == nil {
		return nil
	}
	return &config.FairSharing{PreemptionStrategies: s.FairSharing.PreemptionStrategies}
}

func (s *scenario) requeuingTimestamp() config.RequeuingTimestamp {
	if s.RequeuingTimestamp == "" {
		return config.EvictionTimestamp
	}
	return config.RequeuingTimestamp(s.RequeuingTimestamp)
}

// objects are a scenario's API objects by kind.
type objects struct {
	flavors       []*kueue.ResourceFlavor
	cohorts       []*kueue.Cohort
	clusterQueues []*kueue.ClusterQueue
	localQueues   []*kueue.LocalQueue
	workloads     []*kueue.Workload
	topologies    []*kueue.Topology
	nodes         []*corev1.Node
	pods          []*corev1.Pod
	// plain holds what Kueue only reads through its client: Namespace, LimitRange, RuntimeClass.
	plain []client.Object
}

func decodeObjects(raws []json.RawMessage) (*objects, error) {
	kinds, err := kindsOf(raws)
	if err != nil {
		return nil, err
	}
	return decodeObjectsOfKinds(kinds, raws)
}

func kindsOf(raws []json.RawMessage) ([]string, error) {
	kinds := make([]string, len(raws))
	for i, raw := range raws {
		var meta metav1.TypeMeta
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		kinds[i] = meta.Kind
	}
	return kinds, nil
}

func decodeObjectsOfKinds(kinds []string, raws []json.RawMessage) (*objects, error) {
	objs := &objects{}
	for i, raw := range raws {
		if err := objs.add(kinds[i], raw); err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
	}
	objs.implyNamespaces()
	return objs, nil
}

func (o *objects) add(kind string, raw json.RawMessage) error {
	switch kind {
	case "ResourceFlavor":
		return decodeInto(&o.flavors, raw)
	case "Cohort":
		return decodeInto(&o.cohorts, raw)
	case "ClusterQueue":
		return decodeInto(&o.clusterQueues, raw)
	case "LocalQueue":
		return decodeInto(&o.localQueues, raw)
	case "Workload":
		return decodeInto(&o.workloads, raw)
	case "Topology":
		return decodeInto(&o.topologies, raw)
	case "Node":
		return decodeInto(&o.nodes, raw)
	case "Pod":
		return decodeInto(&o.pods, raw)
	case "Namespace":
		return o.addPlain(&corev1.Namespace{}, raw)
	case "LimitRange":
		return o.addPlain(&corev1.LimitRange{}, raw)
	case "RuntimeClass":
		return o.addPlain(&nodev1.RuntimeClass{}, raw)
	}
	return fmt.Errorf("kind %q is not one the oracle knows", kind)
}

func decodeInto[T any](list *[]*T, raw json.RawMessage) error {
	obj := new(T)
	if err := json.Unmarshal(raw, obj); err != nil {
		return err
	}
	*list = append(*list, obj)
	return nil
}

func (o *objects) addPlain(obj client.Object, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, obj); err != nil {
		return err
	}
	o.plain = append(o.plain, obj)
	return nil
}

// implyNamespaces gives a scenario that names no Namespace at all one for each namespace in use, so that scenarios
// about quota alone need not carry them.
func (o *objects) implyNamespaces() {
	for _, obj := range o.plain {
		if _, isNamespace := obj.(*corev1.Namespace); isNamespace {
			return
		}
	}
	seen := map[string]bool{}
	for _, wl := range o.workloads {
		if !seen[wl.Namespace] {
			seen[wl.Namespace] = true
			o.plain = append(o.plain, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wl.Namespace}})
		}
	}
}

func (o *objects) workload(name objectName) (*kueue.Workload, error) {
	for _, wl := range o.workloads {
		if wl.Namespace == name.Namespace && wl.Name == name.Name {
			return wl, nil
		}
	}
	return nil, fmt.Errorf("incoming workload %s/%s is not among the objects", name.Namespace, name.Name)
}

// clusterQueueOf follows the workload's LocalQueue.
func (o *objects) clusterQueueOf(wl *kueue.Workload) (kueue.ClusterQueueReference, error) {
	for _, lq := range o.localQueues {
		if lq.Namespace == wl.Namespace && lq.Name == string(wl.Spec.QueueName) {
			return lq.Spec.ClusterQueue, nil
		}
	}
	return "", fmt.Errorf("workload %s/%s has no LocalQueue %q", wl.Namespace, wl.Name, wl.Spec.QueueName)
}
