package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type recordedEvent struct {
	objectName
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// eventLog records the Events that Kueue emits, from several goroutines at once.
type eventLog struct {
	mu     sync.Mutex
	events []recordedEvent
}

func (l *eventLog) record(regarding runtime.Object, eventType, reason, note string, args []any) {
	name := objectName{}
	if obj, ok := regarding.(client.Object); ok {
		name = objectName{obj.GetNamespace(), obj.GetName()}
	}
	message := note
	if len(args) > 0 {
		message = fmt.Sprintf(note, args...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, recordedEvent{name, eventType, reason, message})
}

// drain returns what was recorded since the last call, in an order that does not depend on goroutines.
func (l *eventLog) drain() []recordedEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	drained := append([]recordedEvent{}, l.events...)
	l.events = nil
	slices.SortStableFunc(drained, func(a, b recordedEvent) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return drained
}
