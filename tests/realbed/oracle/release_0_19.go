//go:build !kueue_0_17 && !kueue_0_18

package main

import (
	"context"
	_ "unsafe" // go:linkname

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workload/evict"
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

func isEvicted(wl *kueue.Workload) bool { return evict.IsEvicted(wl) }

// comesBack says whether a workload that was preempted is queued again.
func comesBack(wl *kueue.Workload) bool {
	return !features.Enabled(features.SkipReassignmentForPodOwnedWorkloads) || !workload.OwnedBySinglePod(wl)
}

func reasonOfReleased() string {
	return workload.UnadmittedWorkloadReasonWithFallback(kueue.WorkloadQuotaReservedReasonPendingEvaluation, "Pending")
}
