//go:build kueue_0_17

package main

import "k8s.io/client-go/tools/record"

func newRecorder() record.EventRecorder { return record.NewFakeRecorder(1) }
