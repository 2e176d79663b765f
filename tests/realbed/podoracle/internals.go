package main

import (
	_ "unsafe" // go:linkname

	"k8s.io/kubernetes/pkg/scheduler"
)

// The scheduler learns of objects from informers, whose goroutines deliver nodes, groups and pods in an order of chance.
// The oracle calls the same handlers itself, one event at a time, so that a cycle always begins from the picture that was
// asked about. The pinned version is what makes this safe: a renamed method fails the build.

//go:linkname addNode k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addNodeToCache
func addNode(s *scheduler.Scheduler, obj any)

//go:linkname addPod k8s.io/kubernetes/pkg/scheduler.(*Scheduler).addPod
func addPod(s *scheduler.Scheduler, obj any)
