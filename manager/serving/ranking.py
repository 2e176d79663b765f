"""Which Workloads a live view shows first, of however many there are.

All of them have to be looked at for that. What was found is kept for a second per 5,000 Workloads, for all who ask: the
share of the processor that this takes is the same for any number of Workloads and of readers.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import nsmallest
from typing import Any, Final, NamedTuple

from config.api.meta import ObjectKey
from gates.reports.hub_state import hub_state
from manager.serving.pages import Pages
from workerclient.base.clock import Clock

_PER_SECOND: Final = 5_000
_WAITING: Final = frozenset({"Queued", "Pending", "Retry"})


class WorkloadOrder(StrEnum):
    """In which order Workloads are listed."""

    QUEUE = "queue"
    """Those that wait before those that run; each by priority, then by age, as Kueue queues them."""
    AGE = "age"
    NAME = "name"


class RankedWorkload(NamedTuple):
    """What decides about the place of a Workload in a list."""

    key: ObjectKey
    phase: str
    priority: int
    created_ns: int


@dataclass(frozen=True, slots=True)
class RankRequest:
    """Which Workloads are wanted."""

    namespace: str | None = None
    contains: str = ""
    """A part of NAMESPACE/NAME."""
    order: WorkloadOrder = WorkloadOrder.QUEUE
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Ranked:
    """The first Workloads of an order."""

    first: tuple[RankedWorkload, ...]
    total: int
    """How many there are that were asked for."""
    phases: Mapping[str, int]
    """How many of them are in each phase."""


class WorkloadRanking:
    """All Workloads that are not over, as they were a moment ago."""

    def __init__(self, pages: Pages, clock: Clock) -> None:
        self._pages = pages
        self._clock = clock
        self._turn = asyncio.Lock()
        self._kept: tuple[RankedWorkload, ...] = ()
        self._until = float("-inf")

    async def take(self) -> tuple[RankedWorkload, ...]:
        """Return them, unordered."""
        async with self._turn:
            if self._clock.monotonic() >= self._until:
                self._kept = tuple([each async for piece in self._pieces() for each in piece])
                self._until = self._clock.monotonic() + len(self._kept) / _PER_SECOND
            return self._kept

    async def _pieces(self) -> AsyncIterator[list[RankedWorkload]]:
        async for active in self._pages.all_active():
            yield [
                RankedWorkload(record.key, hub_state(record, entry).phase, record.priority, record.created_ns)
                for record, entry in active
            ]


def ranked(workloads: Iterable[RankedWorkload], asked: RankRequest) -> Ranked:
    """Return the first Workloads of what was asked for."""
    wanted = [
        each
        for each in workloads
        if asked.namespace in (None, each.key.namespace) and asked.contains in f"{each.key.namespace}/{each.key.name}"
    ]
    phases = Counter(each.phase for each in wanted)
    return Ranked(
        tuple(nsmallest(asked.limit, wanted, _ORDERS[asked.order])), len(wanted), dict(sorted(phases.items()))
    )


def _by_queue(each: RankedWorkload) -> tuple[object, ...]:
    return each.phase not in _WAITING, -each.priority, each.created_ns, each.key


def _by_age(each: RankedWorkload) -> tuple[object, ...]:
    return each.created_ns, each.key


def _by_name(each: RankedWorkload) -> tuple[object, ...]:
    return each.key


_ORDERS: Final[Mapping[WorkloadOrder, Callable[[RankedWorkload], Any]]] = {
    WorkloadOrder.QUEUE: _by_queue,
    WorkloadOrder.AGE: _by_age,
    WorkloadOrder.NAME: _by_name,
}
