"""The work queue: which Workload is next, actions in flight, and back-off."""
