"""One worker in virtual time: the engine as its Kueue, and beside it the model that forecasts are made from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.policies_mix import CPUS, QUEUES, Arrival
from config.api.meta import ObjectKey, format_time
from config.names import KUEUE_API_VERSION, MULTIKUEUE_NAME
from engine.cycles.scheduler import Scheduler
from engine.forecasting.forecast import Forecast, forecast
from engine.forecasting.observed import OBSERVED_KINDS, ObservedCluster
from engine.objects.configuration import KueueConfiguration
from engine.reporting.status_writes import StatusWrite, released_status, with_status, write
from engine.vocabulary.features import FeatureGates

Json = dict[str, Any]

NAMESPACE: Final = "team"
FLAVOR: Final = "cpu-nodes"
_KUEUE: Final = KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))
"""A copy without a gate preempts under it as it does without."""
_PATIENCE: Final = 3
"""So many cycles without a change are the end of a round."""


@dataclass(frozen=True, slots=True)
class Happening:
    """What a round of a worker brought."""

    admitted: tuple[str, ...]
    evicted: tuple[tuple[str, str], ...]
    """Victim and the UID of its preemptor."""


class SimulatedWorker:
    """One cluster."""

    def __init__(self, name: str, now_ns: int) -> None:
        self.name = name
        self.scheduler = Scheduler(_KUEUE)
        self.observed = ObservedCluster(_KUEUE)
        for raw in _queues():
            self.put(raw, now_ns)

    def put(self, raw: Mapping[str, Any], now_ns: int) -> None:
        """Take an object that was created or changed."""
        kind, metadata = raw["kind"], raw["metadata"]
        self.scheduler.observe(raw, now_ns)
        if kind in OBSERVED_KINDS:
            read = self.observed.read(kind, raw)
            self.observed.put(kind, metadata.get("namespace") or "", metadata["name"], read)

    def remove(self, name: str, now_ns: int) -> None:
        """Take the deletion of a Workload."""
        self.scheduler.forget("Workload", NAMESPACE, name, now_ns)
        self.observed.put("Workload", NAMESPACE, name, None)

    def raw(self, name: str) -> Mapping[str, Any] | None:
        """Return a Workload."""
        return self.scheduler.workload(ObjectKey(NAMESPACE, name))

    def open_gate(self, name: str, now_ns: int) -> None:
        """Open the gate of a copy."""
        raw = self.raw(name)
        if raw is None:
            message = f"{self.name} has no Workload {name}"
            raise ValueError(message)
        entry = {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": format_time(now_ns)}
        self.put({**raw, "status": {**raw.get("status", {}), "preemptionGates": [entry]}}, now_ns)

    def release(self, name: str, now_ns: int) -> None:
        """Let the job of an evicted Workload end, so that its quota is free."""
        raw = self.raw(name)
        if raw is not None:
            gates = self.scheduler.model.configuration.gates
            self._apply([write(raw, released_status(raw, now_ns, gates))], now_ns)

    def forecast(self, name: str, now_ns: int) -> Forecast:
        """Return what would become of a copy, were its gate open."""
        return forecast(self.observed, ObjectKey(NAMESPACE, name), now_ns)

    def run(self, now_ns: int) -> Happening:
        """Let the worker do what it does without time passing."""
        admitted: list[str] = []
        evicted: list[tuple[str, str]] = []
        self.scheduler.queues.process_retries(now_ns, even_if_early=True)
        self._apply(self.scheduler.wake(now_ns), now_ns)
        quiet = 0
        while self.scheduler.has_heads and quiet < _PATIENCE:
            cycle = self.scheduler.run_cycle(now_ns, max_orders=1)
            if cycle is None:
                break
            changed = [(each.key.name, cond) for each in cycle.writes for cond in each.changed_conditions]
            admitted += [name for name, cond in changed if cond.type == "Admitted" and cond.status == "True"]
            evicted += [
                (name, _preemptor(cond.message))
                for name, cond in changed
                if cond.type == "Preempted" and cond.status == "True"
            ]
            quiet = 0 if changed else quiet + 1
            self._apply(cycle.writes, now_ns)
        return Happening(tuple(admitted), tuple(evicted))

    def _apply(self, writes: Iterable[StatusWrite], now_ns: int) -> None:
        for change in sorted(writes, key=lambda change: change.key):
            raw = self.scheduler.workload(change.key)
            if raw is not None and change.changes_status:
                self.put(with_status(raw, change.after), now_ns)


def workload(arrival: Arrival, uid: str, created_ns: int, *, gated: bool) -> Json:
    """Return a Workload as it comes to a worker."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(arrival.cpu)}}}
    spec: Json = {
        "queueName": arrival.queue,
        "priority": arrival.priority,
        "podSets": [{"name": "main", "count": arrival.pods, "template": {"spec": {"containers": [container]}}}],
    }
    if gated:
        spec["preemptionGates"] = [{"name": MULTIKUEUE_NAME}]
    metadata = {
        "name": arrival.name,
        "namespace": NAMESPACE,
        "uid": uid,
        "creationTimestamp": format_time(created_ns),
        "generation": 1,
    }
    return {"apiVersion": KUEUE_API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def _queues() -> list[Json]:
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"}
    found: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": KUEUE_API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": FLAVOR}, "spec": {}},
    ]
    for name in QUEUES:
        quota = [{"name": "cpu", "nominalQuota": str(CPUS // 2)}]
        spec = {
            "cohortName": "all",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": quota}]}],
            "preemption": preemption,
        }
        found.append(
            {"apiVersion": KUEUE_API_VERSION, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
        )
        local = {"name": name, "namespace": NAMESPACE}
        found.append(
            {
                "apiVersion": KUEUE_API_VERSION,
                "kind": "LocalQueue",
                "metadata": local,
                "spec": {"clusterQueue": name},
            }
        )
    return found


def _preemptor(message: str) -> str:
    """Return the UID that a condition names."""
    return message.partition("UID: ")[2].partition(",")[0].partition(")")[0]
