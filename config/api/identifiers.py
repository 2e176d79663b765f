"""Identifiers that are strings and must not be mixed up with other strings."""

from typing import Final, NewType

WorkerName = NewType("WorkerName", str)
"""What the configuration or a MultiKueueCluster calls a worker; not a cluster's UID, and never the hub."""
NO_WORKER: Final = WorkerName("")

ClusterUID = NewType("ClusterUID", str)
"""The UID of a cluster, which is that of its namespace kube-system. The hub has one too."""

ReplicaUID = NewType("ReplicaUID", str)
"""The UID of a replica, given by its worker's API server; not that of the hub's Workload."""
NO_REPLICA: Final = ReplicaUID("")
