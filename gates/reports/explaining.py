"""Explains one Workload: what each worker says and would do, and what happens next.

Pure, and made from the same view and the same decision that the daemon acts on, so that both agree.
"""

from collections.abc import Mapping
from typing import assert_never

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import Forecast
from gates.decision.giving_up import gives_up_ns
from gates.decision.ledger import known_openings, last_opening
from gates.decision.opening import Defer, Grace, Hold, Idle, Open, Wait, next_gate
from gates.decision.windows import remaining as window_left
from gates.model.actions import Decision
from gates.model.hub_workload import CheckState
from gates.model.openings import Opening
from gates.model.rules import AWAITING_ADMISSION, Rule
from gates.model.settings import SECOND, Settings
from gates.model.view import Reach, WorkerView, WorkloadView
from gates.reports.explanation import (
    NextKind,
    NextStep,
    OpenGateReport,
    ReplicaReport,
    ReplicaState,
    WorkerExplanation,
    WorkloadExplanation,
    next_by_hub,
)
from gates.reports.hub_state import HubState
from gates.reports.preemptions import RunningPreemption, running_preemption


def explain(
    view: WorkloadView,
    state: HubState,
    decision: Decision,
    forecasts: Mapping[WorkerName, Forecast],
    now_ns: int,
    settings: Settings,
) -> WorkloadExplanation:
    """Explain a Workload; `forecasts` are those of every worker that has one.

    What the hub says comes first: forecasts are left out while no worker is concerned.
    """
    told = forecasts if state.concerns_workers else {}
    running = {opening.cluster: opening for opening in known_openings(view)} if state.concerns_workers else {}
    return WorkloadExplanation(
        workers=tuple(
            _worker(worker, told.get(worker.name), _preemption(running.get(worker.name), worker, view, settings))
            for worker in view.listed
        ),
        next=next_by_hub(state) or _next(view, decision, now_ns, settings),
        gates=_gates(view, settings) if _is_pending(view) else (),
        gives_up_ns=gives_up_ns(view, settings) if _is_pending(view) and state.concerns_workers else None,
    )


def _is_pending(view: WorkloadView) -> bool:
    check = view.workload.check
    return check is not None and check.state is CheckState.PENDING


def _gates(view: WorkloadView, settings: Settings) -> tuple[OpenGateReport, ...]:
    return tuple(
        OpenGateReport(opening.cluster, opening.opened_ns, opening.opened_ns + settings.timeout_ns)
        for opening in known_openings(view)
    )


def _preemption(
    opening: Opening | None, worker: WorkerView, view: WorkloadView, settings: Settings
) -> RunningPreemption | None:
    if opening is None:
        return None
    return running_preemption(opening, view.workload.forecast, worker.witness, settings.timeout_ns)


def _worker(worker: WorkerView, forecast: Forecast | None, preemption: RunningPreemption | None) -> WorkerExplanation:
    replica = worker.replica
    return WorkerExplanation(
        name=worker.name,
        replica=_replica(worker),
        gate="" if replica is None or not replica.has_gate else "Open" if replica.gate_open else "Closed",
        forecast=forecast,
        is_reliable=worker.forecast_reliable,
        pods=worker.pods,
        preemption=preemption,
        exclusion=worker.exclusion,
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
    if replica.signal_ns is not None and not replica.gate_open:
        return ReplicaReport(ReplicaState.ASKS_TO_PREEMPT, replica.signal_ns - worker.clock_skew_ns)
    reserved = replica.conditions.get(ReplicaState.QUOTA_RESERVED)
    return ReplicaReport(ReplicaState.PENDING, message=reserved.message if reserved is not None else "")


def _next(view: WorkloadView, decision: Decision, now_ns: int, settings: Settings) -> NextStep:
    if decision.rule is Rule.WINNER_FOLLOWED and view.workload.cluster_name and not decision.notes:
        return NextStep(NextKind.JOB_FOLLOWED, view.workload.cluster_name)
    if decision.rule not in AWAITING_ADMISSION:
        actions = tuple(type(action).__name__ for action in decision.actions)
        return NextStep(NextKind.OTHER, rule=str(decision.rule), reason="; ".join(decision.notes), actions=actions)
    match step := next_gate(view, now_ns, settings):
        case Open(worker=worker):
            return NextStep(NextKind.GATE_OPENS, worker.name, now_ns)
        case Wait(worker=worker, holder=holder, remaining_ns=left):
            ends_ns = _window_end(holder, now_ns + left, settings)
            return NextStep(NextKind.GATE_OPENS_AFTER_WINDOW, worker.name, ends_ns, holder.cluster)
        case Defer(worker=worker, due_ns=due_ns, why=why):
            return NextStep(NextKind.GATE_DEFERRED, worker.name, due_ns, reason=why)
        case Grace(worker=worker, until_ns=until_ns):
            return NextStep(NextKind.GATE_OPENS_AFTER_GRACE, worker.name, until_ns)
        case Hold(worker=worker, reserved_on=reserved_on):
            return NextStep(NextKind.GATE_HELD, worker.name, other_worker=reserved_on)
        case Idle():
            last = last_opening(view)
            if last is not None and (left := window_left(last, view, now_ns, settings)):
                return NextStep(NextKind.WINDOW_OPEN, last.cluster, _window_end(last, now_ns + left, settings))
            return NextStep(NextKind.NO_REQUEST)
        case _:
            assert_never(step)


def _window_end(opening: Opening, measured_ns: int, settings: Settings) -> int:
    """Return when a window ends: as lists and the check say it, unless the steady clock measured something else."""
    announced_ns = opening.opened_ns + settings.timeout_ns
    return announced_ns if abs(announced_ns - measured_ns) < SECOND else measured_ns
