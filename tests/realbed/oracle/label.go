package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workload"
)

type podSetFlavors map[kueue.PodSetReference]map[corev1.ResourceName]kueue.ResourceFlavorReference

type target struct {
	objectName
	Reason string `json:"reason"`
}

// nomination is the answer for one pending workload.
type nomination struct {
	Mode         string                          `json:"mode"`
	Flavors      podSetFlavors                   `json:"flavors"`
	Counts       map[kueue.PodSetReference]int32 `json:"counts,omitempty"`
	Borrowing    *int                            `json:"borrowing"`
	Targets      []target                        `json:"targets"`
	Inadmissible string                          `json:"inadmissible,omitempty"`
	Message      string                          `json:"message,omitempty"`
	// Topology is where the pods go, decoded; for a preemption, once its targets are gone.
	Topology map[kueue.PodSetReference]placement `json:"topology,omitempty"`
}

type placement struct {
	Levels  []string        `json:"levels"`
	Domains []placedPodsRow `json:"domains"`
}

type placedPodsRow struct {
	Values []string `json:"values"`
	Count  int32    `json:"count"`
}

// label answers a scenario with one pending workload.
func label(ctx context.Context, sc *scenario, runs int) (any, error) {
	objs, err := decodeObjects(sc.Objects)
	if err != nil {
		return nil, err
	}
	return askRepeatedly(sc.FeatureGates, runs, func() (*nomination, error) { return nominate(ctx, sc, objs) })
}

func nominate(ctx context.Context, sc *scenario, objs *objects) (*nomination, error) {
	if sc.Incoming == nil {
		return nil, fmt.Errorf("incoming is missing")
	}
	cluster, err := newQuotaCluster(ctx, sc, objs)
	if err != nil {
		return nil, err
	}
	info, err := cluster.pendingInfo(ctx, objs, *sc.Incoming)
	if err != nil {
		return nil, err
	}
	snapshot, err := cluster.cache.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if sc.Assignment != nil {
		return targetsOfGivenAssignment(ctx, sc, cluster, info, snapshot)
	}
	if why := cluster.inadmissible(ctx, info, snapshot); why != "" {
		return &nomination{Mode: "NoFit", Flavors: podSetFlavors{}, Targets: []target{}, Inadmissible: why}, nil
	}
	assignment, targets := assignmentsOf(ctx, cluster.scheduler, info, snapshot)
	return newNomination(info, &assignment, targets), nil
}

// pendingInfo is the incoming workload as Kueue's queues would hold it.
func (c *quotaCluster) pendingInfo(ctx context.Context, objs *objects, name objectName) (*workload.Info, error) {
	wl, err := objs.workload(name)
	if err != nil {
		return nil, err
	}
	clusterQueue, err := objs.clusterQueueOf(wl)
	if err != nil {
		return nil, err
	}
	wl = wl.DeepCopy()
	workload.AdjustResources(ctx, c.client, wl)
	info := workload.NewInfo(wl)
	info.ClusterQueue = clusterQueue
	return info, nil
}

// inadmissible repeats the order of checks by which the scheduler's nominate() leaves a head out before it computes an
// assignment: that method returns a private type, so its result cannot be used from here.
func (c *quotaCluster) inadmissible(ctx context.Context, info *workload.Info, snapshot *schdcache.Snapshot) string {
	cq := snapshot.ClusterQueue(info.ClusterQueue)
	switch {
	case workload.HasRetryChecks(info.Obj) || workload.HasRejectedChecks(info.Obj):
		return "The workload has failed admission checks"
	case snapshot.InactiveClusterQueueSets.Has(info.ClusterQueue):
		return fmt.Sprintf("ClusterQueue %s is inactive", info.ClusterQueue)
	case cq == nil:
		return fmt.Sprintf("ClusterQueue %s not found", info.ClusterQueue)
	}
	return whyNotAdmissible(ctx, c.client, info, cq.NamespaceSelector)
}

