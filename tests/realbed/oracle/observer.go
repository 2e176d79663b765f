package main

import (
	"cmp"
	"reflect"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// cycleReport is what one scheduling cycle did. Every list is sorted, so equal reports are equal JSON.
type cycleReport struct {
	Cycle      int               `json:"cycle"`
	Admitted   []admitted        `json:"admitted"`
	Preempted  []preempted       `json:"preempted"`
	Conditions []conditionChange `json:"conditions"`
	Gates      []gateChange      `json:"gates"`
	Queues     queueContents     `json:"queues"`
	Events     []recordedEvent   `json:"events"`
	// Released are the workloads whose job stopped after the cycle, with the conditions that left them in.
	Released      []objectName      `json:"released"`
	AfterRelease  []conditionChange `json:"afterRelease"`
	QueuesAtStart queueContents     `json:"queuesOfNextCycle"`

	changed bool
}

type admitted struct {
	objectName
	ClusterQueue kueue.ClusterQueueReference `json:"clusterQueue"`
	PodSets      []kueue.PodSetAssignment    `json:"podSets"`
}

type preempted struct {
	objectName
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type conditionChange struct {
	objectName
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

type gateChange struct {
	objectName
	Gate     string                       `json:"gate"`
	Position kueue.PreemptionGatePosition `json:"position"`
}

// queueContents are the waiting workloads of each ClusterQueue.
type queueContents struct {
	Heap   map[kueue.ClusterQueueReference][]string `json:"heap"`
	Parked map[kueue.ClusterQueueReference][]string `json:"parked"`
}

// finalState is where everything ended.
type finalState struct {
	// Reserving are the workloads that hold quota in each ClusterQueue.
	Reserving map[kueue.ClusterQueueReference][]string `json:"reserving"`
	Queues    queueContents                            `json:"queues"`
}

// observer compares the API objects with what they were when it last looked.
type observer struct {
	cluster *liveCluster
	known   map[client.ObjectKey]*kueue.Workload
	queues  queueContents
	settled []conditionChange
}

func newObserver(cluster *liveCluster, objs *objects) *observer {
	o := &observer{cluster: cluster, known: map[client.ObjectKey]*kueue.Workload{}, queues: cluster.queueContents()}
	for _, wl := range objs.workloads {
		o.known[client.ObjectKeyFromObject(wl)] = wl
	}
	cluster.events.drain()
	o.settled = o.look().Conditions
	return o
}

func (o *observer) afterCycle() *cycleReport {
	report := o.look()
	report.Events = o.cluster.events.drain()
	report.Queues = o.cluster.queueContents()
	report.changed = len(report.Conditions) > 0 || !reflect.DeepEqual(report.Queues, o.queues)
	return report
}

func (o *observer) afterRelease(report *cycleReport) {
	release := o.look()
	report.Released = release.Released
	report.AfterRelease = release.Conditions
	report.QueuesAtStart = o.cluster.queueContents()
	report.changed = report.changed || len(release.Conditions) > 0
	o.queues = report.QueuesAtStart
}

// look reports what changed on the workloads since the last look.
func (o *observer) look() *cycleReport {
	report := &cycleReport{
		Admitted: []admitted{}, Preempted: []preempted{}, Conditions: []conditionChange{}, Gates: []gateChange{}, Released: []objectName{},
	}
	for _, wl := range o.cluster.sortedWorkloads() {
		key := client.ObjectKeyFromObject(wl)
		before := o.known[key]
		o.known[key] = wl
		name := objectName{wl.Namespace, wl.Name}
		had, has := workload.HasQuotaReservation(before), workload.HasQuotaReservation(wl)
		if has && !had {
			report.Admitted = append(report.Admitted, newAdmitted(wl))
		}
		if had && !has {
			report.Released = append(report.Released, name)
		}
		changes := conditionChanges(name, before, wl)
		report.Conditions = append(report.Conditions, changes...)
		for _, change := range changes {
			if change.Type == kueue.WorkloadPreempted && change.Status == metav1.ConditionTrue {
				report.Preempted = append(report.Preempted, preempted{name, change.Reason, change.Message})
			}
		}
		report.Gates = append(report.Gates, gateChanges(name, before, wl)...)
	}
	return report
}

func newAdmitted(wl *kueue.Workload) admitted {
	return admitted{objectName{wl.Namespace, wl.Name}, wl.Status.Admission.ClusterQueue, wl.Status.Admission.PodSetAssignments}
}

// conditionChanges leaves out times: they say when this simulation ran.
func conditionChanges(name objectName, before, after *kueue.Workload) []conditionChange {
	var changes []conditionChange
	for _, condition := range after.Status.Conditions {
		old := apimeta.FindStatusCondition(before.Status.Conditions, condition.Type)
		if old != nil && old.Status == condition.Status && old.Reason == condition.Reason && old.Message == condition.Message {
			continue
		}
		changes = append(changes, conditionChange{name, condition.Type, condition.Status, condition.Reason, condition.Message})
	}
	slices.SortFunc(changes, func(a, b conditionChange) int { return cmp.Compare(a.Type, b.Type) })
	return changes
}

func gateChanges(name objectName, before, after *kueue.Workload) []gateChange {
	positions := map[string]kueue.PreemptionGatePosition{}
	for _, gate := range before.Status.PreemptionGates {
		positions[gate.Name] = gate.Position
	}
	var changes []gateChange
	for _, gate := range after.Status.PreemptionGates {
		if positions[gate.Name] != gate.Position {
			changes = append(changes, gateChange{name, gate.Name, gate.Position})
		}
	}
	return changes
}

func (o *observer) final() finalState {
	state := finalState{Reserving: map[kueue.ClusterQueueReference][]string{}, Queues: o.cluster.queueContents()}
	for _, wl := range o.cluster.sortedWorkloads() {
		if workload.HasActiveQuotaReservation(wl) {
			cqName := wl.Status.Admission.ClusterQueue
			state.Reserving[cqName] = append(state.Reserving[cqName], string(workload.Key(wl)))
		}
	}
	return state
}

func (c *liveCluster) queueContents() queueContents {
	return queueContents{Heap: sortedNames(c.queues.Dump()), Parked: sortedNames(c.queues.DumpInadmissible())}
}

func sortedNames(dump map[kueue.ClusterQueueReference][]workload.Reference) map[kueue.ClusterQueueReference][]string {
	sorted := map[kueue.ClusterQueueReference][]string{}
	for cqName, references := range dump {
		for _, reference := range references {
			sorted[cqName] = append(sorted[cqName], string(reference))
		}
		slices.Sort(sorted[cqName])
	}
	return sorted
}
