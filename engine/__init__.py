"""The preemption engine: pure functions from cluster state to what Kueue would do."""
