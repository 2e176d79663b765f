"""Manifests, chart, alerts and roles, on a real kube-apiserver."""
