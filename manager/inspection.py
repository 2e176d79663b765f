"""What the running daemon can tell about itself; reads its caches, changes nothing."""

from dataclasses import asdict
from typing import Any

from config.api.meta import format_time
from gates.assembling import assemble
from gates.decide import decide
from gates.explaining import explain
from gates.records import HubRecord
from gates.reliability import hit_rate
from gates.timeouts import with_timeout
from manager.fleet import Fleet
from manager.forecasts import Forecasts
from manager.hub import HubLink
from manager.reconciler import Rules
from manager.snapshots import Snapshots
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.kind import Key

Obj = dict[str, Any]


class Inspector:
    """Answers questions about workers and Workloads."""

    def __init__(
        self, hub: HubLink, fleet: Fleet, snapshots: Snapshots, rules: Rules, forecasts: Forecasts | None, clock: Clock
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._snapshots = snapshots
        self._rules = rules
        self._forecasts = forecasts
        self._clock = clock

    def workers(self) -> list[Obj]:
        """Return every worker: whether it is there, and how its forecasts do."""
        return [self._worker(name) for name in sorted(self._fleet.links)]

    def workloads(self) -> list[Obj]:
        """Return every Workload that has a check of ours and is not over."""
        ours = self._hub.our_checks()
        found = []
        for key in sorted(key for check in ours for key in self._hub.workloads_with(check)):
            record = self._hub.workload(key)
            if isinstance(record, HubRecord) and not record.is_true("Finished"):
                found.append(_workload(record, ours))
        return found

    def explain(self, key: Key) -> Obj | None:
        """Return one screen about a Workload, None if there is none of that name."""
        record = self._hub.workload(key)
        if record is None:
            return None
        if isinstance(record, Unreadable):
            return {
                "workload": str(key),
                "state": f"cannot be read: {record.problem}",
                "workers": [],
                "next": "nothing",
            }
        rules = self._rules
        now_ns = self._clock.now_ns()
        snapshot = self._snapshots.take(record, departed=False, on_demand=True)
        group = assemble(snapshot, rules.identity, rules.settings.managed_by, format_time(now_ns))
        check = group.workload.check
        settings = with_timeout(rules.settings, self._hub.timeout_of(check.name if check is not None else ""))
        decision = decide(group, now_ns, settings, rules.policies)
        forecasts = {worker.name: worker.forecast for worker in group.workers if worker.forecast is not None}
        return asdict(explain(group, decision, forecasts, now_ns, settings))

    def _worker(self, name: str) -> Obj:
        link = self._fleet.links[name]
        entry: Obj = {
            "name": name,
            "connection": "Connected" if link.is_connected else str(link.report.connection),
            "message": "; ".join([link.report.message, *link.remarks()]),
            "copies": len(link.workloads.cache),
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


def _workload(record: HubRecord, ours: frozenset[str]) -> Obj:
    entry = record.check(ours)
    return {
        "workload": f"{record.namespace}/{record.name}",
        "check": str(entry.state) if entry is not None else "",
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "message": entry.message if entry is not None else "",
        "forecast": str(record.forecast.result) if record.forecast is not None else "",
        "podForecast": str(record.forecast.pods.result) if record.forecast and record.forecast.pods else "",
    }
