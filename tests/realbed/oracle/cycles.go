package main

import (
	"context"
	"maps"
	"time"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Why a simulation ended.
const (
	stoppedNoHeads = "NoHeads" // nothing is waiting in an active ClusterQueue
	stoppedQuiet   = "Quiet"   // cycles go on but change nothing
	stoppedLimit   = "Limit"   // the scenario's number of cycles was reached
)

// simulation is what several cycles in a row did.
type simulation struct {
	// Settled is what the workload controller wrote before the first cycle.
	Settled []conditionChange `json:"settled"`
	Cycles  []cycleReport     `json:"cycles"`
	Stopped string            `json:"stopped"`
	Final   finalState        `json:"final"`
}

// simulate answers a scenario with any number of pending workloads.
func simulate(ctx context.Context, sc *scenario, runs int) (any, error) {
	objs, err := decodeObjects(sc.Objects)
	if err != nil {
		return nil, err
	}
	gates := maps.Clone(sc.FeatureGates)
	if gates == nil {
		gates = map[string]bool{}
	}
	// Same fields, sent as a merge patch: the fake API server's apply does not remove what a field owner left out.
	gates["WorkloadRequestUseMergePatch"] = true
	return askRepeatedly(gates, runs, func() (*simulation, error) { return simulateOnce(ctx, sc, objs) })
}

func simulateOnce(ctx context.Context, sc *scenario, objs *objects) (*simulation, error) {
	cluster, err := newLiveCluster(ctx, sc, objs)
	if err != nil {
		return nil, err
	}
	observer := newObserver(cluster, objs)
	result := &simulation{Settled: observer.settled, Cycles: []cycleReport{}, Stopped: stoppedLimit}
	patience := longestFlavorList(objs.clusterQueues)
	for number, quiet := 1, 0; number <= sc.Cycles; number++ {
		if !cluster.hasHeads() {
			result.Stopped = stoppedNoHeads
			break
		}
		report, err := runCycle(ctx, sc, cluster, observer)
		if err != nil {
			return nil, err
		}
		report.Cycle = number
		result.Cycles = append(result.Cycles, *report)
		// The scheduler remembers which flavor it tried last, so a cycle that changed nothing may be followed by one
		// that tries the next flavor: only a whole round without change is the end.
		if quiet++; report.changed {
			quiet = 0
		}
		if quiet > patience {
			result.Stopped = stoppedQuiet
			break
		}
	}
	result.Final = observer.final()
	return result, nil
}

// runCycle takes one scheduling cycle, then delivers its consequences and lets one second pass.
func runCycle(ctx context.Context, sc *scenario, cluster *liveCluster, observer *observer) (*cycleReport, error) {
	scheduleOnce(cluster.scheduler, ctx)
	cluster.admissions.Wait()
	if err := cluster.deliverUpdates(ctx); err != nil {
		return nil, err
	}
	report := observer.afterCycle()
	cluster.clock.Step(time.Second)
	if !sc.VictimsKeepRunning {
		if err := cluster.stopEvictedJobs(ctx); err != nil {
			return nil, err
		}
	}
	cluster.requeuer.ProcessRequeues(ctx)
	observer.afterRelease(report)
	return report, nil
}

func longestFlavorList(clusterQueues []*kueue.ClusterQueue) int {
	longest := 0
	for _, cq := range clusterQueues {
		for _, group := range cq.Spec.ResourceGroups {
			longest = max(longest, len(group.Flavors))
		}
	}
	return longest
}
