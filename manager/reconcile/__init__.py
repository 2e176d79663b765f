"""One Workload at a time: take a snapshot, decide, execute the actions."""
