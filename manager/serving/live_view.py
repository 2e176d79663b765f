"""What `turnstile top` shows, in one answer: the daemon, workers and their quota, Workloads in lanes, last decisions.

One request for everything, because it is asked every second. Every part is bounded: what is left out is counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import Obj
from engine.forecasting.forecast import ForecastVictim
from gates.reports.describing import workload_document
from gates.reports.explanation import ReplicaState
from gates.reports.lanes import LaneWorker, foreseen_forecast, lane_document
from gates.wire.records import CheckEntry, HubRecord, ReplicaRecord
from manager.base.batching import batched
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.process.worker_thread import WorkerThread
from manager.serving.pages import Pages
from manager.serving.quotas import WorkerQuotas
from manager.serving.ranking import RankedWorkload, RankRequest, WorkloadRanking, ranked
from manager.telemetry.recent_decisions import RecentDecisions
from workerclient.base.clock import Clock
from workerclient.objects.cache import Unreadable

MOST_WORKLOADS: Final = 200
_MOST_WORKERS: Final = 100
_MOST_LANES: Final = 16
_MOST_DECISIONS: Final = 50
_WORKLOADS_IN_ONE_PIECE: Final = 10


@dataclass(frozen=True, slots=True)
class LiveSources:
    """What other parts of the daemon tell about it."""

    daemon: Callable[[], Obj]
    worker: Callable[[WorkerName], Obj]
    timeout_ns: Callable[[CheckEntry | None], int]
    decisions: RecentDecisions
    thread: WorkerThread


class LiveView:
    """Makes the answer out of caches; no decision is made again and no forecast is computed for it."""

    def __init__(self, hub: HubLink, fleet: Fleet, pages: Pages, clock: Clock, sources: LiveSources) -> None:
        self.quotas = WorkerQuotas(fleet, clock)
        self._hub = hub
        self._fleet = fleet
        self._clock = clock
        self._sources = sources
        self._ranking = WorkloadRanking(pages, clock)

    async def document(self, asked: RankRequest) -> Obj:
        """Return everything; only Workloads and decisions depend on the namespace."""
        decisions = self._sources.decisions.newest(asked.namespace, _MOST_DECISIONS)
        return {
            "daemon": self._sources.daemon(),
            "workers": await self._workers(),
            "workloads": await self._workloads(asked),
            "decisions": {"items": decisions},
        }

    async def workers(self) -> list[Obj]:
        """Return the workers that are shown, each with its quota."""
        return list((await self._workers())["items"])

    async def _workers(self) -> Obj:
        names = sorted(self._fleet.names())
        found: list[Obj] = []
        for name in names[:_MOST_WORKERS]:
            quota = await self._quota(name)
            if quota is not None:
                found.append({**self._sources.worker(name), **quota})
        return {"items": found, "more": max(0, len(names) - _MOST_WORKERS)}

    async def _quota(self, name: WorkerName) -> Obj | None:
        """Return what is shown of a worker besides its connection; None if it has gone."""
        quota = await self.quotas.document(name)
        if name in self._fleet.links:
            return {"quota": quota}
        return {"quota": None} if name in self._fleet.names() else None

    async def _workloads(self, asked: RankRequest) -> Obj:
        known = await self._ranking.take()
        chosen = await self._sources.thread.run(lambda _: ranked(known, asked))
        found: list[Obj] = []
        for piece in batched(chosen.first, _WORKLOADS_IN_ONE_PIECE):
            found += [document for document in map(self._workload, piece) if document is not None]
            await self._clock.sleep(0)
        more = chosen.total - len(chosen.first)
        return {"items": found, "more": more, "phases": dict(chosen.phases), "order": str(asked.order)}

    def _workload(self, place: RankedWorkload) -> Obj | None:
        record = self._hub.workload(place.key)
        if not isinstance(record, HubRecord):
            return None  # it has gone since they were ranked
        entry = record.check(self._hub.our_checks())
        lanes, more = self.lanes(record, entry)
        return {**workload_document(record, entry), "priority": record.priority, "lanes": lanes, "moreLanes": more}

    def lanes(self, record: HubRecord, entry: CheckEntry | None) -> tuple[list[Obj], int]:
        """Return the lanes of a Workload, in the order of the MultiKueueConfig, and how many are left out."""
        listed = (self._hub.clusters_of(entry.name) or ()) if entry is not None else ()
        names = [name for name in listed if name in self._fleet.links]
        shown = self._first_lanes(record, names)
        timeout_ns = self._sources.timeout_ns(entry)
        lanes = [self._lane(record, self._fleet.links[name], timeout_ns) for name in shown]
        return lanes, len(names) - len(shown)

    def victims(self, record: HubRecord, worker: WorkerName) -> tuple[ForecastVictim, ...]:
        """Return whom a worker would preempt for a Workload, as was forecast last, of those that still run there."""
        link = self._fleet.links.get(worker)
        if link is None or link.observation is None:
            return ()
        forecast = foreseen_forecast(record, worker, link.observation.last_forecast(record.key))
        tenants = link.observation.cluster.tenants
        return tuple(victim for victim in forecast.victims if victim.key in tenants) if forecast is not None else ()

    def _first_lanes(self, record: HubRecord, names: list[WorkerName]) -> list[WorkerName]:
        """Choose the lanes to show, those with a replica first, in the order of the MultiKueueConfig."""
        if len(names) <= _MOST_LANES:
            return names
        kept = sorted(names, key=lambda name: self._fleet.links[name].replica(record.key) is None)[:_MOST_LANES]
        return [name for name in names if name in kept]

    def _lane(self, record: HubRecord, link: WorkerLink, timeout_ns: int) -> Obj:
        found, observation = link.replica(record.key), link.observation
        replica = found if isinstance(found, ReplicaRecord) else None
        worker = LaneWorker(link.name, link.dialect, link.clock_skew_ns, link.reach(None))
        last = observation.last_forecast(record.key) if observation is not None and replica is not None else None
        document = lane_document(record, worker, replica, timeout_ns, last)
        return {**document, "state": str(ReplicaState.PROBLEM)} if isinstance(found, Unreadable) else document
