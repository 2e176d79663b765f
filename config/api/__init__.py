"""Frozen values parsed once from raw Kubernetes objects at the edge."""
