"""Topology-aware scheduling: trees of Nodes, what is free in them, and where the pods of a workload would go."""
