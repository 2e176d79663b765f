"""An explanation of a Workload has what the decision does, field by field."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.decision.decide import decide
from gates.decision.policies import ANOTHER_MAY_ADMIT
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.hub_workload import CheckState
from gates.model.settings import SECOND, GatePolicy, Settings
from gates.model.view import Reach, WorkloadView
from gates.reports.explaining import explain
from gates.reports.explanation import (
    NextKind,
    NextStep,
    OpenGateReport,
    ReplicaReport,
    ReplicaState,
    WorkloadExplanation,
)
from gates.reports.hub_state import HubReason, HubState
from gates.reports.preemptions import PreemptionVictim, RunningPreemption
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import (
    NOW,
    SETTINGS,
    T,
    condition,
    group,
    hub,
    opened,
    replica,
    signalled,
    worker,
)

ASKING = worker("w1", signalled("w1", at=NOW - SECOND))
NOMINATED = hub(nominated=("w1", "w2"))


ON_WORKERS = HubState(HubReason.ON_WORKERS)


def explained(
    view: WorkloadView,
    forecasts: Mapping[WorkerName, Forecast] | None = None,
    settings: Settings = SETTINGS,
    state: HubState = ON_WORKERS,
) -> WorkloadExplanation:
    return explain(view, state, decide(view, NOW, settings, {}), forecasts or {}, NOW, settings)


def what_next(view: WorkloadView, settings: Settings = SETTINGS) -> NextStep:
    return explained(view, settings=settings).next


NEXT = {
    "a gate opens": (group(NOMINATED, ASKING), NextStep(NextKind.GATE_OPENS, W1, NOW)),
    "a window is open, and another worker waits for its end": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", signalled("w2", at=NOW))),
        NextStep(NextKind.GATE_OPENS_AFTER_WINDOW, W2, NOW + T - SECOND, other_worker=W1),
    ),
    "a window is open": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", replica("w2"))),
        NextStep(NextKind.WINDOW_OPEN, W1, NOW + T - SECOND),
    ),
    "a worker has quota": (
        group(NOMINATED, ASKING, worker("w2", replica("w2", condition("QuotaReserved")))),
        NextStep(NextKind.GATE_HELD, W1, other_worker=W2),
    ),
    "no worker asks": (
        group(NOMINATED, worker("w1", replica("w1")), worker("w2", replica("w2"))),
        NextStep(NextKind.NO_REQUEST),
    ),
}


@pytest.mark.parametrize(("state", "want"), NEXT.values(), ids=NEXT)
def test_what_happens_next(state: WorkloadView, want: NextStep) -> None:
    assert what_next(state) == want


@pytest.mark.parametrize("check", [CheckState.REJECTED, None], ids=str)
def test_a_row_that_is_not_about_gates_is_named(check: CheckState | None) -> None:
    state = group(hub(check=check), worker("w1"))
    assert what_next(state) == NextStep(NextKind.OTHER, rule=str(decide(state, NOW, SETTINGS, {}).rule))


def test_a_policy_that_waits_says_until_when() -> None:
    settings = Settings(policy=GatePolicy.PREFER_NO_PREEMPTION)
    state = group(NOMINATED, ASKING, worker("w2", replica("w2")))
    reason = ANOTHER_MAY_ADMIT
    assert what_next(state, settings) == NextStep(NextKind.GATE_DEFERRED, W1, NOW + 9 * SECOND, reason=reason)


def test_what_each_worker_says() -> None:
    pending = condition("QuotaReserved", status="False", message="no quota for cpu")
    workers = (
        worker("w1", reach=Reach.LOST),
        worker("w2", reach=Reach.UNREADABLE),
        worker("w3"),
        worker("w4", foreign_replica=True),
        worker("w5", problem="worker w5: forbidden"),
        worker("w6", replica("w6", pending)),
        worker("w7", replica("w7", has_gate=False)),
        worker("w8", signalled("w8", at=NOW, gate_open=True), clock_skew_ns=SECOND),
        worker("w9", signalled("w9", at=NOW), clock_skew_ns=SECOND),
    )
    state = group(hub(), *workers)
    found = explained(state).workers
    assert [(each.gate, each.replica) for each in found] == [
        ("", ReplicaReport(ReplicaState.UNREACHABLE)),
        ("", ReplicaReport(ReplicaState.NOT_SYNCED)),
        ("", ReplicaReport(ReplicaState.MISSING)),
        ("", ReplicaReport(ReplicaState.FOREIGN)),
        ("", ReplicaReport(ReplicaState.PROBLEM, message="worker w5: forbidden")),
        ("Closed", ReplicaReport(ReplicaState.PENDING, message="no quota for cpu")),
        ("", ReplicaReport(ReplicaState.PENDING)),
        ("Open", ReplicaReport(ReplicaState.PENDING)),
        ("Closed", ReplicaReport(ReplicaState.ASKS_TO_PREEMPT, NOW - SECOND)),
    ]


@pytest.mark.parametrize("state", ["Finished", "Evicted", "Admitted", "QuotaReserved"])
def test_a_condition_of_the_replica_is_its_state(state: str) -> None:
    view = group(hub(), worker("w1", replica("w1", condition(state))))
    (found,) = explained(view).workers
    assert found.replica.state == state


def test_open_gates_are_listed_while_the_check_is_pending() -> None:
    view = group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)))
    found = explained(view)
    assert found.gates == (OpenGateReport(W1, NOW - SECOND, NOW - SECOND + T),)
    ready = group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", opened("w1", at=NOW - SECOND)))
    assert explained(ready).gates == ()


def test_forecasts_go_along_with_their_reliability() -> None:
    state = group(hub(), worker("w1", replica("w1")), worker("w2", replica("w2"), forecast_reliable=False))
    fits = Forecast(ForecastVerdict.FITS, NOW)
    found = explained(state, {W2: fits}).workers
    assert [(each.forecast, each.is_reliable) for each in found] == [(None, True), (fits, False)]


LOW = ForecastVictim("ns", "low", "low-uid", "cq", "InClusterQueue")
STUCK = ForecastVictim("ns", "stuck", "stuck-uid", "cq", "InClusterQueue")
PROMISE = Forecast(ForecastVerdict.PREEMPTS, NOW, victims=(LOW, STUCK), cost=Cost(victims=2, pods=2))


def test_victims_of_the_running_preemption_are_told_by_forecast_and_by_what_is_seen() -> None:
    record = ForecastRecord(W1, ReplicaUID("w1-uid"), NOW - SECOND, PROMISE)
    seen = Witness(evicted=(Evicted("ns", "low", "low-uid", "InClusterQueue"), Evicted("ns", "x", "x", "InCohort")))
    first = worker("w1", opened("w1", at=NOW - SECOND), witness=seen)
    view = group(replace(NOMINATED, forecast=record), first, worker("w2", replica("w2")))
    (found, other) = explained(view).workers
    assert other.preemption is None
    assert found.preemption == RunningPreemption(
        NOW - SECOND,
        NOW - SECOND + T,
        (
            PreemptionVictim("ns", "low", "InClusterQueue", LOW, is_preempted=True),
            PreemptionVictim("ns", "stuck", "InClusterQueue", STUCK, is_preempted=False),
            PreemptionVictim("ns", "x", "InCohort", is_preempted=True),
        ),
    )


def test_a_worker_that_was_not_looked_at_has_only_the_forecast() -> None:
    record = ForecastRecord(W1, ReplicaUID("w1-uid"), NOW - SECOND, PROMISE)
    view = group(replace(NOMINATED, forecast=record), worker("w1", opened("w1", at=NOW - SECOND)))
    (found,) = explained(view).workers
    assert found.preemption is not None
    assert [victim.is_preempted for victim in found.preemption.victims] == [None, None]


def test_a_forecast_that_was_exact_says_who_was_preempted() -> None:
    record = ForecastRecord(W1, ReplicaUID("w1-uid"), NOW - SECOND, PROMISE, ForecastResult.EXACT)
    view = group(replace(NOMINATED, forecast=record), worker("w1", opened("w1", at=NOW - SECOND)))
    (found,) = explained(view).workers
    assert found.preemption is not None
    assert [victim.is_preempted for victim in found.preemption.victims] == [True, True]


def test_a_forecast_of_an_earlier_opening_names_no_victims() -> None:
    record = ForecastRecord(W1, ReplicaUID("w1-uid"), NOW - 9 * SECOND, PROMISE)
    view = group(replace(NOMINATED, forecast=record), worker("w1", opened("w1", at=NOW - SECOND)))
    (found,) = explained(view).workers
    assert found.preemption == RunningPreemption(NOW - SECOND, NOW - SECOND + T)


def test_workers_are_left_out_of_what_only_the_hub_decides() -> None:
    view = group(hub(check=CheckState.REJECTED), worker("w1", opened("w1", at=NOW - SECOND)))
    state = HubState(HubReason.CHECK_REJECTED, "no", remedy="do something")
    found = explained(view, {W1: PROMISE}, state=state)
    assert found.next == NextStep(NextKind.FIX_NEEDED)
    assert [(each.forecast, each.preemption) for each in found.workers] == [(None, None)]
