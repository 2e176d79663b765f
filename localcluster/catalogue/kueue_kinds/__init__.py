"""Kueue's kinds in group kueue.x-k8s.io/v1beta2: what its CustomResourceDefinitions and webhooks enforce (v0.19.1)."""
