package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workload"
)

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(kueue.AddToScheme(s))
	return s
}

// newClientBuilder prepares a fake API server with the very field indexes that Kueue sets up: a query over one that is
// missing fails, and Kueue only logs some of those failures.
func newClientBuilder() *fake.ClientBuilder {
	builder := fake.NewClientBuilder().WithScheme(scheme)
	utilruntime.Must(indexer.Setup(context.Background(), builderIndexer{builder}))
	return builder
}

type builderIndexer struct{ builder *fake.ClientBuilder }

func (i builderIndexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.builder.WithIndex(obj, field, extract)
	return nil
}

// quotaCluster is the real quota cache filled from a scenario, and a real scheduler over it that has no queues:
// enough to ask for the nomination of one workload.
type quotaCluster struct {
	client    client.Client
	cache     *schdcache.Cache
	scheduler *scheduler.Scheduler
}

func newQuotaCluster(ctx context.Context, sc *scenario, objs *objects) (*quotaCluster, error) {
	cl := newClientBuilder().WithObjects(objs.plain...).Build()
	cache := schdcache.New(cl, schdcache.WithFairSharing(sc.FairSharing != nil))
	if err := fillCache(ctx, cache, objs); err != nil {
		return nil, err
	}
	sched := scheduler.New(nil, cache, cl, newRecorder(), schedulerOptions(sc, testingclock.NewFakeClock(sc.Now))...)
	return &quotaCluster{client: cl, cache: cache, scheduler: sched}, nil
}

func schedulerOptions(sc *scenario, clock *testingclock.FakeClock) []scheduler.Option {
	return []scheduler.Option{
		scheduler.WithFairSharing(sc.fairSharingConfig()),
		scheduler.WithPodsReadyRequeuingTimestamp(sc.requeuingTimestamp()),
		scheduler.WithClock(nil, clock),
		scheduler.WithPreemptionExpectations(expectations.NewStore("preemption")),
	}
}

func newPreemptor(sc *scenario, cl client.Client) *preemption.Preemptor {
	return preemption.New(
		cl, workload.Ordering{PodsReadyRequeuingTimestamp: sc.requeuingTimestamp()}, newRecorder(),
		sc.fairSharingConfig(), false, testingclock.NewFakeClock(sc.Now), nil, expectations.NewStore("preemption"), nil,
	)
}

// fillCache adds the objects the way Kueue's controllers would, with workloads last because the client lists none.
func fillCache(ctx context.Context, cache *schdcache.Cache, objs *objects) error {
	log := logr.FromContextOrDiscard(ctx)
	addFlavors(log, cache, objs)
	for _, cohort := range objs.cohorts {
		if err := ignoreCycle(cache.AddOrUpdateCohort(cohort.DeepCopy())); err != nil {
			return fmt.Errorf("Cohort %s: %w", cohort.Name, err)
		}
	}
	for _, cq := range objs.clusterQueues {
		if err := addClusterQueue(ctx, cache, cq, objs); err != nil {
			return err
		}
	}
	for _, lq := range objs.localQueues {
		if err := cache.AddLocalQueue(lq.DeepCopy()); err != nil {
			return fmt.Errorf("LocalQueue %s/%s: %w", lq.Namespace, lq.Name, err)
		}
	}
	for _, wl := range objs.workloads {
		if workload.HasActiveQuotaReservation(wl) {
			cache.AddOrUpdateWorkload(log, wl.DeepCopy())
		}
	}
	return nil
}

// addFlavors adds flavors and what their topologies consist of.
func addFlavors(log logr.Logger, cache *schdcache.Cache, objs *objects) {
	for _, node := range objs.nodes {
		cache.TASCache().SyncNode(node.DeepCopy())
	}
	for _, pod := range objs.pods {
		if countsOnItsNode(pod) {
			cache.TASCache().Update(pod.DeepCopy(), log)
		}
	}
	for _, topology := range objs.topologies {
		cache.AddOrUpdateTopology(log, topology.DeepCopy())
	}
	for _, flavor := range objs.flavors {
		cache.AddOrUpdateResourceFlavor(log, flavor.DeepCopy())
	}
}

// countsOnItsNode repeats which Pods the controller of non-TAS usage hands to the cache: that function is private.
func countsOnItsNode(pod *corev1.Pod) bool {
	return !utiltas.IsTAS(pod) && pod.Spec.NodeName != "" && !utilpod.IsTerminated(pod)
}

// addClusterQueue does what Kueue's controllers do: what is on a cycle of cohorts is stored all the same, and inactive.
func addClusterQueue(ctx context.Context, cache *schdcache.Cache, cq *kueue.ClusterQueue, objs *objects) error {
	err := cache.AddClusterQueue(ctx, cq.DeepCopy())
	if ignoreCycle(err) != nil {
		return fmt.Errorf("ClusterQueue %s: %w", cq.Name, err)
	}
	if err != nil && objs.anyReserving(cq.Name) {
		return fmt.Errorf("ClusterQueue %s is on a cycle of cohorts and has workloads: Kueue overflows its stack on this", cq.Name)
	}
	return nil
}

func ignoreCycle(err error) error {
	if errors.Is(err, schdcache.ErrCohortHasCycle) {
		return nil
	}
	return err
}

func (o *objects) anyReserving(clusterQueue string) bool {
	return slices.ContainsFunc(o.workloads, func(wl *kueue.Workload) bool {
		return workload.HasActiveQuotaReservation(wl) && string(wl.Status.Admission.ClusterQueue) == clusterQueue
	})
}
