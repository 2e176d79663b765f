//go:build kueue_0_18

package main

import "k8s.io/client-go/tools/events"

func newRecorder() events.EventRecorder { return events.NewFakeRecorder(1) }
