//go:build kueue_0_17 || kueue_0_18

package main

import (
	"context"
	"fmt"
	_ "unsafe" // go:linkname

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/workload"
)

//go:linkname getAssignments sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).getAssignments
func getAssignments(
	s *scheduler.Scheduler, log logr.Logger, wl *workload.Info, snap *schdcache.Snapshot,
) (flavorassigner.Assignment, []*preemption.Target)

func assignmentsOf(
	ctx context.Context, s *scheduler.Scheduler, wl *workload.Info, snap *schdcache.Snapshot,
) (flavorassigner.Assignment, []*preemption.Target) {
	return getAssignments(s, logr.FromContextOrDiscard(ctx), wl, snap)
}

func getTargets(
	ctx context.Context, p *preemption.Preemptor, wl workload.Info, a flavorassigner.Assignment, snap *schdcache.Snapshot,
) []*preemption.Target {
	return p.GetTargets(logr.FromContextOrDiscard(ctx), wl, a, snap)
}

// whyNotAdmissible asks in the order of these releases, whose scheduler does not have the checks in one function.
func whyNotAdmissible(ctx context.Context, cl client.Client, wl *workload.Info, namespaces labels.Selector) string {
	var namespace corev1.Namespace
	if err := cl.Get(ctx, types.NamespacedName{Name: wl.Obj.Namespace}, &namespace); err != nil {
		return fmt.Sprintf("Could not obtain workload namespace: %v", err)
	}
	if !namespaces.Matches(labels.Set(namespace.Labels)) {
		return "Workload namespace doesn't match ClusterQueue selector"
	}
	if err := workload.ValidateResources(wl); err != nil {
		return fmt.Sprintf("resources validation failed: %v", err.ToAggregate())
	}
	if err := workload.ValidateLimitRange(ctx, cl, wl); err != nil {
		return fmt.Sprintf("resources didn't satisfy LimitRange constraints: %v", err.ToAggregate())
	}
	return ""
}

func isEvicted(wl *kueue.Workload) bool { return workload.IsEvicted(wl) }

func comesBack(*kueue.Workload) bool { return true }

func reasonOfReleased() string { return "Pending" }
