"""How much of a worker is held in memory at most. Beyond it the worker counts as lost, or has no forecasts.

There are no more replicas and remote jobs than the hub has Workloads. How many other objects a worker holds is unknown,
so that limit is the size of a large cluster.
"""

from collections.abc import Callable
from typing import Final

from workerclient.base.holdings import HoldingLimits

_LEAST_OBJECTS: Final = 10_000
_OBJECTS_PER_WORKLOAD: Final = 10
"""For each Workload of the hub: its copy, its job, and those of earlier ones that are not gone yet."""
_BYTES_PER_OBJECT: Final = 8 << 10
MOST_VALUES: Final = 10_000
"""In one object that a model is made of: reading so many takes about 20 ms, during which nothing else happens."""
_EVERYTHING: Final = HoldingLimits(objects=200_000, bytes=512 << 20)
_PODS_AND_NODES: Final = HoldingLimits(objects=200_000, bytes=2 << 30)
"""Of which little is kept: a pod of 10 KiB takes less than 1.5 kB here."""


def copies_of(workloads_on_hub: Callable[[], int]) -> Callable[[], HoldingLimits]:
    """Return the limits for what a worker holds of the hub's Workloads."""

    def limits() -> HoldingLimits:
        objects = max(_LEAST_OBJECTS, _OBJECTS_PER_WORKLOAD * workloads_on_hub())
        return HoldingLimits(objects, objects * _BYTES_PER_OBJECT)

    return limits


def pods_and_nodes() -> HoldingLimits:
    """Return the limits for all pods and nodes of a worker where only what they take and give is kept."""
    return _PODS_AND_NODES


def everything() -> HoldingLimits:
    """Return the limits for everything that a worker holds, replicas or not."""
    return _EVERYTHING
