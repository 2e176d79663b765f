package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	"sigs.k8s.io/kueue/pkg/workload"
)

// liveCluster is Kueue without its process: API server (fake), queues, quota cache, scheduler and the event handlers
// of the workload controller are Kueue's own; only time and the delivery of events are in our hands.
type liveCluster struct {
	client     client.Client
	cache      *schdcache.Cache
	queues     *qcache.Manager
	requeuer   interface{ ProcessRequeues(context.Context) int }
	controller *core.WorkloadReconciler
	scheduler  *scheduler.Scheduler
	admissions *sync.WaitGroup
	clock      *testingclock.FakeClock
	events     *eventLog
	// workloads are the API objects as the handlers have last been told of them.
	workloads map[client.ObjectKey]*kueue.Workload
}

func newLiveCluster(ctx context.Context, sc *scenario, objs *objects) (*liveCluster, error) {
	c := &liveCluster{
		client:     newClientBuilder().WithObjects(objs.all()...).WithStatusSubresource(&kueue.Workload{}).Build(),
		clock:      testingclock.NewFakeClock(sc.Now),
		events:     &eventLog{},
		admissions: &sync.WaitGroup{},
		workloads:  map[client.ObjectKey]*kueue.Workload{},
	}
	preemptions := expectations.NewStore("preemption")
	c.cache = schdcache.New(c.client, schdcache.WithFairSharing(sc.FairSharing != nil))
	c.queues, c.requeuer = qcache.NewManagerForUnitTestsWithRequeuer(c.client, c.cache,
		qcache.WithClock(c.clock), qcache.WithPodsReadyRequeuingTimestamp(sc.requeuingTimestamp()),
		qcache.WithPreemptionExpectations(preemptions))
	c.controller = core.NewWorkloadReconciler(c.client, c.queues, c.cache, c.events, core.WithPreemptionExpectations(preemptions))
	options := append(schedulerOptions(sc, c.clock), scheduler.WithPreemptionExpectations(preemptions))
	c.scheduler = scheduler.New(c.queues, c.cache, c.client, c.events, options...)
	setAdmissionRoutineWrapper(c.scheduler, waitable{c.admissions})
	if err := c.load(ctx, objs); err != nil {
		return nil, err
	}
	return c, c.settlePending(ctx)
}

// waitable runs the scheduler's asynchronous API writes so that the end of a cycle can wait for them.
type waitable struct{ running *sync.WaitGroup }

func (w waitable) Run(f func()) { w.running.Go(f) }

func (o *objects) all() []client.Object {
	all := append([]client.Object{}, o.plain...)
	for _, flavor := range o.flavors {
		all = append(all, flavor.DeepCopy())
	}
	for _, cohort := range o.cohorts {
		all = append(all, cohort.DeepCopy())
	}
	for _, cq := range o.clusterQueues {
		all = append(all, cq.DeepCopy())
	}
	for _, lq := range o.localQueues {
		all = append(all, lq.DeepCopy())
	}
	for _, wl := range o.workloads {
		all = append(all, wl.DeepCopy())
	}
	return all
}

// load delivers the creation events of everything but Pods and Jobs; the caches list workloads from the API themselves.
func (c *liveCluster) load(ctx context.Context, objs *objects) error {
	log := logr.FromContextOrDiscard(ctx)
	addFlavors(log, c.cache, objs)
	for _, cohort := range objs.cohorts {
		if err := ignoreCycle(c.cache.AddOrUpdateCohort(cohort.DeepCopy())); err != nil {
			return fmt.Errorf("Cohort %s: %w", cohort.Name, err)
		}
		c.queues.AddOrUpdateCohort(ctx, cohort.DeepCopy())
	}
	for _, cq := range objs.clusterQueues {
		if err := addClusterQueue(ctx, c.cache, cq, objs); err != nil {
			return err
		}
		if err := c.queues.AddClusterQueue(ctx, cq.DeepCopy()); err != nil {
			return fmt.Errorf("queues of ClusterQueue %s: %w", cq.Name, err)
		}
	}
	for _, lq := range objs.localQueues {
		if lq.Spec.StopPolicy != nil && *lq.Spec.StopPolicy != kueue.None {
			continue
		}
		if err := c.queues.AddLocalQueue(ctx, lq.DeepCopy()); err != nil {
			return fmt.Errorf("LocalQueue %s/%s: %w", lq.Namespace, lq.Name, err)
		}
	}
	c.requeuer.ProcessRequeues(ctx)
	var list kueue.WorkloadList
	if err := c.client.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		c.workloads[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	return nil
}

// settlePending lets the workload controller look at every pending workload once, as it does when Kueue starts: it
// closes preemption gates that have no state yet and says which workloads have no usable queue.
func (c *liveCluster) settlePending(ctx context.Context) error {
	for _, wl := range c.sortedWorkloads() {
		if workload.HasQuotaReservation(wl) || !workload.IsActive(wl) {
			continue
		}
		if _, err := c.controller.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(wl)}); err != nil {
			return fmt.Errorf("settling workload %s/%s: %w", wl.Namespace, wl.Name, err)
		}
	}
	return c.deliverUpdates(ctx)
}

// deliverUpdates tells the workload controller what changed in the API since the last time.
func (c *liveCluster) deliverUpdates(ctx context.Context) error {
	var list kueue.WorkloadList
	if err := c.client.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		wl := &list.Items[i]
		key := client.ObjectKeyFromObject(wl)
		old := c.workloads[key]
		if old.ResourceVersion == wl.ResourceVersion {
			continue
		}
		c.workloads[key] = wl
		c.controller.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old, ObjectNew: wl.DeepCopy()})
	}
	return nil
}

func (c *liveCluster) sortedWorkloads() []*kueue.Workload {
	return slices.SortedFunc(maps.Values(c.workloads), func(a, b *kueue.Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// stopEvictedJobs plays the job controller, which ends the pods of an evicted workload and then gives its quota back.
// Kueue does this in the reconciler of each job kind, which needs the job; the status it writes is repeated here.
func (c *liveCluster) stopEvictedJobs(ctx context.Context) error {
	stopped := false
	for _, wl := range c.sortedWorkloads() {
		if !isEvicted(wl) || !workload.HasQuotaReservation(wl) {
			continue
		}
		wl = wl.DeepCopy()
		c.releaseQuota(wl)
		if err := c.client.Status().Update(ctx, wl); err != nil {
			return fmt.Errorf("stopping the job of %s/%s: %w", wl.Namespace, wl.Name, err)
		}
		stopped = true
	}
	if !stopped {
		return nil
	}
	return c.deliverUpdates(ctx)
}

func (c *liveCluster) releaseQuota(wl *kueue.Workload) {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	isRequeued := evicted.Reason == kueue.WorkloadEvictedByPreemption || evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures
	requeue := isRequeued && comesBack(wl)
	workload.SetRequeuedCondition(wl, evicted.Reason, evicted.Message, requeue)
	apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadRequeued).LastTransitionTime = metav1.NewTime(c.clock.Now())
	workload.UnsetQuotaReservationWithCondition(wl, reasonOfReleased(), evicted.Message, c.clock.Now())
}

// hasHeads says whether a cycle would have anything to do; the scheduler would block otherwise.
func (c *liveCluster) hasHeads() bool {
	for cqName, waiting := range c.queues.Dump() {
		if len(waiting) > 0 && c.cache.ClusterQueueActive(cqName) {
			return true
		}
	}
	return false
}
