"""The lists that the daemon shows, page by page, and all of it in numbers; made in small pieces between other things.

A page begins after the name at which the last one ended, so that what comes and goes in between is neither shown twice
nor a reason to begin again. Each entry is of the moment at which it was read.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from engine.vocabulary.gate_dialect import GateDialect
from gates.reports.describing import WorkloadCounts, gate_document, recorded_forecast, workload_document
from gates.reports.hub_state import hub_state
from gates.reports.lanes import gate_times
from gates.wire.records import CheckEntry, HubRecord, ReplicaRecord
from manager.base.batching import batched
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from workerclient.base.clock import Clock

Active = tuple[HubRecord, CheckEntry | None]

PAGE: Final = 500
_LOOKED_AT: Final = 5_000
"""How many Workloads are examined for one page, few of which may belong to it."""
_KEYS_IN_ONE_PIECE: Final = 2_000
_READS_IN_ONE_PIECE: Final = 200


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted."""

    namespace: str | None = None
    after: ObjectKey | None = None
    limit: int = PAGE
    finished: bool = False
    """Whether finished Workloads are listed too."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A part of a list, and where the next one begins; None at the end."""

    items: list[Obj]
    last: ObjectKey | None


class Pages:
    """Reads lists out of the caches."""

    def __init__(
        self, hub: HubLink, fleet: Fleet, timeout_of: Callable[[CheckEntry | None], int], clock: Clock
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._timeout_of = timeout_of
        self._clock = clock

    async def workloads(self, asked: PageRequest) -> ListPage:
        """Return Workloads that have one of Turnstile's checks; unfinished ones, unless all are asked for."""
        return await self._page(asked, lambda record, entry: [workload_document(record, entry)])

    async def gates(self, asked: PageRequest) -> ListPage:
        """Return gates of Workloads that are not over: open, asked for, or closed."""
        return await self._page(asked, self._gates_of, reads=len(self._fleet.links))

    async def forecasts(self, asked: PageRequest) -> ListPage:
        """Return the last forecast that was acted on for each Workload that is not over."""
        return await self._page(asked, lambda record, _: filter(None, [recorded_forecast(record)]))

    async def numbers(self, namespace: str | None) -> WorkloadCounts:
        """Count all Workloads that are not over, their gates and their forecasts."""
        numbers = WorkloadCounts()
        async for active in self.all_active(namespace, reads=len(self._fleet.links)):
            for record, entry in active:
                gates = [gate["gate"] for gate in self._gates_of(record, entry)]
                result = str(record.forecast.result) if record.forecast is not None else None
                numbers.count(hub_state(record, entry).phase, gates, result)
        return numbers

    async def all_active(self, namespace: str | None = None, reads: int = 1) -> AsyncIterator[Iterable[Active]]:
        """Yield all Workloads that are not over, unordered and in pieces that take so many reads for each of them."""
        async for keys in self._keys(namespace):
            for piece in batched(keys, _pieces(reads)):
                yield self._active(piece)
                await self._clock.sleep(0)

    async def workloads_of_job(self, kind: str, job: ObjectKey) -> list[str]:
        """Return the names of the Workloads that a job owns."""
        found: list[str] = []
        for keys in batched(list(self._hub.workloads.cache), _KEYS_IN_ONE_PIECE):
            records = (self._hub.workload(key) for key in keys if key.namespace == job.namespace)
            owned = ((each.owner, each.name) for each in records if isinstance(each, HubRecord))
            found += [
                name for owner, name in owned if owner is not None and (owner.kind, owner.name) == (kind, job.name)
            ]
            await self._clock.sleep(0)
        return sorted(found)

    async def _page(
        self, asked: PageRequest, items_of: Callable[[HubRecord, CheckEntry | None], Iterable[Obj]], reads: int = 1
    ) -> ListPage:
        found: list[Obj] = []
        weight = 0
        keys = await self._first_keys(asked)
        for piece in batched(keys[:_LOOKED_AT], _pieces(reads)):
            for record, entry in self._active(piece, finished=asked.finished):
                items = list(items_of(record, entry))
                found += items
                weight += sum(1 + len(item.get("victims") or ()) for item in items)
                if weight >= asked.limit:
                    last = record.key
                    return ListPage(found, last if last != keys[-1] else None)
            await self._clock.sleep(0)
        return ListPage(found, keys[_LOOKED_AT - 1] if len(keys) > _LOOKED_AT else None)

    async def _first_keys(self, asked: PageRequest) -> list[ObjectKey]:
        """Return the names with which a page begins, sorted, and one more if there is one."""
        found: list[ObjectKey] = []
        async for keys in self._keys(asked.namespace):
            wanted = keys if asked.after is None else (key for key in keys if key > asked.after)
            found = nsmallest(_LOOKED_AT + 1, [*found, *wanted])
            await self._clock.sleep(0)
        return found

    async def _keys(self, namespace: str | None) -> AsyncIterator[Iterable[ObjectKey]]:
        """Yield the names of all Workloads with one of Turnstile's checks, in pieces and unordered."""
        of_checks = (self._hub.workloads_with(check) for check in self._hub.our_checks())
        for keys in batched(set[ObjectKey]().union(*of_checks), _KEYS_IN_ONE_PIECE):
            yield keys if namespace is None else [key for key in keys if key.namespace == namespace]

    def _active(self, keys: Iterable[ObjectKey], *, finished: bool = False) -> Iterable[Active]:
        ours = self._hub.our_checks()
        for key in keys:
            record = self._hub.workload(key)
            if isinstance(record, HubRecord) and (finished or not record.is_true("Finished")):
                yield record, record.check(ours)

    def _gates_of(self, record: HubRecord, entry: CheckEntry | None) -> list[Obj]:
        timeout_ns = self._timeout_of(entry)
        found = []
        for name in sorted(self._fleet.links):
            link = self._fleet.links[name]
            replica = link.replica(record.key)
            if isinstance(replica, ReplicaRecord) and replica.spec_gates and not replica.is_finished:
                found.append(_gate(record, replica, name, link.dialect, link.clock_skew_ns, timeout_ns))
        return found


def _pieces(reads: int) -> int:
    """Return how many Workloads are examined in one piece if each takes this many reads."""
    return max(1, _READS_IN_ONE_PIECE // max(1, reads))


def _gate(
    record: HubRecord, replica: ReplicaRecord, worker: WorkerName, dialect: GateDialect, skew_ns: int, timeout_ns: int
) -> Obj:
    times = gate_times(record, replica, worker, dialect, skew_ns)
    return gate_document(
        record,
        worker,
        gate=times.state,
        asks_ns=times.asks_ns,
        opened_ns=times.opened_ns,
        ends_ns=times.opened_ns + timeout_ns if times.opened_ns is not None else None,
    )
