//go:build !kueue_0_17

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

func newRecorder() events.EventRecorder { return events.NewFakeRecorder(1) }

func (l *eventLog) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	l.record(regarding, eventType, reason, note, args)
}
