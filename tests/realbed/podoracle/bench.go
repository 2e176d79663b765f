package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// cost of one step in milliseconds; processor time is user and system, garbage collection included.
type cost struct {
	MinWall   float64 `json:"minWallMs"`
	MinCPU    float64 `json:"minCpuMs"`
	MedianCPU float64 `json:"medianCpuMs"`
}

// benchmark is what one cycle of the real scheduler costs, and what it decided.
type benchmark struct {
	Repetitions int `json:"repetitions"`
	GOMAXPROCS  int `json:"gomaxprocs"`
	// Evaluation goes from taking the pod or group off the queue to the first write to the API.
	Evaluation cost `json:"evaluation"`
	Victims    int  `json:"victims"`
	Nominated  int  `json:"nominated"`
}

// bench measures cycles on a warm scheduler: another pod has had its cycle, so the snapshot is there.
func bench(sc *scenario, repetitions int) (any, error) {
	if repetitions < 1 {
		return nil, fmt.Errorf("repetitions: must be at least 1, not %d", repetitions)
	}
	result := &benchmark{Repetitions: repetitions, GOMAXPROCS: runtime.GOMAXPROCS(0)}
	var wall, cpu []float64
	for range repetitions {
		meter, err := measure(sc)
		if err != nil {
			return nil, err
		}
		wall, cpu = append(wall, meter.wall), append(cpu, meter.cpu)
		result.Victims, result.Nominated = len(meter.victims), meter.nominated
	}
	slices.Sort(cpu)
	result.Evaluation = cost{MinWall: slices.Min(wall), MinCPU: cpu[0], MedianCPU: cpu[len(cpu)/2]}
	return result, nil
}

func measure(sc *scenario) (*meter, error) {
	ctx, cancel := quietContext()
	defer cancel()
	meter := &meter{victims: map[string]bool{}}
	client := &fake.Clientset{}
	client.AddReactor("*", "*", meter.answer)
	cluster, err := newCluster(ctx, client)
	if err != nil {
		return nil, err
	}
	before := *sc
	before.pending = []*corev1.Pod{unplaceable()}
	if err := cluster.show(&before); err != nil {
		return nil, err
	}
	cluster.scheduler.ScheduleOne(ctx)
	for _, pod := range sc.pending {
		if err := cluster.file(cluster.informers.Core().V1().Pods().Informer(), pod, addPod); err != nil {
			return nil, err
		}
	}
	if cluster.waitsForNobody() {
		return nil, fmt.Errorf("nothing is in the active queue")
	}
	runtime.GC()
	meter.start()
	cluster.scheduler.ScheduleOne(ctx)
	return meter, meter.err()
}

// unplaceable is a pod for no node.
func unplaceable() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "warm-up"}}
	pod.Spec.NodeSelector = map[string]string{"there-is": "none"}
	complete(pod)
	return pod
}

// meter plays an API that takes no time, and stops the clock at the first write.
type meter struct {
	mutex     sync.Mutex
	isRunning bool
	began     time.Time
	beganCPU  float64
	wall, cpu float64
	victims   map[string]bool
	nominated int
}

func (m *meter) start() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.isRunning, m.nominated = true, 0
	m.beganCPU, m.began = processorMilliseconds(), time.Now()
}

func (m *meter) answer(action clienttesting.Action) (bool, apiruntime.Object, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.isRunning {
		m.wall = float64(time.Since(m.began)) / float64(time.Millisecond)
		m.cpu = processorMilliseconds() - m.beganCPU
		m.isRunning = false
	}
	switch specific := action.(type) {
	case clienttesting.DeleteAction:
		m.victims[action.GetNamespace()+"/"+specific.GetName()] = true
		return true, nil, nil
	case clienttesting.PatchAction:
		if action.GetResource().Resource == "pods" && nominates(specific.GetPatch()) {
			m.nominated++
		}
	}
	if action.GetResource().Resource == "pods" {
		return true, &corev1.Pod{}, nil
	}
	return false, nil, nil
}

func (m *meter) err() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.isRunning {
		return fmt.Errorf("the cycle wrote nothing")
	}
	return nil
}

func processorMilliseconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / float64(time.Millisecond)
}
