//go:build kubernetes_1_36

package main

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.36"

var (
	releaseGates      = []string{"GenericWorkload", "GangScheduling", "WorkloadAwarePreemption"}
	podGroups         = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha2", Resource: "podgroups"}
	podGroupCondition = "PodGroupScheduled"
)

// asPodGroup gives a v1beta1 PodGroup the shape that this release knows: the disruption mode is a word.
func asPodGroup(raw map[string]any) map[string]any {
	spec, _ := raw["spec"].(map[string]any)
	if mode, isUnion := spec["disruptionMode"].(map[string]any); isUnion {
		spec["disruptionMode"] = "Pod"
		if _, isAll := mode["all"]; isAll {
			spec["disruptionMode"] = "PodGroup"
		}
	}
	return raw
}

// addPodGroup has nothing to tell: this release reads groups from the lister, and the event would only wake pods that
// wait for a group, of which there are none yet.
func addPodGroup(*scheduler.Scheduler, any) {}
