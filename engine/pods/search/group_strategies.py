"""What a group evicts once everything of lower priority is out of the way: three algorithms.

All start from a snapshot without the candidates and leave it so. Each yields the possible ends, the likeliest first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.pods.search.budgets import BudgetLedger, Charge, Violations
from engine.pods.search.capacity import Trials, group_fit, group_fits
from engine.pods.search.group_rooms import FrozenRoom, ReplacedRoom
from engine.pods.search.placement import place_group
from engine.pods.search.placement_rules import Placement, PlacementRules
from engine.pods.search.reprieve import explain_reprieve, reprieve
from engine.pods.search.units import Unit, in_order
from engine.pods.state.snapshot import NodeSnapshot
from engine.pods.values.explanation import ReprieveStep
from engine.pods.values.values import PendingPod


@dataclass(frozen=True, slots=True)
class GroupEnd:
    """One possible end: who is evicted, and where the members are then expected, None when that stays open."""

    victims: tuple[Unit, ...]
    violations: Violations
    way: Placement | None


@dataclass(slots=True)
class GroupTask:
    """A group to make room for, the candidates that were removed for it, and how far free choices are followed."""

    snapshot: NodeSnapshot
    members: Sequence[PendingPod]
    rules: PlacementRules
    units: Sequence[Unit]
    ledger: BudgetLedger
    limit: int
    explains: bool
    trials: Trials
    is_complete: bool = True
    steps: tuple[ReprieveStep, ...] = field(default=())

    def charges(self, order: Sequence[Sequence[Unit]] | None = None) -> list[Charge]:
        """Return who may be found to overdraw a budget when the candidates are charged in order."""
        if self.ledger.is_empty:
            return [Charge(None, {})]
        charges, is_complete = self.ledger.charges(order or in_order(self.units), self.limit)
        self.is_complete &= is_complete
        return charges


def evict_around_frozen_placement(
    task: GroupTask, ways: Sequence[Placement], order: Sequence[Sequence[Unit]] | None = None
) -> Iterator[GroupEnd]:
    """1.37: the placement found without the candidates stands; put back each candidate that leaves it valid.

    `order` is that of importance, where more is known of it than the units say.
    """
    by_node = _units_by_node(task.units)
    charges = task.charges(order)
    for way in ways:
        room = FrozenRoom(task.snapshot, task.members, way)
        # A unit that shares no node with a member is put back in any case.
        near = _on_nodes(by_node, task, way)
        for charge in charges:
            met = charge.order or order
            ties = in_order(near) if met is None else _only(met, near)
            ends, is_complete = reprieve(room, ties, charge.violations, task.limit)
            task.is_complete &= is_complete
            if task.explains and not task.steps:
                task.steps = explain_reprieve(room, ties, charge.violations)
            for end in ends:
                yield GroupEnd(end.victims, charge.violations, way)


def evict_by_placing_again(task: GroupTask) -> Iterator[GroupEnd]:
    """1.36: put back each candidate that still leaves room for the group somewhere."""
    ties, charges = in_order(task.units), task.charges()
    for fit in group_fits(task.snapshot, task.members, task.rules, limit=task.limit, trials=task.trials):
        room = ReplacedRoom(task.snapshot, fit)
        for order, violations in charges:
            ends, is_complete = reprieve(room, order or ties, violations, task.limit)
            task.is_complete &= is_complete
            if task.explains and not task.steps:
                task.steps = explain_reprieve(room, order or ties, violations)
            # Where all may return, the group had found room in the first place and no candidate was considered.
            yield from (GroupEnd(end.victims, violations, None) for end in ends if end.victims)


def evict_from_lowest_priority(task: GroupTask, ways: Sequence[Placement]) -> Iterator[GroupEnd]:
    """KEP-5710: spare budgets, then every priority that can be spared, then go on as around a frozen placement."""
    for _, violations in task.charges():
        for way in ways:
            room = FrozenRoom(task.snapshot, task.members, way)
            violating = in_order(unit for unit in task.units if unit.identity in violations)
            ends, is_complete = reprieve(room, violating, {}, task.limit)
            task.is_complete &= is_complete
            for end in ends:
                refused = {unit.identity for unit in end.victims}
                spared = [unit for tied in violating for unit in tied if unit.identity not in refused]
                yield from _evict_below_ceiling(task, violations, spared)


def lowest_sufficient_priority(task: GroupTask, units: Sequence[Unit]) -> int:
    """Return the smallest priority such that evicting only these units up to it makes room for the group."""
    priorities = sorted({unit.priority for unit in units})
    low, high = 0, len(priorities) - 1
    while low < high:
        middle = (low + high) // 2
        has_room = has_room_below(task, units, priorities[middle] + 1)
        low, high = (low, middle) if has_room else (middle + 1, high)
    return priorities[low]


def has_room_below(task: GroupTask, units: Sequence[Unit], priority: int) -> bool:
    """Return whether the group finds room when only those of these units go that are below a priority."""
    staying = [pod for unit in units if unit.priority >= priority for pod in unit.pods]
    task.snapshot.add(staying)
    has_room = group_fit(task.snapshot, task.members, task.rules).has_room(())
    task.snapshot.remove(staying)
    return has_room


def _evict_below_ceiling(task: GroupTask, violations: Violations, spared: Sequence[Unit]) -> Iterator[GroupEnd]:
    snapshot = task.snapshot
    kept = {unit.identity for unit in spared}
    returned = [pod for unit in spared for pod in unit.pods]
    snapshot.add(returned)
    remaining = [unit for unit in task.units if unit.identity not in kept]
    ceiling = lowest_sufficient_priority(task, remaining)
    higher = [pod for unit in remaining if unit.priority > ceiling for pod in unit.pods]
    snapshot.add(higher)
    candidates = [unit for unit in remaining if unit.priority <= ceiling]
    found = place_group(snapshot, task.members, task.rules, limit=task.limit)
    task.is_complete &= found.is_complete
    ends = []
    for way in found.split(task.rules.needed)[0]:
        room, ties = FrozenRoom(snapshot, task.members, way), in_order(candidates)
        possible, is_complete = reprieve(room, ties, {}, task.limit)
        task.is_complete &= is_complete
        if task.explains and not task.steps:
            task.steps = explain_reprieve(room, ties, {})
        ends += [GroupEnd(end.victims, violations, way) for end in possible]
    snapshot.remove(higher)
    snapshot.remove(returned)
    yield from ends


def _only(order: Sequence[Sequence[Unit]], units: Sequence[Unit]) -> list[list[Unit]]:
    wanted = {unit.identity for unit in units}
    parts = ([unit for unit in tied if unit.identity in wanted] for tied in order)
    return [part for part in parts if part]


def _units_by_node(units: Sequence[Unit]) -> dict[str, list[Unit]]:
    by_node: dict[str, list[Unit]] = {}
    for unit in units:
        for name in {pod.node for pod in unit.pods}:
            by_node.setdefault(name, []).append(unit)
    return by_node


def _on_nodes(by_node: dict[str, list[Unit]], task: GroupTask, way: Placement) -> list[Unit]:
    found: dict[object, Unit] = {}
    for place in dict.fromkeys(place for place in way if place is not None):
        for unit in by_node.get(task.snapshot.nodes[place].name, ()):
            found.setdefault(unit.identity, unit)
    return list(found.values())
