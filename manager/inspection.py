"""What the running daemon can tell about itself; reads its caches, changes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from config.api.meta import format_time
from gates.assembling import assemble
from gates.decide import decide
from gates.describing import forecast_document, gate_document, overview, workload_document
from gates.dialect import Dialect
from gates.explaining import explain, explanation_document
from gates.records import CheckEntry, HubRecord, ReplicaRecord
from gates.reliability import hit_rate
from gates.settings import Settings
from gates.timeouts import with_timeout
from manager.fleet import Fleet
from manager.forecasts import Forecasts
from manager.hub import HubLink
from manager.planning.hubside import HubSide
from manager.planning.live import LiveWorkers
from manager.planning.planner import Planner, Terms
from manager.reconciler import Rules
from manager.snapshots import Snapshots
from manager.timelines import timeline_document
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.kind import Key

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """How the daemon itself stands."""

    may_act: Callable[[], bool]
    journal: Path | None


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
        standing: Standing,
    ) -> None:
        terms = Terms(hub.kinds, rules.settings, rules.policies)
        self.planner = Planner(
            HubSide(hub.client, hub.controller_name), LiveWorkers(fleet.links, hub.kinds, forecasts), terms, clock
        )
        self._hub = hub
        self._fleet = fleet
        self._snapshots = snapshots
        self._rules = rules
        self._forecasts = forecasts
        self._clock = clock
        self._standing = standing

    def now(self) -> str:
        """Return the time to which ages and remaining times refer."""
        return format_time(self._clock.now_ns())

    def overview(self, namespace: str | None = None) -> Obj:
        """Return everything in numbers."""
        return {
            "daemon": {
                "version": _version(),
                "origin": self._rules.identity.origin,
                "acts": self._standing.may_act(),
                "hub": "Connected" if self._hub.is_connected else str(self._hub.client.report.connection),
            },
            **overview(self.workers(), self.workloads(namespace), self.gates(namespace), self.forecasts(namespace)),
        }

    def shadow(self) -> Obj | None:
        """Return the report of shadow mode; None in any other mode."""
        return None

    def workers(self) -> list[Obj]:
        """Return every worker: whether it is there, and how its forecasts do."""
        return [self._worker(name) for name in sorted(self._fleet.links)]

    def workloads(self, namespace: str | None = None) -> list[Obj]:
        """Return every Workload that has a check of ours and is not over."""
        return [workload_document(record, entry) for record, entry in self._active(namespace)]

    def gates(self, namespace: str | None = None) -> list[Obj]:
        """Return every gate of a Workload that is not over: open, asked for, or closed."""
        found: list[Obj] = []
        for record, entry in self._active(namespace):
            timeout_ns = self._settings_of(entry).timeout_ns
            for name in sorted(self._fleet.links):
                link = self._fleet.links[name]
                replica = link.replica(Key(record.namespace, record.name))
                if isinstance(replica, ReplicaRecord) and replica.spec_gates and not replica.is_finished:
                    found.append(_gate(record, replica, name, link.dialect, link.clock_skew_ns, timeout_ns))
        return found

    def forecasts(self, namespace: str | None = None) -> list[Obj]:
        """Return the last forecast that was acted on for each Workload that is not over."""
        found = (forecast_document(record) for record, _ in self._active(namespace))
        return [document for document in found if document is not None]

    def workloads_of_job(self, kind: str, key: Key) -> list[str]:
        """Return the names of the Workloads that a job owns."""
        records = (self._hub.workload(found) for found in self._hub.workloads.cache)
        return sorted(
            record.name
            for record in records
            if isinstance(record, HubRecord) and record.namespace == key.namespace and record.owner is not None
            if (record.owner.kind, record.owner.name) == (kind, key.name)
        )

    def explain(self, key: Key) -> Obj | None:
        """Return one screen about a Workload, None if there is none of that name."""
        record = self._hub.workload(key)
        if record is None:
            return None
        if isinstance(record, Unreadable):
            return {
                "namespace": key.namespace,
                "name": key.name,
                "state": f"cannot be read: {record.problem}",
                "workers": [],
                "next": "nothing before somebody mends it",
            }
        rules = self._rules
        now_ns = self._clock.now_ns()
        snapshot = self._snapshots.take(record, departed=False, on_demand=True)
        group = assemble(snapshot, rules.identity, rules.settings.managed_by, format_time(now_ns))
        settings = self._settings_of(record.check(self._hub.our_checks()))
        decision = decide(group, now_ns, settings, rules.policies)
        forecasts = {worker.name: worker.forecast for worker in group.workers if worker.forecast is not None}
        return explanation_document(record, explain(group, decision, forecasts, now_ns, settings))

    def timeline(self, key: Key) -> Callable[[], Obj]:
        """Return what reads the timeline of a Workload; it reads a file, so it is for a thread of its own."""
        found = self._hub.workload(key)
        record = found if isinstance(found, HubRecord) else None
        return lambda: timeline_document(key.namespace, key.name, record, self._standing.journal)

    def _active(self, namespace: str | None) -> Iterator[tuple[HubRecord, CheckEntry | None]]:
        ours = self._hub.our_checks()
        for key in sorted({key for check in ours for key in self._hub.workloads_with(check)}):
            record = self._hub.workload(key) if namespace in (None, key.namespace) else None
            if isinstance(record, HubRecord) and not record.is_true("Finished"):
                yield record, record.check(ours)

    def _settings_of(self, entry: CheckEntry | None) -> Settings:
        return with_timeout(self._rules.settings, self._hub.timeout_of(entry.name if entry is not None else ""))

    def _worker(self, name: str) -> Obj:
        link = self._fleet.links[name]
        lost_ns = link.report.lost_since_ns
        entry: Obj = {
            "name": name,
            "connection": "Connected" if link.is_connected else str(link.report.connection),
            "message": "; ".join([link.report.message, *link.remarks()]),
            "lostSince": format_time(lost_ns) if lost_ns is not None and not link.is_connected else "",
            "clockSkewSeconds": round(link.clock_skew_ns / 1e9, 3),
            "copies": len(link.workloads.cache),
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


def _gate(
    record: HubRecord, replica: ReplicaRecord, worker: str, dialect: Dialect, skew_ns: int, timeout_ns: int
) -> Obj:
    """Describe a gate on the hub's clock; the record of openings knows better than a worker when a turn began."""
    opened_ns = dialect.opened_ns(replica.gate_entries)
    asks_ns = dialect.signal_ns(replica.conditions)
    if opened_ns is not None:
        recorded = (o.opened_ns for o in record.openings if (o.cluster, o.replica_uid) == (worker, replica.uid))
        opened_ns = max(recorded, default=opened_ns - skew_ns)
    return gate_document(
        record,
        worker,
        gate="Open" if opened_ns is not None else "Asked" if asks_ns is not None else "Closed",
        asks_ns=asks_ns - skew_ns if asks_ns is not None else None,
        opened_ns=opened_ns,
        ends_ns=opened_ns + timeout_ns if opened_ns is not None else None,
    )


def _version() -> str:
    try:
        return version("multikueue-turnstile")
    except PackageNotFoundError:
        return "unknown"
