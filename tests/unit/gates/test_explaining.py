"""An explanation of a Workload has what the decision does, field by field."""

import pytest

from engine.forecasting.forecast import Forecast, ForecastVerdict
from gates.decision.decide import decide
from gates.model.settings import SECOND, GatePolicy, Settings
from gates.model.view import CheckState, Reach, WorkloadView
from gates.reports.explaining import explain
from gates.reports.explanation import NextKind, NextStep, OpenGateReport, ReplicaReport, ReplicaState
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


def what_next(state: WorkloadView, settings: Settings = SETTINGS) -> NextStep:
    return explain(state, decide(state, NOW, settings, {}), {}, NOW, settings).next


NEXT = {
    "a gate opens": (group(NOMINATED, ASKING), NextStep(NextKind.GATE_OPENS, "w1", NOW)),
    "a window is open, and another worker waits for its end": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", signalled("w2", at=NOW))),
        NextStep(NextKind.GATE_OPENS_AFTER_WINDOW, "w2", NOW + T - SECOND, other_worker="w1"),
    ),
    "a window is open": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", replica("w2"))),
        NextStep(NextKind.WINDOW_OPEN, "w1", NOW + T - SECOND),
    ),
    "a worker has quota": (
        group(NOMINATED, ASKING, worker("w2", replica("w2", condition("QuotaReserved")))),
        NextStep(NextKind.GATE_HELD, "w1", other_worker="w2"),
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
    reason = "another cluster may admit without preemption"
    assert what_next(state, settings) == NextStep(NextKind.GATE_DEFERRED, "w1", NOW + 9 * SECOND, reason=reason)


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
    )
    state = group(hub(), *workers)
    found = explain(state, decide(state, NOW, SETTINGS, {}), {}, NOW, SETTINGS).workers
    assert [(each.gate, each.replica) for each in found] == [
        ("", ReplicaReport(ReplicaState.UNREACHABLE)),
        ("", ReplicaReport(ReplicaState.NOT_SYNCED)),
        ("", ReplicaReport(ReplicaState.MISSING)),
        ("", ReplicaReport(ReplicaState.FOREIGN)),
        ("", ReplicaReport(ReplicaState.PROBLEM, message="worker w5: forbidden")),
        ("Closed", ReplicaReport(ReplicaState.PENDING, message="no quota for cpu")),
        ("", ReplicaReport(ReplicaState.PENDING)),
        ("Open", ReplicaReport(ReplicaState.ASKS_TO_PREEMPT, NOW - SECOND)),
    ]


@pytest.mark.parametrize("state", ["Finished", "Evicted", "Admitted", "QuotaReserved"])
def test_a_condition_of_the_replica_is_its_state(state: str) -> None:
    view = group(hub(), worker("w1", replica("w1", condition(state))))
    (found,) = explain(view, decide(view, NOW, SETTINGS, {}), {}, NOW, SETTINGS).workers
    assert found.replica.state == state


def test_open_gates_are_listed_while_the_check_is_pending() -> None:
    view = group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)))
    found = explain(view, decide(view, NOW, SETTINGS, {}), {}, NOW, SETTINGS)
    assert found.gates == (OpenGateReport("w1", NOW - SECOND, NOW - SECOND + T),)
    ready = group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", opened("w1", at=NOW - SECOND)))
    assert explain(ready, decide(ready, NOW, SETTINGS, {}), {}, NOW, SETTINGS).gates == ()


def test_forecasts_go_along_with_their_reliability() -> None:
    state = group(hub(), worker("w1", replica("w1")), worker("w2", replica("w2"), forecast_reliable=False))
    fits = Forecast(ForecastVerdict.FITS, NOW)
    found = explain(state, decide(state, NOW, SETTINGS, {}), {"w2": fits}, NOW, SETTINGS).workers
    assert [(each.forecast, each.is_reliable) for each in found] == [(None, True), (fits, False)]
