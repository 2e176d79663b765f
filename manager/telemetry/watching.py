"""Counts what the reconciler does as it happens, and remembers which gates stand open, Workload by Workload."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.forecasting.verification import Result
from gates.actions import OpenGate, PatchHubStatus, RecordForecast, RecordOpenings
from gates.auditing import Invariant, OpeningReason, comes_too_early, opening_reason, runs_twice
from gates.forecasts import ForecastRecord
from gates.ledger import known_openings, observed_openings
from gates.settings import SECOND
from gates.view import CheckState, Group, Worker
from manager.metrics import Metrics
from manager.reconciler import Deed, Look
from workerclient.kind import Key


@dataclass(frozen=True, slots=True)
class Standing:
    """A gate of one Workload on one worker that matters now."""

    cluster: str
    opened_ns: int | None
    """None while it is closed and somebody asks for it."""


class Watcher:
    """Listens to one reconciler."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._standing: dict[Key, tuple[Standing, ...]] = {}
        self._twice: set[Key] = set()

    def gates(self) -> Iterator[Standing]:
        """Return every gate that stands open, or that somebody waits for."""
        for standing in self._standing.values():
            yield from standing

    def note_look(self, look: Look) -> None:
        """Take note of how things stand with a Workload."""
        workload = look.group.workload
        key = Key(workload.namespace, workload.name)
        standing = tuple(_standing(look.group))
        if standing:
            self._standing[key] = standing
        else:
            self._standing.pop(key, None)
        if not runs_twice(look.group):
            self._twice.discard(key)
        elif key not in self._twice:
            self._twice.add(key)
            self._metrics.count_violation(Invariant.ONE_RUNNING_COPY)

    def note_deed(self, deed: Deed) -> None:
        """Count something that was done."""
        group = deed.look.group
        match deed.action:
            case OpenGate():
                self._opened(deed, deed.action)
            case RecordOpenings(forecast=record):
                for opening in observed_openings(group):
                    self._metrics.count_opening(opening.cluster, OpeningReason.FOREIGN)
                if record is not None:
                    self._forecast_made(record)
            case RecordForecast(record=record) if record.verified_ns is None:
                self._forecast_made(record)
            case RecordForecast(record=record):
                self._forecast_judged(record, group.worker(record.cluster))
            case PatchHubStatus(check_state=CheckState.READY, cluster_name=cluster) if cluster:
                self._admitted(group, cluster)

    def note_duration(self, seconds: float, failed: bool) -> None:
        """Take how long a look lasted."""
        self._metrics.time_reconcile(seconds, failed=failed)

    def forget(self, key: Key) -> None:
        """Keep nothing of a Workload that is gone."""
        self._standing.pop(key, None)
        self._twice.discard(key)

    def _opened(self, deed: Deed, action: OpenGate) -> None:
        group = deed.look.group
        reason = opening_reason(group, action.cluster)
        self._metrics.count_opening(action.cluster, reason)
        if comes_too_early(group, action, deed.look.settings):
            self._metrics.count_violation(Invariant.ONE_GATE_PER_TIMEOUT)
        worker = group.worker(action.cluster)
        asked_ns = worker.replica.signal_ns if worker is not None and worker.replica is not None else None
        if worker is not None and asked_ns is not None and reason is not OpeningReason.REOPENED:
            waited_ns = deed.ended_ns - (asked_ns - worker.clock_skew_ns)
            self._metrics.time_signal_to_open(action.cluster, waited_ns / SECOND)

    def _admitted(self, group: Group, cluster: str) -> None:
        worker = group.worker(cluster)
        replica = worker.replica if worker is not None else None
        if worker is None or replica is None or not replica.is_true("Admitted"):
            return
        for opening in known_openings(group):
            if (opening.cluster, opening.replica_uid) == (cluster, replica.uid):
                admitted_ns = replica.since_ns("Admitted") - worker.clock_skew_ns
                self._metrics.time_open_to_admission(cluster, (admitted_ns - opening.opened_ns) / SECOND)

    def _forecast_made(self, record: ForecastRecord) -> None:
        self._metrics.count_verdict(record)
        if record.result is not Result.PENDING:
            self._metrics.count_result(record)
        if record.pods is not None and record.pods.result is not Result.PENDING:
            self._metrics.count_pod_result(record.cluster, record.pods.result)

    def _forecast_judged(self, record: ForecastRecord, worker: Worker | None) -> None:
        if record.pods is not None and record.pods.verified_ns is not None:
            # The quota was counted when it was judged, which is always before its pods are.
            self._metrics.count_pod_result(record.cluster, record.pods.result)
            return
        self._metrics.count_result(record)
        witness = worker.witness if worker is not None else None
        if witness is not None:
            expected = sum(1 for victim in record.forecast.victims if not victim.in_flight)
            self._metrics.count_victims(record.cluster, expected, len(witness.evicted))


def _standing(group: Group) -> Iterable[Standing]:
    check = group.workload.check
    if check is None or check.state is not CheckState.PENDING:
        return
    opened_ns = {opening.cluster: opening.opened_ns for opening in known_openings(group)}
    for worker in group.holders:
        replica = worker.replica
        if replica is None or replica.is_true("QuotaReserved"):
            continue
        if replica.gate_open:
            yield Standing(worker.name, opened_ns.get(worker.name, replica.gate_opened_ns or 0))
        elif replica.has_gate and replica.signal_ns is not None:
            yield Standing(worker.name, None)
