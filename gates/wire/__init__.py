"""How Workloads, replicas and our records are read from and written to Kubernetes objects."""
