"""Jobs that belong together, or apart: which workers their groups leave over, and which they prefer.

Where a group is required, its Workloads are placed one after the other: dispatched at the same time, two of them could
be admitted on different workers, or on the same one. Groups are those of one namespace.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import NO_WORKER, WorkerName
from gates.targets.rules import Exclusion, ExclusionRule, GroupRule, TargetRules


@dataclass(frozen=True, slots=True)
class Peer:
    """A Workload of the same group."""

    name: str
    created_ns: int
    cluster: WorkerName = NO_WORKER
    """Where it runs, or was chosen to run."""
    is_waiting: bool = False
    """It is dispatched, or may be now."""


@dataclass(frozen=True, slots=True)
class Peers:
    """The other Workloads of the groups of one Workload."""

    affinity: tuple[Peer, ...] = ()
    anti_affinity: tuple[Peer, ...] = ()


NO_PEERS: Final = Peers()


def group_exclusion(rules: TargetRules, me: Peer, peers: Peers, worker: WorkerName) -> Exclusion | None:
    """Return what keeps a Workload from a worker because of its groups."""
    if rules.affinity is not None and rules.affinity.is_required:
        placed = sorted({peer.cluster for peer in peers.affinity if peer.cluster})
        if placed and worker not in placed:
            text = f"its affinity group {rules.affinity.group} is on {', '.join(placed)}"
            return Exclusion(ExclusionRule.AFFINITY, text)
        if not placed and (first := _first(me, peers.affinity)) is not None:
            return Exclusion(ExclusionRule.AFFINITY, _comes_first(first, rules.affinity))
    if rules.anti_affinity is not None and rules.anti_affinity.is_required:
        there = next((peer for peer in peers.anti_affinity if peer.cluster == worker), None)
        if there is not None:
            text = f"{there.name} of its anti-affinity group {rules.anti_affinity.group} is there"
            return Exclusion(ExclusionRule.ANTI_AFFINITY, text)
        if (first := _first(me, peers.anti_affinity)) is not None:
            return Exclusion(ExclusionRule.ANTI_AFFINITY, _comes_first(first, rules.anti_affinity))
    return None


def group_preference(rules: TargetRules, peers: Peers, worker: WorkerName) -> int:
    """Return how much the groups of a Workload prefer a worker: above 0 with its peers, below 0 beside the others."""
    wanted = rules.affinity is not None and any(peer.cluster == worker for peer in peers.affinity)
    unwanted = rules.anti_affinity is not None and any(peer.cluster == worker for peer in peers.anti_affinity)
    return wanted - unwanted


def _first(me: Peer, peers: Iterable[Peer]) -> Peer | None:
    """Return the Workload that is placed before this one: the oldest that waits."""
    waiting = [peer for peer in peers if peer.is_waiting and not peer.cluster]
    first = min((me, *waiting), key=lambda peer: (peer.created_ns, peer.name))
    return None if first is me else first


def _comes_first(first: Peer, rule: GroupRule) -> str:
    return f"{first.name} of its group {rule.group} is placed first"
