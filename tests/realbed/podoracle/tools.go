//go:build tools

// Package main also pins the real binaries that the scheduler suite runs against.
package main

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
