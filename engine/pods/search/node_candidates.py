"""Which units one node would have to lose for a pod, and which node is the best to take it from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from engine.pods.search.budgets import BudgetLedger, Order
from engine.pods.search.reprieve import Reprieved, ReprieveRefusal, explain_reprieve, reprieve
from engine.pods.search.units import STABLY_SORTED, Unit, in_order
from engine.pods.state.snapshot import NodeSnapshot, PodKind
from engine.pods.values.explanation import CandidateScore, NodeAnswer, NodeVerdict

_PRIORITY_OFFSET: Final = 2**31
"""Keeps sums of negative priorities from rewarding more victims."""


@dataclass(frozen=True, slots=True)
class NodeOption:
    """One way to make room on one node."""

    place: int
    reprieved: Reprieved
    score: CandidateScore


class NodeRoom:
    """One node with a pod's claim on it; members of a unit on other nodes change nothing here."""

    is_capricious = False

    def __init__(self, snapshot: NodeSnapshot, place: int, kind: PodKind) -> None:
        """Claim room for a pod of this kind."""
        self._snapshot = snapshot
        self._place = place
        self._name = snapshot.nodes[place].name
        self._kind = kind

    def put_back(self, unit: Unit) -> bool:
        """Put the unit's pods on this node back if the pod still fits."""
        self.add(unit)
        if self._snapshot.fits(self._place, self._kind):
            return True
        self.take_out(unit)
        return False

    def take_out(self, unit: Unit) -> None:
        """Take the unit's pods off this node."""
        load = self._snapshot.loads[self._place]
        for pod in unit.pods:
            if pod.node == self._name:
                load.remove(pod.footprint)

    def explain(self, unit: Unit) -> ReprieveRefusal:
        """Say what the pod lacks once the unit is back."""
        self.add(unit)
        shortages = self._snapshot.shortages(self._place, self._kind)
        self.take_out(unit)
        return ReprieveRefusal(self._name, tuple(shortages))

    def add(self, unit: Unit) -> None:
        """Put the unit's pods on this node back, whatever becomes of the pod."""
        load = self._snapshot.loads[self._place]
        for pod in unit.pods:
            if pod.node == self._name:
                load.add(pod.footprint)


@dataclass(frozen=True, slots=True)
class NodeTrial:
    """What came of trying one node."""

    options: list[NodeOption]
    is_complete: bool
    verdict: NodeVerdict


class NodeTrials:
    """Tries nodes for one pod."""

    def __init__(self, snapshot: NodeSnapshot, kind: PodKind, ledger: BudgetLedger, *, explains: bool) -> None:
        """Charge budgets by `ledger`."""
        self._snapshot = snapshot
        self._kind = kind
        self._ledger = ledger
        self._explains = explains

    def try_node(self, place: int, units: Sequence[Unit], order: Order, limit: int) -> NodeTrial:
        """Return the ways to make room by evicting among the units of lower priority that have a pod on the node.

        `order` is that of the budgets.
        """
        snapshot = self._snapshot
        if not units:
            return self._fruitless(place, NodeAnswer.NO_VICTIMS)
        room = NodeRoom(snapshot, place, self._kind)
        for unit in units:
            room.take_out(unit)
        try:
            if not snapshot.fits(place, self._kind):
                return self._fruitless(place, NodeAnswer.STILL_INFEASIBLE)
            return self._reprieve(place, room, in_order(units), order, limit)
        finally:
            for unit in units:
                room.add(unit)

    def _reprieve(self, place: int, room: NodeRoom, ties: list[list[Unit]], order: Order, limit: int) -> NodeTrial:
        charges, is_complete = self._ledger.charges_in(order, ties, limit)
        options: list[NodeOption] = []
        for met, violations in charges:
            ends, was_complete = reprieve(room, met or ties, violations, limit)
            is_complete &= was_complete
            options += [NodeOption(place, end, score) for end in ends for score in scores_of(end)]
        met, violations = charges[0]
        steps = explain_reprieve(room, met or ties, violations) if self._explains else ()
        name = self._snapshot.nodes[place].name
        return NodeTrial(options, is_complete, NodeVerdict(name, NodeAnswer.CANDIDATE, (), steps, options[0].score))

    def _fruitless(self, place: int, answer: NodeAnswer) -> NodeTrial:
        found = self._snapshot.shortages(place, self._kind) if self._explains else ()
        verdict = NodeVerdict(self._snapshot.nodes[place].name, answer, tuple(found))
        return NodeTrial([], is_complete=True, verdict=verdict)


def scores_of(end: Reprieved) -> Iterator[CandidateScore]:
    """Yield what a node is compared by: more than one when it is open which victim comes first."""
    pods = [pod for unit in end.victims for pod in unit.pods]
    highest = max(pod.priority for pod in pods)
    earliest = min(pod.start_ns for pod in pods if pod.priority == highest)
    total = sum(pod.priority + _PRIORITY_OFFSET for pod in pods)
    tops = {pod.priority for unit in _foremost(end) for pod in unit.pods}
    for top in sorted(tops):
        yield CandidateScore(end.violation_count, top, total, len(pods), earliest)


def _foremost(end: Reprieved) -> list[Unit]:
    """Return the victims that may come first: of equally important ones those that overdraw a budget were met first."""
    tied = [unit for unit in end.victims if unit.importance == end.victims[0].importance]
    violating = [unit for unit in tied if unit.identity in end.violations]
    return violating if violating and len(end.victims) <= STABLY_SORTED else tied


def best_options(options: Sequence[NodeOption]) -> list[NodeOption]:
    """Return every option that can win, whatever is chosen freely on the other nodes, the likeliest first."""
    worst: dict[int, tuple[int, ...]] = {}
    for option in options:
        worst[option.place] = max(worst.get(option.place, option.score.rank), option.score.rank)
    if not worst:
        return []
    first, second = _two_smallest(list(worst.values()))
    winners = [option for option in options if option.score.rank <= (second if worst[option.place] == first else first)]
    return sorted(winners, key=lambda option: option.score.rank)


def _two_smallest(ranks: list[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the two smallest, equal ones counted apart; a lone one competes with nothing."""
    ranks.sort()
    return ranks[0], ranks[1] if len(ranks) > 1 else (2**63,)