func newNomination(info *workload.Info, assignment *flavorassigner.Assignment, targets []*preemption.Target) *nomination {
	answer := &nomination{Mode: modeName(assignment.RepresentativeMode()), Flavors: podSetFlavors{}, Targets: namedTargets(targets)}
	answer.Message = assignment.Message()
	if assignment.RepresentativeMode() == flavorassigner.NoFit {
		return answer
	}
	borrowing := assignment.Borrows()
	answer.Borrowing = &borrowing
	for i, podSet := range assignment.PodSets {
		flavors := map[corev1.ResourceName]kueue.ResourceFlavorReference{}
		for resource, flavor := range podSet.Flavors {
			flavors[resource] = flavor.Name
		}
		answer.Flavors[podSet.Name] = flavors
		if podSet.TopologyAssignment != nil {
			if answer.Topology == nil {
				answer.Topology = map[kueue.PodSetReference]placement{}
			}
			answer.Topology[podSet.Name] = newPlacement(podSet.TopologyAssignment)
		}
		if podSet.Count < info.TotalRequests[i].Count {
			if answer.Counts == nil {
				answer.Counts = map[kueue.PodSetReference]int32{}
			}
			answer.Counts[podSet.Name] = podSet.Count
		}
	}
	return answer
}

func newPlacement(assignment *utiltas.TopologyAssignment) placement {
	placed := placement{Levels: assignment.Levels, Domains: []placedPodsRow{}}
	for _, domain := range assignment.Domains {
		placed.Domains = append(placed.Domains, placedPodsRow{domain.Values, domain.Count})
	}
	return placed
}

// targetsOfGivenAssignment asks only for the workloads to preempt; the flavors are the scenario's.
func targetsOfGivenAssignment(
	ctx context.Context, sc *scenario, cluster *quotaCluster, info *workload.Info, snapshot *schdcache.Snapshot,
) (*nomination, error) {
	if snapshot.ClusterQueue(info.ClusterQueue) == nil {
		return nil, fmt.Errorf("an assignment is given in ClusterQueue %s, which is not active", info.ClusterQueue)
	}
	assignment := flavorassigner.Assignment{}
	for _, requests := range info.TotalRequests {
		podSet := flavorassigner.PodSetAssignment{Name: requests.Name, Count: requests.Count, Flavors: flavorassigner.ResourceAssignment{}}
		for resource, given := range sc.Assignment[requests.Name] {
			mode, err := modeFromName(given.Mode)
			if err != nil {
				return nil, err
			}
			podSet.Flavors[resource] = &flavorassigner.FlavorAssignment{Name: given.Flavor, Mode: mode}
		}
		assignment.PodSets = append(assignment.PodSets, podSet)
	}
	preemptor := newPreemptor(sc, cluster.client)
	targets := getTargets(ctx, preemptor, *info, assignment, snapshot)
	return givenNomination(sc.Assignment, targets), nil
}

func givenNomination(given givenAssignment, targets []*preemption.Target) *nomination {
	answer := &nomination{Mode: "Fit", Flavors: podSetFlavors{}, Targets: namedTargets(targets)}
	for podSet, resources := range given {
		answer.Flavors[podSet] = map[corev1.ResourceName]kueue.ResourceFlavorReference{}
		for resource, flavor := range resources {
			answer.Flavors[podSet][resource] = flavor.Flavor
			if flavor.Mode == "Preempt" {
				answer.Mode = "Preempt"
			}
		}
	}
	return answer
}

func namedTargets(targets []*preemption.Target) []target {
	named := make([]target, 0, len(targets))
	for _, t := range targets {
		obj := t.WorkloadInfo.Obj
		named = append(named, target{objectName{obj.Namespace, obj.Name}, t.Reason})
	}
	slices.SortFunc(named, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return named
}

func modeName(mode flavorassigner.FlavorAssignmentMode) string {
	switch mode {
	case flavorassigner.Fit:
		return "Fit"
	case flavorassigner.Preempt:
		return "Preempt"
	}
	return "NoFit"
}

func modeFromName(name string) (flavorassigner.FlavorAssignmentMode, error) {
	switch name {
	case "Fit":
		return flavorassigner.Fit, nil
	case "Preempt":
		return flavorassigner.Preempt, nil
	}
	return flavorassigner.NoFit, fmt.Errorf("assignment mode %q: must be Fit or Preempt", name)
}
