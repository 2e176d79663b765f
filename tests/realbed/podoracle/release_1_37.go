//go:build !kubernetes_1_36

package main

import (
	_ "unsafe" // go:linkname

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/scheduler"
)

const release = "1.37"

var (
	releaseGates      = []string{"GenericWorkload"}
	podGroups         = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}
	podGroupCondition = "PodGroupInitiallyScheduled"
)

// asPodGroup leaves a v1beta1 PodGroup as it is.
func asPodGroup(raw map[string]any) map[string]any { return raw }

//go:linkname addPodGroup k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPodGroup
func addPodGroup(s *scheduler.Scheduler, obj any)
