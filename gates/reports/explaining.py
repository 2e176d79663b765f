"""Explains one Workload: what each worker says and would do, and what happens next.

Pure, and made from the same view and the same decision that the daemon acts on, so that both agree.
"""

from collections.abc import Mapping
from typing import assert_never

from engine.forecasting.forecast import Forecast
from gates.decision.ledger import known_openings, last_opening
from gates.decision.opening import Defer, Grace, Hold, Idle, Open, Wait, next_gate
from gates.decision.windows import remaining as window_left
from gates.model.actions import Decision
from gates.model.rules import AWAITING_ADMISSION
from gates.model.settings import Settings
from gates.model.view import CheckState, Reach, WorkerView, WorkloadView
from gates.reports.explanation import (
    NextKind,
    NextStep,
    OpenGateReport,
    ReplicaReport,
    ReplicaState,
    WorkerExplanation,
    WorkloadExplanation,
)


def explain(
    view: WorkloadView, decision: Decision, forecasts: Mapping[str, Forecast], now_ns: int, settings: Settings
) -> WorkloadExplanation:
    """Explain a Workload; `forecasts` are those of every worker that has one."""
    return WorkloadExplanation(
        workers=tuple(_worker(worker, forecasts.get(worker.name)) for worker in view.listed),
        next=_next(view, decision, now_ns, settings),
        gates=_gates(view, settings) if _is_pending(view) else (),
    )


def _is_pending(view: WorkloadView) -> bool:
    check = view.workload.check
    return check is not None and check.state is CheckState.PENDING


def _gates(view: WorkloadView, settings: Settings) -> tuple[OpenGateReport, ...]:
    return tuple(
        OpenGateReport(opening.cluster, opening.opened_ns, opening.opened_ns + settings.timeout_ns)
        for opening in known_openings(view)
    )


def _worker(worker: WorkerView, forecast: Forecast | None) -> WorkerExplanation:
    replica = worker.replica
    return WorkerExplanation(
        name=worker.name,
        replica=_replica(worker),
        gate="" if replica is None or not replica.has_gate else "Open" if replica.gate_open else "Closed",
        forecast=forecast,
        is_reliable=worker.forecast_reliable,
        pods=worker.pods,
    )


def _replica(worker: WorkerView) -> ReplicaReport:
    if worker.reach is Reach.LOST:
        return ReplicaReport(ReplicaState.UNREACHABLE)
    if worker.reach is Reach.UNREADABLE:
        return ReplicaReport(ReplicaState.NOT_SYNCED)
    if worker.problem:
        return ReplicaReport(ReplicaState.PROBLEM, message=worker.problem)
    replica = worker.replica
    if replica is None:
        return ReplicaReport(ReplicaState.FOREIGN if worker.foreign_replica else ReplicaState.MISSING)
    for state in (ReplicaState.FINISHED, ReplicaState.EVICTED, ReplicaState.ADMITTED, ReplicaState.QUOTA_RESERVED):
        if replica.is_true(state):
            return ReplicaReport(state)
    if replica.signal_ns is not None:
        return ReplicaReport(ReplicaState.ASKS_TO_PREEMPT, replica.signal_ns - worker.clock_skew_ns)
    reserved = replica.conditions.get(ReplicaState.QUOTA_RESERVED)
    return ReplicaReport(ReplicaState.PENDING, message=reserved.message if reserved is not None else "")


def _next(view: WorkloadView, decision: Decision, now_ns: int, settings: Settings) -> NextStep:
    if decision.rule not in AWAITING_ADMISSION:
        actions = tuple(type(action).__name__ for action in decision.actions)
        return NextStep(NextKind.OTHER, rule=str(decision.rule), reason="; ".join(decision.notes), actions=actions)
    match step := next_gate(view, now_ns, settings):
        case Open(worker=worker):
            return NextStep(NextKind.GATE_OPENS, worker.name, now_ns)
        case Wait(worker=worker, holder=holder, remaining_ns=left):
            return NextStep(NextKind.GATE_OPENS_AFTER_WINDOW, worker.name, now_ns + left, holder.cluster)
        case Defer(worker=worker, due_ns=due_ns, why=why):
            return NextStep(NextKind.GATE_DEFERRED, worker.name, due_ns, reason=why)
        case Grace(worker=worker, until_ns=until_ns):
            return NextStep(NextKind.GATE_OPENS_AFTER_GRACE, worker.name, until_ns)
        case Hold(worker=worker, reserved_on=reserved_on):
            return NextStep(NextKind.GATE_HELD, worker.name, other_worker=reserved_on)
        case Idle():
            last = last_opening(view)
            if last is not None and (left := window_left(last, view, now_ns, settings)):
                return NextStep(NextKind.WINDOW_OPEN, last.cluster, now_ns + left)
            return NextStep(NextKind.NO_REQUEST)
        case _:
            assert_never(step)
