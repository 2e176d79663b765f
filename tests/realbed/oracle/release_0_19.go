//go:build !kueue_0_17 && !kueue_0_18

package main

import (
	"context"
	_ "unsafe" // go:linkname

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/workload"
)

//go:linkname getAssignments sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).getAssignments
func getAssignments(
	s *scheduler.Scheduler, ctx context.Context, wl *workload.Info, snap *schdcache.Snapshot,
) (flavorassigner.Assignment, []*preemption.Target)

func assignmentsOf(
	ctx context.Context, s *scheduler.Scheduler, wl *workload.Info, snap *schdcache.Snapshot,
) (flavorassigner.Assignment, []*preemption.Target) {
	return getAssignments(s, ctx, wl, snap)
}

func getTargets(
	ctx context.Context, p *preemption.Preemptor, wl workload.Info, a flavorassigner.Assignment, snap *schdcache.Snapshot,
) []*preemption.Target {
	return p.GetTargets(ctx, wl, a, snap)
}

func whyNotAdmissible(ctx context.Context, cl client.Client, wl *workload.Info, namespaces labels.Selector) string {
	if err := workload.ValidateAdmissibility(ctx, cl, wl, namespaces); err != nil {
		return err.Error()
	}
	return ""
}

func newRecorder() events.EventRecorder { return events.NewFakeRecorder(1) }
