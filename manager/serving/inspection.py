"""What the running daemon reports about itself; reads its caches, changes nothing.

No answer blocks the loop for long: lists are built in small pieces, and long computations run in a thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, Obj, ObjectKey, format_microtime, format_time
from gates.assembly.assembling import assemble
from gates.decision.decide import decide
from gates.decision.reliability import hit_rate
from gates.detection.detected import kueue_document
from gates.model.settings import Settings
from gates.model.timeouts import with_timeout
from gates.reports.describing import overview
from gates.reports.explaining import explain
from gates.reports.explanation import explanation_document, unreadable_document
from gates.reports.hub_state import hub_state
from gates.reports.lane_times import lanes_document
from gates.wire.records import CheckEntry, HubRecord
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.journal.timelines import Before, timeline_document
from manager.journal.victims import VictimQuery, victims_document
from manager.planning.hubside import HubSide
from manager.planning.live import LiveWorkers
from manager.planning.planner import Planner, PlanRules
from manager.process.worker_thread import WorkerThread
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.serving.feed_rows import FeedRows
from manager.serving.live_view import LiveSources, LiveView
from manager.serving.pages import ListPage, PageRequest, Pages
from manager.serving.questions import QuestionLimits
from manager.serving.topology_view import TopologyView
from manager.streaming.event_stream import EventStreams
from manager.streaming.live_feed import FeedSources, LiveFeed
from manager.streaming.watched_workloads import WatchedWorkloads
from manager.telemetry.recent_decisions import RecentDecisions
from workerclient.base.clock import Clock
from workerclient.objects.cache import Unreadable
from workerclient.objects.connection_report import ConnectionState

_MOST_HEADLINES: Final = 20
_NO_FORECASTS: Final[Obj] = {
    "workloads": None,
    "forecast": "off",
    "forecastProblem": "",
    "hitRate": None,
    "podForecast": "off",
    "podForecastProblem": "",
    "podHitRate": None,
}


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The state of the daemon itself."""

    may_act: Callable[[], bool]
    journal: Path | None
    shadow: Callable[[], Callable[[], Obj]] | None = None
    """Returns what makes the report of shadow mode; None in any other mode."""
    leader: Callable[[], str] = str
    """Returns which instance leads, as far as it is known; empty where none is elected."""
    decisions: RecentDecisions = field(default_factory=RecentDecisions)


