package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler"
)

// patience bounds the wait for bindings; reaching it is an error of the oracle and never an answer.
const patience = time.Minute

// label runs cycles with nodes and running pods shown in various orders, and lists the distinct outcomes: the order in
// which a scheduler learnt of them decides its ties.
func label(sc *scenario, runs int) (any, error) {
	var outcomes []outcome
	seen := map[string]bool{}
	message := ""
	for number := range runs {
		found, said, err := cycle(shuffled(sc, number))
		if err != nil {
			return nil, err
		}
		key, err := json.Marshal(found)
		if err != nil {
			return nil, err
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			outcomes = append(outcomes, found)
		}
		message = said
	}
	slices.SortFunc(outcomes, outcome.compare)
	return map[string]any{"outcomes": outcomes, "runs": runs, "message": message}, nil
}

// shuffled returns the scenario with its nodes and running pods in the order of a run; the first run keeps what it got.
func shuffled(sc *scenario, number int) *scenario {
	turned := *sc
	turned.nodes, turned.bound = slices.Clone(sc.nodes), slices.Clone(sc.bound)
	if number > 0 {
		random := rand.New(rand.NewSource(int64(number)))
		random.Shuffle(len(turned.nodes), func(i, j int) {
			turned.nodes[i], turned.nodes[j] = turned.nodes[j], turned.nodes[i]
		})
		random.Shuffle(len(turned.bound), func(i, j int) {
			turned.bound[i], turned.bound[j] = turned.bound[j], turned.bound[i]
		})
	}
	return &turned
}

// cycle runs one scheduling cycle on a new scheduler and says what it did.
func cycle(sc *scenario) (outcome, string, error) {
	ctx, cancel := quietContext()
	defer cancel()
	client := fake.NewSimpleClientset(copies(sc)...)
	cluster, err := newCluster(ctx, client, scheduler.WithParallelism(1))
	if err != nil {
		return outcome{}, "", err
	}
	if err := cluster.show(sc); err != nil {
		return outcome{}, "", err
	}
	if cluster.waitsForNobody() {
		return outcome{Result: "gated"}.complete(), "", nil
	}
	cluster.scheduler.ScheduleOne(ctx)
	writes := &observer{client: client}
	deadline := time.Now().Add(patience)
	for {
		isOver, err := cluster.bindingIsOver(sc.pending, writes.isBound)
		if err != nil {
			return outcome{}, "", err
		}
		if isOver {
			return writes.outcome(sc)
		}
		if time.Now().After(deadline) {
			return outcome{}, "", fmt.Errorf("bindings did not end in %s", patience)
		}
		runtime.Gosched()
	}
}

// copies are for the API that the scheduler writes to: it must not see what is written on the scheduler's own objects.
func copies(sc *scenario) []apiruntime.Object {
	var objects []apiruntime.Object
	for _, node := range sc.nodes {
		objects = append(objects, node.DeepCopy())
	}
	for _, pods := range [][]*corev1.Pod{sc.bound, sc.pending} {
		for _, pod := range pods {
			objects = append(objects, pod.DeepCopy())
		}
	}
	for _, group := range sc.groups {
		objects = append(objects, group.DeepCopyObject())
	}
	return objects
}
