"""Looking at decisions from the outside: why a gate opens, and what must never be."""

from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from gates.diagnosis.auditing import OpeningReason, comes_too_early, opening_reason, runs_twice
from gates.model.actions import OpenGate
from gates.model.openings import Opening, Steady
from gates.model.settings import MINUTE, SECOND, Settings
from gates.model.view import Reach
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import ATTEMPT, NOW, SETTINGS, condition, group, hub, replica, signalled, worker

T = Settings().timeout_ns


def opening(cluster: str, ago_ns: int) -> Opening:
    return Opening(WorkerName(cluster), ReplicaUID(f"{cluster}-uid"), NOW - ago_ns)


def test_the_first_gate() -> None:
    state = group(hub(), worker("w1", signalled("w1", at=NOW)), worker("w2"))
    assert opening_reason(state, W1) is OpeningReason.FIRST


def test_the_turn_of_another_is_over() -> None:
    state = group(
        hub(openings=(opening("w2", T),)), worker("w1", signalled("w1", at=NOW)), worker("w2", reach=Reach.LOST)
    )
    assert opening_reason(state, W1) is OpeningReason.TURN_OVER


@pytest.mark.parametrize(("confirmed", "want"), [(True, OpeningReason.REOPENED), (False, OpeningReason.FIRST)])
def test_the_same_gate_again(confirmed: bool, want: OpeningReason) -> None:
    copy = signalled("w1", at=NOW)
    record = Opening(W1, copy.uid, NOW - SECOND)
    state = group(hub(openings=(record,)), worker("w1", copy, opening_confirmed=confirmed))
    assert opening_reason(state, W1) is want


@pytest.mark.parametrize(("ago_ns", "want"), [(T - 1, True), (T, False), (2 * T, False)])
def test_an_opening_within_another_turn_comes_too_early(ago_ns: int, want: bool) -> None:
    state = group(
        hub(openings=(opening("w2", ago_ns),)), worker("w1", signalled("w1", at=NOW)), worker("w2", reach=Reach.LOST)
    )
    action = OpenGate(W1, ReplicaUID("w1-uid"), "1", NOW)
    assert comes_too_early(state, action, Settings()) is want


def test_two_that_run_are_one_too_many() -> None:
    one = worker("w1", replica("w1", condition("Admitted")), job_present=True)
    other = worker("w2", replica("w2", condition("Admitted")), job_present=True)
    assert runs_twice(group(hub(), one, other))
    assert not runs_twice(group(hub(), one, worker("w2", replica("w2", condition("Admitted")))))
    assert not runs_twice(
        group(hub(), one, worker("w2", replica("w2", condition("Admitted")), job_present=True, job_ended=True))
    )
    assert not runs_twice(
        group(hub(), one, worker("w2", replica("w2", condition("Admitted")), job_present=True, reach=Reach.LOST))
    )


def test_F6_a_wall_clock_that_was_set_makes_no_opening_look_early() -> None:
    earlier = Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, Steady("boot", 0))
    state = replace(group(hub(openings=(earlier,)), worker("w1"), worker("w2")), steady=Steady("boot", T))
    assert not comes_too_early(state, OpenGate(W2, ReplicaUID("w2-uid"), "3", NOW - MINUTE), SETTINGS)
    state = replace(state, steady=Steady("boot", T - 1))
    assert comes_too_early(state, OpenGate(W2, ReplicaUID("w2-uid"), "3", NOW + 60 * MINUTE), SETTINGS)
