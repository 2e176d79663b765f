"""Where the pods of a pod set go: domains of a topology and how many pods each one gets."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

HOSTNAME = "kubernetes.io/hostname"
"""The label of the lowest level of most topologies; only on that level are single Nodes told apart."""


class PlacedPods(NamedTuple):
    """A domain, by its values from the highest level down, and how many pods it gets."""

    values: tuple[str, ...]
    pods: int


@dataclass(frozen=True, slots=True)
class TopologyAssignment:
    """The domains of one pod set, in the order of their full values.

    Where the lowest level is the hostname, `levels` and the values are the hostname alone.
    """

    levels: tuple[str, ...]
    domains: tuple[PlacedPods, ...]


@dataclass(frozen=True, slots=True)
class TopologyShortage:
    """How far the free nodes go for pods that have their quota."""

    level: str
    """The level of which one domain is to hold them all."""
    needed: int
    largest: int
    """How many pods the domain of that level holds that holds the most."""
    domain: tuple[str, ...]
    """That domain; empty where there is none."""
    in_all: int
    """How many pods all domains hold together."""


class DelayedTopology(StrEnum):
    """How far a pod set is whose nodes are chosen after its quota was reserved."""

    PENDING = "Pending"
    READY = "Ready"


class FitCheck(StrEnum):
    """What the check says that Kueue makes just before it admits or preempts."""

    OK = "Ok"
    NO_QUOTA = "NoQuota"
    NO_TOPOLOGY = "NoTAS"
