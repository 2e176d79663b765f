package main

import (
	"context"
	_ "unsafe" // go:linkname

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/util/routine"
	"sigs.k8s.io/kueue/pkg/util/wait"
	"sigs.k8s.io/kueue/pkg/workload"
)

// Kueue exports the scheduler only as an endless loop. An oracle must take the steps of that very code one at a time and
// must not re-state them, so it links to the three methods that make up a step. The pinned version in go.mod is what makes
// this safe: a renamed method fails the build, a changed one is a new version.

//go:linkname getAssignments sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).getAssignments
func getAssignments(
	s *scheduler.Scheduler, ctx context.Context, wl *workload.Info, snap *schdcache.Snapshot,
) (flavorassigner.Assignment, []*preemption.Target)

//go:linkname scheduleOnce sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func scheduleOnce(s *scheduler.Scheduler, ctx context.Context) wait.SpeedSignal

//go:linkname setAdmissionRoutineWrapper sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func setAdmissionRoutineWrapper(s *scheduler.Scheduler, wrapper routine.Wrapper)
