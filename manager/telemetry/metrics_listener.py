"""Counts what the reconciler does as it happens, and remembers which gates are open, Workload by Workload."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from engine.forecasting.verification import ForecastResult
from gates.decision.ledger import known_openings, observed_openings
from gates.diagnosis.auditing import (
    Invariant,
    OpeningReason,
    comes_too_early,
    opening_reason,
    preempted_through_gates,
    runs_twice,
)
from gates.model.actions import OpenGate, PatchHubStatus, RecordForecast, RecordOpenings
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import CheckState, HubWorkload
from gates.model.settings import SECOND
from gates.model.view import WorkerView, WorkloadView
from manager.metrics.metrics import Metrics
from manager.reconcile.reconciliation import ExecutedAction, Reconciliation


@dataclass(frozen=True, slots=True)
class OpenGateState:
    """A gate of one Workload on one worker that matters now."""

    cluster: WorkerName
    opened_ns: int | None
    """None while it is closed and the worker asks for it."""


class MetricsListener:
    """Listens to one reconciler."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._gates: dict[ObjectKey, tuple[OpenGateState, ...]] = {}
        self._waiting: dict[ObjectKey, int] = {}
        self._twice: set[ObjectKey] = set()
        self._breached: dict[ObjectKey, frozenset[str]] = {}
        """Replicas that preempted through a closed gate, each counted once."""

    def gates(self) -> Iterator[OpenGateState]:
        """Return every gate that is open, or that a worker asks for."""
        for gates in self._gates.values():
            yield from gates

    def waiting(self) -> Mapping[ObjectKey, int]:
        """Return the Workloads that wait for a worker to admit them, and since when."""
        return self._waiting

    def note_reconciliation(self, reconciliation: Reconciliation) -> None:
        """Remember whether a Workload waits, and its gates."""
        workload = reconciliation.group.workload
        key = workload.key
        if _waits(workload):
            self._waiting[key] = workload.attempt_ns
        else:
            self._waiting.pop(key, None)
        gates = tuple(_gates_of(reconciliation.group))
        if gates:
            self._gates[key] = gates
        else:
            self._gates.pop(key, None)
        if not runs_twice(reconciliation.group):
            self._twice.discard(key)
        elif key not in self._twice:
            self._twice.add(key)
            self._metrics.count_violation(Invariant.ONE_RUNNING_COPY)
        breached = preempted_through_gates(reconciliation.group)
        for _ in breached - self._breached.get(key, frozenset()):
            self._metrics.count_violation(Invariant.CLOSED_GATE_HOLDS)
        if breached:
            self._breached[key] = breached | self._breached.get(key, frozenset())

    def note_executed(self, executed: ExecutedAction) -> None:
        """Count something that was done."""
        group = executed.reconciliation.group
        match executed.action:
            case OpenGate():
                self._opened(executed, executed.action)
            case RecordOpenings(forecast=record):
                for opening in (each for each in observed_openings(group) if not each.until_shown):
                    self._metrics.count_opening(opening.cluster, OpeningReason.FOREIGN)
                if record is not None:
                    self._forecast_made(record)
            case RecordForecast(record=record) if record.verified_ns is None:
                self._forecast_made(record)
            case RecordForecast(record=record):
                self._forecast_judged(record, group.worker(record.cluster))
            case PatchHubStatus(check_state=CheckState.READY, cluster_name=cluster) if cluster:
                self._admitted(group, cluster)
            case _:  # the other actions are not counted
                pass

    def note_duration(self, seconds: float, failed: bool) -> None:
        """Record how long a reconcile took."""
        self._metrics.time_reconcile(seconds, failed=failed)

    def note_decision_loop(self) -> None:
        """Count a Workload that was paused."""
        self._metrics.count_decision_loop()

    def note_overacted(self) -> None:
        """Count a decision that had to be put off."""
        self._metrics.count_contended()

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload that is gone."""
        self._waiting.pop(key, None)
        self._gates.pop(key, None)
        self._twice.discard(key)
        self._breached.pop(key, None)

    def _opened(self, executed: ExecutedAction, action: OpenGate) -> None:
        group = executed.reconciliation.group
        reason = opening_reason(group, action.cluster)
        self._metrics.count_opening(action.cluster, reason)
        if comes_too_early(group, action, executed.reconciliation.settings):
            self._metrics.count_violation(Invariant.ONE_GATE_PER_TIMEOUT)
        worker = group.worker(action.cluster)
        asked_ns = worker.replica.signal_ns if worker is not None and worker.replica is not None else None
        if worker is not None and asked_ns is not None and reason is not OpeningReason.REOPENED:
            waited_ns = executed.ended_ns - (asked_ns - worker.clock_skew_ns)
            self._metrics.time_signal_to_open(action.cluster, waited_ns / SECOND)

    def _admitted(self, view: WorkloadView, cluster: WorkerName) -> None:
        worker = view.worker(cluster)
        replica = worker.replica if worker is not None else None
        if worker is None or replica is None or not replica.is_true("Admitted"):
            return
        for opening in known_openings(view):
            if (opening.cluster, opening.replica_uid) == (cluster, replica.uid):
                admitted_ns = replica.since_ns("Admitted") - worker.clock_skew_ns
                self._metrics.time_open_to_admission(cluster, (admitted_ns - opening.opened_ns) / SECOND)

    def _forecast_made(self, record: ForecastRecord) -> None:
        self._metrics.count_verdict(record)
        if record.result is not ForecastResult.PENDING:
            self._metrics.count_result(record)
        if record.pods is not None and record.pods.result is not ForecastResult.PENDING:
            self._metrics.count_pod_result(record.cluster, record.pods.result)

    def _forecast_judged(self, record: ForecastRecord, worker: WorkerView | None) -> None:
        if record.pods is not None and record.pods.verified_ns is not None:
            # The quota was counted when it was judged, which is always before its pods are.
            self._metrics.count_pod_result(record.cluster, record.pods.result)
            return
        self._metrics.count_result(record)
        witness = worker.witness if worker is not None else None
        if witness is not None:
            expected = sum(1 for victim in record.forecast.victims if not victim.in_flight)
            self._metrics.count_victims(record.cluster, expected, len(witness.evicted))


def _waits(workload: HubWorkload) -> bool:
    is_pending = workload.check is not None and workload.check.state is CheckState.PENDING
    return is_pending and workload.is_true("QuotaReserved") and not workload.is_true("Finished")


def _gates_of(view: WorkloadView) -> Iterable[OpenGateState]:
    check = view.workload.check
    if check is None or check.state is not CheckState.PENDING:
        return
    opened_ns = {opening.cluster: opening.opened_ns for opening in known_openings(view)}
    for worker in view.holders:
        replica = worker.replica
        if replica is None or replica.is_true("QuotaReserved"):
            continue
        if replica.gate_open:
            yield OpenGateState(worker.name, opened_ns.get(worker.name, replica.gate_opened_ns or 0))
        elif replica.has_gate and replica.signal_ns is not None:
            yield OpenGateState(worker.name, None)
