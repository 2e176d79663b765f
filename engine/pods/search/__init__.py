"""The search for a node, and for the pods to evict from it."""
