"""The daemon's side of each cluster: the hub, the workers, their identity, access and permissions."""
