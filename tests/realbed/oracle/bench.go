//go:build !kueue_0_17 && !kueue_0_18 && !kueue_0_19_0

package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
)

func init() {
	commands["bench"] = command{"repetitions", 5, "how often to measure", bench}
}

// cost is processor time (user and system, garbage collection included) in milliseconds.
type cost struct {
	Min    float64 `json:"minMs"`
	Median float64 `json:"medianMs"`
}

// benchmark is the cost of one nomination in Kueue, step by step, and what it decided.
type benchmark struct {
	Repetitions int    `json:"repetitions"`
	GOMAXPROCS  int    `json:"gomaxprocs"`
	Mode        string `json:"mode"`
	Targets     int    `json:"targets"`
	// DecodeAndBuild goes from the JSON of each object, kind already known, to a filled quota cache.
	DecodeAndBuild cost `json:"decodeAndBuild"`
	Snapshot       cost `json:"snapshot"`
	// Assign includes the preemption simulation of every flavor that does not fit.
	Assign     cost `json:"assign"`
	GetTargets cost `json:"getTargets"`
}

type benchSamples struct{ build, snapshot, assign, targets []float64 }

func bench(ctx context.Context, sc *scenario, repetitions int) (any, error) {
	if repetitions < 1 {
		return nil, fmt.Errorf("repetitions: must be at least 1, not %d", repetitions)
	}
	result := &benchmark{Repetitions: repetitions, GOMAXPROCS: runtime.GOMAXPROCS(0)}
	samples := &benchSamples{}
	err := withFeatureGates(sc.FeatureGates, func() error {
		for range repetitions {
			if err := benchOnce(ctx, sc, samples, result); err != nil {
				return err
			}
		}
		return nil
	})
	result.DecodeAndBuild, result.Snapshot = newCost(samples.build), newCost(samples.snapshot)
	result.Assign, result.GetTargets = newCost(samples.assign), newCost(samples.targets)
	return result, err
}

func benchOnce(ctx context.Context, sc *scenario, samples *benchSamples, result *benchmark) error {
	kinds, err := kindsOf(sc.Objects)
	if err != nil {
		return err
	}
	var cluster *quotaCluster
	var objs *objects
	samples.build = append(samples.build, cpuMilliseconds(func() {
		if objs, err = decodeObjectsOfKinds(kinds, sc.Objects); err == nil {
			cluster, err = newQuotaCluster(ctx, sc, objs)
		}
	}))
	if err != nil {
		return err
	}
	info, err := cluster.pendingInfo(ctx, objs, *sc.Incoming)
	if err != nil {
		return err
	}
	var snapshot *schdcache.Snapshot
	samples.snapshot = append(samples.snapshot, cpuMilliseconds(func() { snapshot, err = cluster.cache.Snapshot(ctx) }))
	if err != nil {
		return err
	}
	preemptor := newPreemptor(sc, cluster.client)
	assigner := flavorassigner.New(
		info, snapshot.ClusterQueue(info.ClusterQueue), snapshot.ResourceFlavors, sc.FairSharing != nil,
		preemption.NewOracle(preemptor, snapshot), nil, "", resources.NewResourceFormatter(), 1,
	)
	var assignment flavorassigner.Assignment
	samples.assign = append(samples.assign, cpuMilliseconds(func() { assignment = assigner.Assign(ctx, nil) }))
	result.Mode = modeName(assignment.RepresentativeMode())
	if assignment.RepresentativeMode() == flavorassigner.Preempt {
		var targets []*preemption.Target
		samples.targets = append(samples.targets, cpuMilliseconds(func() { targets = preemptor.GetTargets(ctx, *info, assignment, snapshot) }))
		result.Targets = len(targets)
	}
	return nil
}

// cpuMilliseconds starts from a collected heap, so that one step does not pay for the garbage of another.
func cpuMilliseconds(step func()) float64 {
	runtime.GC()
	before := cpuTime()
	step()
	return float64((cpuTime() - before).Microseconds()) / 1000
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot happen: the arguments are constants
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func newCost(samples []float64) cost {
	if len(samples) == 0 {
		return cost{}
	}
	slices.Sort(samples)
	return cost{Min: samples[0], Median: samples[len(samples)/2]}
}
