"""A Workload that no worker admits in time is given up, with the forecasts as the reason; and a gate's own delay."""

from dataclasses import dataclass, replace

import pytest

from engine.forecasting.forecast import Forecast, ForecastVerdict
from gates.decision.decide import decide
from gates.decision.opening import Grace, Open, next_gate
from gates.model.actions import EmitEvent, PatchHubStatus
from gates.model.hub_workload import CheckState
from gates.model.rules import Rule
from gates.model.settings import MINUTE, SECOND, GiveUpState, Settings
from gates.model.view import WorkloadView
from gates.targets.rules import GIVE_UP_AFTER, PREEMPTION_DELAY, TargetRules, target_rules
from tests.unit.gates.groups import NOW, T, condition, group, hub, opened, replica, signalled, worker

# The attempt of `hub()` began an hour ago.
HOUR = 60 * MINUTE
SOON, LATER = Settings(give_up_after_ns=HOUR), Settings(give_up_after_ns=HOUR + MINUTE)
CANNOT = Forecast(ForecastVerdict.CANNOT, NOW, "insufficient quota for cpu")
WAITING = group(hub(), worker("w1", replica("w1"), forecast=CANNOT), worker("w2", replica("w2")))


@dataclass(frozen=True)
class Case:
    view: WorkloadView
    settings: Settings
    is_given_up: bool


def own(patience_ns: int) -> WorkloadView:
    return replace(WAITING, workload=hub(targets=TargetRules(give_up_after_ns=patience_ns)))


CASES = {
    "never, unless it is set": Case(WAITING, Settings(), is_given_up=False),
    "not a moment too early": Case(WAITING, Settings(give_up_after_ns=HOUR + 1), is_given_up=False),
    "when its time is over": Case(WAITING, SOON, is_given_up=True),
    "its own time is shorter": Case(own(MINUTE), LATER, is_given_up=True),
    "its own time is longer": Case(own(2 * HOUR), SOON, is_given_up=False),
    "its own time is never": Case(own(0), SOON, is_given_up=False),
    "not while a worker has quota for it": Case(
        group(hub(), worker("w1", replica("w1", condition("QuotaReserved"))), worker("w2")), SOON, is_given_up=False
    ),
    "not while a window is open": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T // 2)), worker("w2")), SOON, is_given_up=False
    ),
    "after the window": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T)), worker("w2")), SOON, is_given_up=True
    ),
    "not while other checks are not Ready": Case(
        replace(WAITING, workload=hub(other_checks_ready=False)), SOON, is_given_up=False
    ),
    "also where nothing is dispatched because of an annotation": Case(
        replace(WAITING, workload=hub(targets=TargetRules(problem="broken"))), SOON, is_given_up=True
    ),
    "not once it is Ready": Case(replace(WAITING, workload=hub(check=CheckState.READY)), SOON, is_given_up=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_when_a_workload_is_given_up(case: Case) -> None:
    assert (decide(case.view, NOW, case.settings, {}).rule is Rule.GIVEN_UP) is case.is_given_up


@pytest.mark.parametrize(
    ("state", "want", "requeue"),
    [(GiveUpState.RETRY, CheckState.RETRY, 60), (GiveUpState.REJECTED, CheckState.REJECTED, None)],
)
def test_the_check_says_what_each_worker_would_do(state: GiveUpState, want: CheckState, requeue: int | None) -> None:
    patch, event = decide(WAITING, NOW, replace(SOON, give_up_state=state), {}).actions
    text = "No worker admitted it by 2027-01-15T08:00:00Z: w1: Cannot, insufficient quota for cpu; w2: pending there"
    assert patch == PatchHubStatus(
        check_state=want, check_message=f'{text}, Previously: "Pending"', requeue_after_seconds=requeue
    )
    assert event == EmitEvent("MultiKueue", text, warning=True)


def test_it_is_reconciled_when_its_time_is_over() -> None:
    said = replace(WAITING, workload=hub(nominated=("w1", "w2")))
    assert decide(said, NOW, LATER, {}).requeue_ns == MINUTE


def test_it_is_not_given_up_twice() -> None:
    gone = replace(WAITING, workload=hub(check=CheckState.RETRY))
    assert decide(gone, NOW, SOON, {}).actions == ()


# --- the delay of its first gate


def test_a_job_sets_how_long_its_first_gate_stays_closed() -> None:
    delayed = hub(targets=TargetRules(preemption_delay_ns=MINUTE))
    view = group(delayed, worker("w1", signalled("w1", at=NOW - 20 * SECOND)), worker("w2", replica("w2")))
    gate = next_gate(view, NOW, Settings())
    assert isinstance(gate, Grace)
    assert gate.until_ns == NOW + 40 * SECOND
    assert isinstance(next_gate(view, NOW + 40 * SECOND, Settings()), Open)


def test_its_own_delay_wins_also_if_it_is_none() -> None:
    view = group(hub(targets=TargetRules(preemption_delay_ns=0)), worker("w1", signalled("w1", at=NOW)))
    assert isinstance(next_gate(view, NOW, Settings(non_preempting_grace_ns=MINUTE)), Open)


# --- annotations


def test_durations_are_read() -> None:
    found = target_rules({GIVE_UP_AFTER: "1h30m", PREEMPTION_DELAY: "0"}, {})
    assert found == TargetRules(give_up_after_ns=90 * MINUTE, preemption_delay_ns=0)
    assert target_rules({GIVE_UP_AFTER: "never"}, {}) == TargetRules(give_up_after_ns=0)


@pytest.mark.parametrize("name", [GIVE_UP_AFTER, PREEMPTION_DELAY])
@pytest.mark.parametrize("text", ["", "soon", "-5m", "10", "9000h"])
def test_what_is_no_duration_is_told(name: str, text: str) -> None:
    problem = target_rules({name: text}, {}).problem
    assert name in problem
    assert "must be a duration" in problem


def test_giving_up_at_once_is_refused() -> None:
    assert "more than 0" in target_rules({GIVE_UP_AFTER: "0"}, {}).problem
