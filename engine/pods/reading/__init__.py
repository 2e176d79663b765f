"""Pods, nodes and PodGroups as read from Kubernetes objects."""