class Inspector:
    """Answers questions about workers and Workloads."""

    def __init__(
        self,
        hub: HubLink,
        fleet: Fleet,
        snapshots: Snapshots,
        rules: Rules,
        forecasts: Forecasts | None,
        clock: Clock,
        state: DaemonState,
    ) -> None:
        self.planner = Planner(
            HubSide(hub.client, hub.controller_name, hub.workers.resolved),
            LiveWorkers(fleet.links, hub.kinds, forecasts),
            lambda: PlanRules(hub.kinds, rules.settings, rules.policies, hub.workers.traits, hub.peers_of),
            clock,
        )
        self._hub = hub
        self._fleet = fleet
        self._snapshots = snapshots
        self._rules = rules
        self._forecasts = forecasts
        self._clock = clock
        self._state = state
        self.thread = WorkerThread("answers")
        self.timelines = WorkerThread("timelines")
        self.questions = QuestionLimits()
        timeout_ns = lambda entry: self._settings_of(entry).timeout_ns  # noqa: E731
        self.pages = Pages(hub, fleet, timeout_ns, clock)
        sources = LiveSources(self._daemon_now, self._worker, timeout_ns, state.decisions, self.thread)
        self.live = LiveView(hub, fleet, self.pages, clock, sources)
        self.topologies = TopologyView(fleet.links, self.thread)
        self.streams = self._streams()

    def _streams(self) -> EventStreams:
        rows = FeedRows(self._hub, self.pages, self.live)
        headlines = lambda: self._state.decisions.newest(None, _MOST_HEADLINES)  # noqa: E731
        sources = FeedSources(rows.keys, rows.workload, self.live.workers, self._daemon_now, headlines)
        feed, watched = LiveFeed(sources, self._clock), WatchedWorkloads(self.lanes, self._clock)
        return EventStreams(feed, watched, self._daemon_now, self._exactly_now, self._clock)

    def now(self) -> str:
        """Return the time to which ages and remaining times refer."""
        return format_time(self._clock.now_ns())

    def _exactly_now(self) -> str:
        return format_microtime(self._clock.now_ns())

    async def overview(self, namespace: str | None = None) -> Obj:
        """Return everything in numbers."""
        numbers = await self.pages.numbers(namespace)
        return {"daemon": self._daemon(), **overview(self.workers(), numbers)}

    def _daemon(self) -> Obj:
        return {
            "version": _version(),
            "origin": self._rules.identity.origin,
            "acts": self._state.may_act(),
            "hub": "Connected" if self._hub.is_connected else str(self._hub.client.report.connection),
        }

    def _daemon_now(self) -> Obj:
        return {
            **self._daemon(),
            "leader": self._state.leader(),
            "isShadow": self._state.shadow is not None,
            "policy": str(self._rules.settings.policy),
        }

    def shadow(self) -> Callable[[], Obj] | None:
        """Return what makes the report of shadow mode, in any thread; None in any other mode."""
        return None if self._state.shadow is None else self._state.shadow()

    def workers(self) -> list[Obj]:
        """Return every worker: whether it is there, and how its forecasts do."""
        return [self._worker(name) for name in sorted(self._fleet.names())]

    async def worker_page(self, asked: PageRequest) -> ListPage:
        """Return workers; one has no namespace."""
        known = sorted(self._fleet.names())
        names = [name for name in known if asked.after is None or ObjectKey("", name) > asked.after]
        last = ObjectKey("", names[asked.limit - 1]) if len(names) > asked.limit else None
        return ListPage([self._worker(name) for name in names[: asked.limit]], last)

    async def explain(self, key: ObjectKey) -> Obj | None:
        """Return everything about a Workload, None if there is none of that name."""
        found = await self._explained(key)
        return None if found is None else found[0]

    async def lanes(self, key: ObjectKey) -> Obj | None:
        """Return the same, with the times that a picture of its lanes needs."""
        found = await self._explained(key)
        return None if found is None else {"now": self._exactly_now(), **found[0], **found[1]}

    async def _explained(self, key: ObjectKey) -> tuple[Obj, Obj] | None:
        record = self._hub.workload(key)
        insights = await self._snapshots.insights(record, self.thread) if isinstance(record, HubRecord) else {}
        record = self._hub.workload(key)
        if record is None:
            return None
        if isinstance(record, Unreadable):
            return unreadable_document(key.namespace, key.name, record.problem), {}
        rules = self._rules
        now_ns = self._clock.now_ns()
        snapshot = self._snapshots.take(record, departed=False, now_ns=now_ns, insights=insights)
        group = assemble(snapshot, rules.identity, rules.settings.managed_by, format_time(now_ns))
        entry = record.check(self._hub.our_checks())
        settings = self._settings_of(entry)
        decision = decide(group, now_ns, settings, rules.policies)
        forecasts = {worker.name: worker.forecast for worker in group.workers if worker.forecast is not None}
        state = hub_state(record, entry)
        told = explanation_document(record, entry, explain(group, state, decision, forecasts, now_ns, settings))
        return told, {"priority": record.priority, **lanes_document(group, settings)}

    async def timeline(self, key: ObjectKey, before: Before | None = None) -> Obj:
        """Return what happened to a Workload; the journal is read in a thread, until the client disconnects."""
        found, journal = self._hub.workload(key), self._state.journal
        record = found if isinstance(found, HubRecord) else None
        return await self.timelines.run(
            lambda work: timeline_document(key.namespace, key.name, record, journal, before=before, step=work.step)
        )

    async def victims(self, query: VictimQuery) -> Obj:
        """Return who was preempted for whom; the journal is read in a thread, until the client disconnects."""
        journal = self._state.journal
        return await self.timelines.run(lambda work: victims_document(journal, query, step=work.step))

    def now_ns(self) -> int:
        """Return the daemon's time."""
        return self._clock.now_ns()

    def _settings_of(self, entry: CheckEntry | None) -> Settings:
        return with_timeout(self._rules.settings, self._hub.timeout_of(entry.name if entry is not None else ""))

    def _worker(self, name: WorkerName) -> Obj:
        link = self._fleet.links.get(name)
        if link is None:
            return self._unconnected(name)
        lost_ns = link.report.lost_since_ns
        refusal = link.refusal if link.report.connection is ConnectionState.CONNECTED else None
        state = "Connected" if link.is_connected else "Refused" if refusal is not None else str(link.report.connection)
        entry: Obj = {
            "name": name,
            "connection": state,
            "message": refusal.message if refusal else "; ".join([link.report.message, *link.remarks()]),
            "cordoned": self._hub.workers.traits(name).is_cordoned,
            "lostSince": format_time(lost_ns) if lost_ns is not None and not link.is_connected else "",
            "clockSkewSeconds": round(link.clock_skew_ns / NANOSECONDS, 3),
            "gates": link.gates.document if link.is_connected else None,
            "kueue": kueue_document(link.kueue.found) if link.is_connected else None,
            "replicas": len(link.workloads.cache),
            **_NO_FORECASTS,
        }
        if self._forecasts is not None and link.observation is not None:
            results = self._forecasts.history.results(name)
            reliable = "reliable" if self._forecasts.history.is_reliable(name) else "unreliable"
            entry["forecastProblem"] = problem = link.observation.why_silent()
            entry["forecast"] = "none" if problem else reliable
            entry["hitRate"] = hit_rate(results)
            entry["workloads"] = len(link.observation.cluster.tenants)
        if self._forecasts is not None and link.pods is not None:
            entry["podForecastProblem"] = problem = link.pods.observation.why_silent()
            entry["podForecast"] = "none" if problem else "on"
            entry["podHitRate"] = hit_rate(self._forecasts.history.pod_results(name))
        return entry

    def _unconnected(self, name: WorkerName) -> Obj:
        """Describe a worker whose kubeconfig cannot be used: nothing is known of its objects."""
        health = self._fleet.health().get(name)
        return {
            "name": name,
            "connection": "Refused",
            "message": health.message if health is not None else "",
            "lostSince": format_time(self._fleet.missing_since(name)),
            "clockSkewSeconds": 0.0,
            "gates": None,
            "replicas": None,
            **_NO_FORECASTS,
        }


def _version() -> str:
    try:
        return version("multikueue-turnstile")
    except PackageNotFoundError:
        return "unknown"
