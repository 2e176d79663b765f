"""What the running daemon reports about itself; reads its caches, changes nothing.

No answer blocks the loop for long: lists are built in small pieces, and long computations run in a thread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from config.api.meta import NANOSECONDS, Obj, ObjectKey, format_time
from gates.assembly.assembling import assemble
from gates.decision.decide import decide
from gates.decision.reliability import hit_rate
from gates.model.settings import Settings
from gates.model.timeouts import with_timeout
from gates.reports.describing import overview
from gates.reports.explaining import explain
from gates.reports.explanation import explanation_document, unreadable_document
from gates.wire.records import CheckEntry, HubRecord
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.journal.timelines import Before, timeline_document
from manager.planning.hubside import HubSide
from manager.planning.live import LiveWorkers
from manager.planning.planner import Planner, PlanRules
from manager.process.worker_thread import WorkerThread
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.serving.pages import ListPage, PageRequest, Pages
from manager.serving.questions import QuestionLimits
from workerclient.base.clock import Clock
from workerclient.cluster import ConnectionState
from workerclient.objects.cache import Unreadable


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The state of the daemon itself."""

    may_act: Callable[[], bool]
    journal: Path | None
    shadow: Callable[[], Callable[[], Obj]] | None = None
    """Returns what makes the report of shadow mode; None in any other mode."""


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
            HubSide(hub.client, hub.controller_name),
            LiveWorkers(fleet.links, hub.kinds, forecasts),
            lambda: PlanRules(hub.kinds, rules.settings, rules.policies),
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
        self.pages = Pages(hub, fleet, lambda entry: self._settings_of(entry).timeout_ns, clock)

    def now(self) -> str:
        """Return the time to which ages and remaining times refer."""
        return format_time(self._clock.now_ns())

    async def overview(self, namespace: str | None = None) -> Obj:
        """Return everything in numbers."""
        numbers = await self.pages.numbers(namespace)
        return {
            "daemon": {
                "version": _version(),
                "origin": self._rules.identity.origin,
                "acts": self._state.may_act(),
                "hub": "Connected" if self._hub.is_connected else str(self._hub.client.report.connection),
            },
            **overview(self.workers(), numbers),
        }

    def shadow(self) -> Callable[[], Obj] | None:
        """Return what makes the report of shadow mode, in any thread; None in any other mode."""
        return None if self._state.shadow is None else self._state.shadow()

    def workers(self) -> list[Obj]:
        """Return every worker: whether it is there, and how its forecasts do."""
        return [self._worker(name) for name in sorted(self._fleet.links)]

    async def worker_page(self, asked: PageRequest) -> ListPage:
        """Return workers; one has no namespace."""
        names = [name for name in sorted(self._fleet.links) if asked.after is None or ObjectKey("", name) > asked.after]
        last = ObjectKey("", names[asked.limit - 1]) if len(names) > asked.limit else None
        return ListPage([self._worker(name) for name in names[: asked.limit]], last)

    async def explain(self, key: ObjectKey) -> Obj | None:
        """Return everything about a Workload, None if there is none of that name."""
        record = self._hub.workload(key)
        insights = await self._snapshots.insights(record, self.thread) if isinstance(record, HubRecord) else {}
        record = self._hub.workload(key)
        if record is None:
            return None
        if isinstance(record, Unreadable):
            return unreadable_document(key.namespace, key.name, record.problem)
        rules = self._rules
        now_ns = self._clock.now_ns()
        snapshot = self._snapshots.take(record, departed=False, now_ns=now_ns, insights=insights)
        group = assemble(snapshot, rules.identity, rules.settings.managed_by, format_time(now_ns))
        entry = record.check(self._hub.our_checks())
        settings = self._settings_of(entry)
        decision = decide(group, now_ns, settings, rules.policies)
        forecasts = {worker.name: worker.forecast for worker in group.workers if worker.forecast is not None}
        return explanation_document(record, entry, explain(group, decision, forecasts, now_ns, settings))

    async def timeline(self, key: ObjectKey, before: Before | None = None) -> Obj:
        """Return what happened to a Workload; the journal is read in a thread, until the client disconnects."""
        found, journal = self._hub.workload(key), self._state.journal
        record = found if isinstance(found, HubRecord) else None
        return await self.timelines.run(
            lambda work: timeline_document(key.namespace, key.name, record, journal, before=before, step=work.step)
        )

    def _settings_of(self, entry: CheckEntry | None) -> Settings:
        return with_timeout(self._rules.settings, self._hub.timeout_of(entry.name if entry is not None else ""))

    def _worker(self, name: str) -> Obj:
        link = self._fleet.links[name]
        lost_ns = link.report.lost_since_ns
        refusal = link.refusal if link.report.connection is ConnectionState.CONNECTED else None
        state = "Connected" if link.is_connected else "Refused" if refusal is not None else str(link.report.connection)
        entry: Obj = {
            "name": name,
            "connection": state,
            "message": refusal.message if refusal else "; ".join([link.report.message, *link.remarks()]),
            "lostSince": format_time(lost_ns) if lost_ns is not None and not link.is_connected else "",
            "clockSkewSeconds": round(link.clock_skew_ns / NANOSECONDS, 3),
            "replicas": len(link.workloads.cache),
            "workloads": None,
            "forecast": "off",
            "hitRate": None,
            "podForecast": "off",
            "podHitRate": None,
        }
        if self._forecasts is not None and link.observation is not None:
            results = self._forecasts.results(name)
            reliable = "reliable" if self._forecasts.is_reliable(name) else "unreliable"
            entry["forecast"] = link.observation.why_silent() or reliable
            entry["hitRate"] = hit_rate(results)
            entry["workloads"] = len(link.observation.cluster.tenants)
        if self._forecasts is not None and link.pods is not None:
            entry["podForecast"] = link.pods.observation.why_silent() or "on"
            entry["podHitRate"] = hit_rate(self._forecasts.pod_results(name))
        return entry


def _version() -> str:
    try:
        return version("multikueue-turnstile")
    except PackageNotFoundError:
        return "unknown"
