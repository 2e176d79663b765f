//go:build kueue_0_17

package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

func newRecorder() record.EventRecorder { return record.NewFakeRecorder(1) }

func (l *eventLog) Event(object runtime.Object, eventType, reason, message string) {
	l.record(object, eventType, reason, message, nil)
}

func (l *eventLog) Eventf(object runtime.Object, eventType, reason, note string, args ...any) {
	l.record(object, eventType, reason, note, args)
}

func (l *eventLog) AnnotatedEventf(
	object runtime.Object, _ map[string]string, eventType, reason, note string, args ...any,
) {
	l.record(object, eventType, reason, note, args)
}
