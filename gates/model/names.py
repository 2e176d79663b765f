"""Identifiers that are strings and must not be mixed up with other strings."""

from typing import Final, NewType

ReplicaUID = NewType("ReplicaUID", str)
"""The UID of a replica, given by its worker's API server; not that of the hub's Workload."""
NO_REPLICA: Final = ReplicaUID("")
