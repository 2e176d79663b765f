"""1.37's evictions for a group, one order of the nodes at a time.

The scheduler goes through the nodes in one order during a cycle. That order decides ties twice: where a member goes
among nodes that score alike, and which of equally important units on different nodes counts as the more important. So
these ties are not free of each other. Units of one node stay tied.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, permutations

from engine.pods.search.group_strategies import GroupEnd, GroupTask, evict_around_frozen_placement
from engine.pods.search.node_order import OrderedPlacing
from engine.pods.search.placement import ORDERED_NODES, eligible_nodes
from engine.pods.search.placement_rules import Placement, placed_count
from engine.pods.search.units import STABLY_SORTED, Unit, in_order


def evict_in_every_order(task: GroupTask, ways: Sequence[Placement]) -> Iterator[GroupEnd]:
    """Yield the possible ends; `ways` are the placements that may come about, whatever the order."""
    ends = list(evict_around_frozen_placement(task, ways))
    if len({_appearance(end) for end in ends}) < 2 or not _depends_on_order(task):
        return iter(ends)
    return _by_order(task)


def _appearance(end: GroupEnd) -> tuple[object, ...]:
    return end.way, frozenset(unit.identity for unit in end.victims)


def _depends_on_order(task: GroupTask) -> bool:
    is_small = len(task.snapshot.nodes) <= ORDERED_NODES and len(task.units) <= STABLY_SORTED
    return is_small and any(len({_nodes_of(unit) for unit in tied}) > 1 for tied in in_order(task.units))


def _by_order(task: GroupTask) -> Iterator[GroupEnd]:
    eligible = set(eligible_nodes(task.snapshot, task.members))
    ties = in_order(task.units)
    seen = set()
    for order in permutations(range(len(task.snapshot.nodes))):
        placing = OrderedPlacing(task.snapshot, task.members, task.rules, [each for each in order if each in eligible])
        way = placing.run()
        met = {task.snapshot.nodes[place].name: position for position, place in enumerate(order)}
        finer = [part for tied in ties for part in _as_met(tied, met)]
        situation = (way, tuple(tuple(unit.identity for unit in part) for part in finer))
        if placed_count(way) >= task.rules.needed and situation not in seen:
            seen.add(situation)
            yield from evict_around_frozen_placement(task, [way], finer)


def _as_met(tied: Sequence[Unit], met: Mapping[str, int]) -> Iterator[list[Unit]]:
    """Split equally important units by the node on which they are met first."""

    def meeting(unit: Unit) -> int:
        return min(met[name] for name in _nodes_of(unit))

    for _, part in groupby(sorted(tied, key=meeting), key=meeting):
        yield list(part)


def _nodes_of(unit: Unit) -> frozenset[str]:
    return frozenset(pod.node for pod in unit.pods)
