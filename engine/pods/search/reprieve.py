"""Putting candidates back while the preemptor still fits: what cannot be put back is evicted.

Units that would overdraw a budget are tried first, then the others, each in the order of importance. Among equally
important units the order is the scheduler's free choice, and every distinct outcome is followed up to a limit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from typing import Final, NamedTuple, Protocol

from engine.pods.search.budgets import Violations
from engine.pods.search.units import Unit
from engine.pods.values.explanation import ReprieveStep
from engine.pods.values.load import Shortage

_MOST_ORDERS: Final = 720
_MOST_CAPRICIOUS_ORDERS: Final = 24


class ReprieveRefusal(NamedTuple):
    """Where and why the preemptor no longer fits once a unit is back."""

    node: str
    shortages: tuple[Shortage, ...]


class Room(Protocol):
    """The place that units are put back into, the preemptor's claim on it included."""

    is_capricious: bool
    """Whether a unit may be refused that would be taken once others are back: where a group must be placed again, who
    sits where decides whether its last member finds room."""

    def put_back(self, unit: Unit) -> bool:
        """Put a unit back if the preemptor still fits; otherwise change nothing."""

    def take_out(self, unit: Unit) -> None:
        """Undo a `put_back` that succeeded."""

    def explain(self, unit: Unit) -> ReprieveRefusal:
        """Say why a unit was refused."""


@dataclass(frozen=True, slots=True)
class Reprieved:
    """One possible end: the units that stay out, in the order of importance."""

    victims: tuple[Unit, ...]
    violations: Violations

    @property
    def violation_count(self) -> int:
        """Return how many evicted pods overdraw a budget."""
        return sum(self.violations.get(unit.identity, 0) for unit in self.victims)


def reprieve(
    room: Room, ties: Sequence[Sequence[Unit]], violations: Violations, limit: int
) -> tuple[list[Reprieved], bool]:
    """Return the possible ends, the likeliest first, and whether these are all; the room is left as it was."""
    return _Search(room, ties, violations, limit).run()


def explain_reprieve(room: Room, ties: Sequence[Sequence[Unit]], violations: Violations) -> tuple[ReprieveStep, ...]:
    """Go the likeliest way once more and record every decision."""
    steps, kept = [], []
    for tied in _violating_first(ties, violations):
        for unit in tied:
            is_violating = unit.identity in violations
            if room.put_back(unit):
                kept.append(unit)
                steps.append(ReprieveStep(unit.key, unit.priority, is_violating, is_kept=True))
            else:
                node, shortages = room.explain(unit)
                steps.append(
                    ReprieveStep(unit.key, unit.priority, is_violating, is_kept=False, node=node, shortages=shortages)
                )
    _take_all_out(room, kept)
    return tuple(steps)


class _Search:
    def __init__(self, room: Room, ties: Sequence[Sequence[Unit]], violations: Violations, limit: int) -> None:
        self._room = room
        self._ties = _violating_first(ties, violations)
        self._violations = violations
        self._limit = limit
        self._is_complete = True

    def run(self) -> tuple[list[Reprieved], bool]:
        ends: dict[tuple[object, ...], Reprieved] = {}
        waiting: list[tuple[int, ...]] = [()]
        while waiting and len(ends) < self._limit:
            end = self._follow(waiting.pop(), waiting)
            ends.setdefault(tuple(unit.identity for unit in end.victims), end)
        return list(ends.values()), self._is_complete and not waiting

    def _follow(self, decisions: tuple[int, ...], waiting: list[tuple[int, ...]]) -> Reprieved:
        """Go one way; `decisions` picks among the possibilities met, and new ones are left in `waiting`."""
        kept: list[Unit] = []
        victims: list[Unit] = []
        taken: list[int] = []
        for tied in self._ties:
            if len(tied) == 1:
                (kept if self._room.put_back(tied[0]) else victims).append(tied[0])
                continue
            options = self._options(tied)
            pick = 0
            if len(options) > 1:
                pick = decisions[len(taken)] if len(taken) < len(decisions) else 0
                if len(taken) >= len(decisions):
                    waiting += [(*taken, other) for other in range(len(options) - 1, 0, -1)]
                taken.append(pick)
            returning = [unit for unit in options[pick] if self._room.put_back(unit)]
            kept += returning
            victims += [unit for unit in tied if unit not in returning]
        _take_all_out(self._room, kept)
        return Reprieved(tuple(sorted(victims, key=lambda unit: unit.importance)), self._violations)

    def _options(self, tied: Sequence[Unit]) -> list[tuple[Unit, ...]]:
        """Return which of equally important units may be kept, in an order that keeps them, the likeliest first."""
        first = self._keep_in_order(tied)
        if not first or (len(first) == len(tied) and not self._room.is_capricious):
            return [first]
        if self._limit == 1:
            self._is_complete = False
            return [first]
        if len({_footprint_of(unit) for unit in tied}) == 1:
            ways = combinations(tied, len(first))
            options = _distinct([first, *islice(ways, min(self._limit, _MOST_ORDERS))])
            self._is_complete &= next(ways, None) is None
            return options
        orders = permutations(tied)
        most = _MOST_CAPRICIOUS_ORDERS if self._room.is_capricious else _MOST_ORDERS
        options = _distinct([first, *map(self._keep_in_order, islice(orders, most))])
        self._is_complete &= next(orders, None) is None
        return options

    def _keep_in_order(self, units: Iterable[Unit]) -> tuple[Unit, ...]:
        kept = [unit for unit in units if self._room.put_back(unit)]
        _take_all_out(self._room, kept)
        return tuple(kept)


def _distinct(options: Iterable[tuple[Unit, ...]]) -> list[tuple[Unit, ...]]:
    """Return the options without those that keep the same units as an earlier one."""
    found: dict[frozenset[object], tuple[Unit, ...]] = {}
    for option in options:
        found.setdefault(frozenset(unit.identity for unit in option), option)
    return list(found.values())


def _violating_first(ties: Sequence[Sequence[Unit]], violations: Violations) -> list[list[Unit]]:
    if not violations:
        return [list(tied) for tied in ties]
    violating = [[unit for unit in tied if unit.identity in violations] for tied in ties]
    others = [[unit for unit in tied if unit.identity not in violations] for tied in ties]
    return [tied for tied in (*violating, *others) if tied]


def _footprint_of(unit: Unit) -> tuple[object, ...]:
    return tuple(sorted((pod.node, id(pod.footprint)) for pod in unit.pods))


def _take_all_out(room: Room, units: Sequence[Unit]) -> None:
    for unit in reversed(units):
        room.take_out(unit)
