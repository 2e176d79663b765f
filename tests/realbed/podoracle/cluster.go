package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/utils/clock"
)

// cluster is a real scheduler that has seen a scenario. Its informers never run: the oracle files each object where
// listers look and calls the scheduler's handler for it, so nothing happens on other goroutines before the cycle.
type cluster struct {
	scheduler *scheduler.Scheduler
	informers informers.SharedInformerFactory
}

func newCluster(ctx context.Context, client kubernetes.Interface, options ...scheduler.Option) (*cluster, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	options = append(options, scheduler.WithClock(&steppingClock{}))
	sched, err := scheduler.New(ctx, client, factory, nil, silentRecorder, options...)
	if err != nil {
		return nil, err
	}
	return &cluster{scheduler: sched, informers: factory}, nil
}

func silentRecorder(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

// show tells the scheduler of every object in the given order: nothing is pending until all else is known.
func (c *cluster) show(sc *scenario) error {
	for _, group := range sc.groups {
		informer, err := c.informers.ForResource(podGroups)
		if err != nil {
			return err
		}
		if err := c.file(informer.Informer(), group, addPodGroup); err != nil {
			return err
		}
	}
	for _, budget := range sc.budgets {
		if err := c.file(c.informers.Policy().V1().PodDisruptionBudgets().Informer(), budget, nil); err != nil {
			return err
		}
	}
	for _, node := range sc.nodes {
		if err := c.file(c.informers.Core().V1().Nodes().Informer(), node, addNode); err != nil {
			return err
		}
	}
	for _, pods := range [][]*corev1.Pod{sc.bound, sc.pending} {
		for _, pod := range pods {
			if err := c.file(c.informers.Core().V1().Pods().Informer(), pod, addPod); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cluster) file(
	informer cache.SharedIndexInformer, object runtime.Object, handle func(*scheduler.Scheduler, any),
) error {
	if err := informer.GetIndexer().Add(object); err != nil {
		return fmt.Errorf("filing %T: %w", object, err)
	}
	if handle != nil {
		handle(c.scheduler, object)
	}
	return nil
}

// waitsForNobody tells that no pod got as far as the active queue, on which a cycle would wait for ever.
func (c *cluster) waitsForNobody() bool {
	return len(c.scheduler.SchedulingQueue.PodsInActiveQ()) == 0
}

// bindingIsOver tells whether every pod that the cycle gave a node has been bound or given up: the scheduler binds on
// goroutines of their own, and takes a pod off the list of those in flight before it writes the binding.
func (c *cluster) bindingIsOver(pending []*corev1.Pod, isBound func(*corev1.Pod) bool) (bool, error) {
	if len(c.scheduler.SchedulingQueue.InFlightPods()) > 0 {
		return false, nil
	}
	for _, pod := range pending {
		isAssumed, err := c.scheduler.Cache.IsAssumedPod(pod)
		if err != nil {
			return false, err
		}
		if isAssumed && !isBound(pod) {
			return false, nil
		}
	}
	return true, nil
}

// steppingClock gives the queue a time that grows with every look, so that two arrivals are never at the same moment.
type steppingClock struct {
	clock.RealClock
	looks atomic.Int64
}

func (c *steppingClock) Now() time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(c.looks.Add(1)) * time.Microsecond)
}

func quietContext() (context.Context, context.CancelFunc) {
	return context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
}
