"""What is left of a window, and when it has to begin again: by the steady clock, in spite of the wall clock."""

from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID
from gates.decision.decide import decide
from gates.decision.ledger import lost, standing_openings
from gates.decision.nudging import missed_opening
from gates.decision.opening import Wait, next_gate
from gates.decision.windows import SILENCE_NS, last_call, must_begin_again, remaining
from gates.model.actions import RecordOpenings
from gates.model.openings import Opening, Steady
from gates.model.rules import Rule
from gates.model.settings import MINUTE, SECOND
from gates.model.view import Reach, WorkerView, WorkloadView
from gates.wire.annotations import format_openings, parse_openings
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import (
    ATTEMPT,
    NOW,
    SETTINGS,
    T,
    condition,
    conditions,
    hub,
    opened,
    replica,
    signalled,
    worker,
)
from workerclient.objects.reflector_context import ReflectorLimits

BOOT = "boot"
BEGAN = Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, Steady(BOOT, 0), took_effect=True)


def after(passed: int, *workers: WorkerView, clock: str = BOOT, restarted_ns: int = 0) -> WorkloadView:
    return WorkloadView(hub(), workers, Steady(clock, passed), restarted_ns)


@pytest.mark.parametrize(
    ("passed", "wall", "want"),
    [
        pytest.param(0, 0, T, id="just begun"),
        pytest.param(MINUTE, MINUTE, T - MINUTE, id="a minute old"),
        pytest.param(MINUTE, 60 * MINUTE, T - MINUTE, id="the wall clock was set forward"),
        pytest.param(MINUTE, -60 * MINUTE, T - MINUTE, id="the wall clock was set back"),
        pytest.param(T, 0, 0, id="over"),
    ],
)
def test_F6_a_window_is_measured_with_the_steady_clock(passed: int, wall: int, want: int) -> None:
    assert remaining(BEGAN, after(passed), NOW + wall, SETTINGS) == want


@pytest.mark.parametrize(
    ("opening", "view", "wall", "want"),
    [
        pytest.param(BEGAN, after(MINUTE), MINUTE, False, id="clocks agree"),
        pytest.param(BEGAN, after(MINUTE), MINUTE + SECOND, False, id="by a second"),
        pytest.param(BEGAN, after(MINUTE), MINUTE + SECOND + 1, True, id="set forward"),
        pytest.param(BEGAN, after(MINUTE), MINUTE - SECOND - 1, True, id="set back"),
        pytest.param(BEGAN, after(T), 0, False, id="over, whatever the wall clock says"),
        pytest.param(BEGAN, after(MINUTE, clock="another"), MINUTE, True, id="another machine"),
        pytest.param(replace(BEGAN, steady=None), after(MINUTE), MINUTE, True, id="a record of the version before"),
        pytest.param(replace(BEGAN, steady=Steady(BOOT, T)), after(MINUTE), MINUTE, True, id="a reading of the future"),
        pytest.param(BEGAN, after(T + 1, restarted_ns=MINUTE), T + 1, True, id="the hub was restored meanwhile"),
        pytest.param(BEGAN, after(2 * T, restarted_ns=T + 1), 2 * T, False, id="the hub was restored afterwards"),
    ],
)
def test_F6_a_window_that_cannot_be_measured_begins_again(
    opening: Opening, view: WorkloadView, wall: int, want: bool
) -> None:
    assert must_begin_again(opening, view, NOW + wall, SETTINGS) is want


UNSEEN = replace(BEGAN, took_effect=False, based_on="3")
LONGEST = T // 2 + 10 * SECOND + MINUTE


@pytest.mark.parametrize(
    ("holder", "late"),
    [
        pytest.param(
            worker("w1", signalled("w1", at=NOW)), LONGEST + SILENCE_NS - T, id="nothing has changed, for all one hears"
        ),
        pytest.param(
            worker("w1", signalled("w1", at=NOW), tried_ns=9 * SECOND), 0, id="nothing has changed since long"
        ),
        pytest.param(
            worker("w1", replace(signalled("w1", at=NOW), resource_version="8")), LONGEST, id="closed, perhaps again"
        ),
        pytest.param(worker("w1", signalled("w1", at=NOW), reach=Reach.LOST), LONGEST, id="out of reach"),
        pytest.param(worker("w1", replica("w1", uid="other")), LONGEST, id="its replica was made again"),
        pytest.param(worker("w1"), LONGEST, id="its replica is gone"),
        pytest.param(worker("w1", tried_ns=0, reach=Reach.LOST), 0, id="what was tried cannot have arrived"),
        pytest.param(worker("w1", tried_ns=9 * SECOND, reach=Reach.LOST), 9 * SECOND + MINUTE, id="it may have"),
    ],
)
def test_F7_an_opening_that_was_not_seen_to_arrive_counts_from_the_latest_moment_at_which_it_may_have(
    holder: WorkerView, late: int
) -> None:
    assert remaining(UNSEEN, after(T, holder), NOW + T, SETTINGS) == late


def test_F7_a_watch_that_fell_silent_does_not_shorten_a_window() -> None:
    """Its worker may have carried out the request a minute later, and what is known of it is from before."""
    short, holder = replace(SETTINGS, timeout_ns=30 * SECOND), worker("w1", signalled("w1", at=NOW), tried_ns=SECOND)
    assert remaining(UNSEEN, after(MINUTE, holder), NOW + MINUTE, short) == SECOND + 30 * SECOND


def test_F7_silence_is_measured_as_the_client_measures_it() -> None:
    assert ReflectorLimits().liveness_seconds * SECOND == SILENCE_NS


def test_F6_the_record_is_read_back_as_it_was_written() -> None:
    openings = (
        BEGAN,
        Opening(W2, ReplicaUID(""), NOW),
        replace(UNSEEN, nudges=2, nudged=Steady(BOOT, 7), turn=Steady(BOOT, 3), sent_within_ns=9),
    )
    assert parse_openings(format_openings(openings)) == openings


def test_F6_the_version_before_reads_what_it_knows_of_the_record() -> None:
    assert '"cluster":"w1","replicaUID":"w1-uid","openedAtUnixNano":"' in format_openings((BEGAN,))


EARLIER = replace(BEGAN, steady=Steady(BOOT, 5))
LATER = replace(BEGAN, steady=Steady(BOOT, 6))


@pytest.mark.parametrize(
    ("record", "want"),
    [
        pytest.param((EARLIER,), (), id="there"),
        pytest.param((), (EARLIER,), id="struck out"),
        pytest.param((BEGAN,), (EARLIER,), id="dated back"),
        pytest.param((LATER,), (), id="begun again"),
        pytest.param((replace(EARLIER, attempt="another"),), (EARLIER,), id="given to another attempt"),
        pytest.param((replace(EARLIER, replica_uid=ReplicaUID("another")),), (EARLIER,), id="given to another replica"),
        pytest.param((replace(EARLIER, steady=None),), (EARLIER,), id="without its reading"),
    ],
)
def test_F6_what_is_missing_from_the_record(record: tuple[Opening, ...], want: tuple[Opening, ...]) -> None:
    assert lost((EARLIER,), record) == want


def test_F13_a_worker_that_opens_its_own_gate_again_and_again_gets_three_windows_by_that() -> None:
    state = WorkloadView(
        hub(nominated=("w1", "w2")), (worker("w1"), worker("w2", signalled("w2", at=NOW))), Steady(BOOT, 0)
    )
    starts = []
    for number in range(1, 7):
        passed = number * MINUTE
        copy = replica(f"w1-{number}", gate_open=True, gate_opened_ns=NOW + passed, signal_ns=NOW)
        state = replace(state, workers=(worker("w1", copy), state.workers[1]), steady=Steady(BOOT, passed))
        decision = decide(state, NOW + passed, SETTINGS, {})
        assert decision.rule == Rule.OPENING_OBSERVED
        (record,) = (action for action in decision.actions if isinstance(action, RecordOpenings))
        state = replace(state, workload=replace(state.workload, openings=record.openings))
        (opening,) = record.openings
        assert opening.steady is not None
        starts.append(opening.steady.at_ns // MINUTE)
    assert starts == [1, 2, 3, 3, 3, 3]


def test_F6_a_gate_that_is_opened_again_after_its_window_counts_again() -> None:
    ours = replace(BEGAN, entry_ns=NOW)
    again = worker("w1", opened("w1", at=NOW + T))
    state = WorkloadView(hub(openings=(ours,)), (again, worker("w2", signalled("w2", at=NOW))), Steady(BOOT, T))
    assert decide(state, NOW + T, SETTINGS, {}).rule == Rule.OPENING_OBSERVED
    ours_still = replace(state, workers=(worker("w1", opened("w1", at=NOW)), state.workers[1]))
    assert decide(ours_still, NOW + T, SETTINGS, {}).rule == Rule.GATE_OPENED


def test_F7_of_two_windows_the_one_that_ends_last_counts() -> None:
    by_hand = Opening(
        W2, ReplicaUID("w2-uid"), NOW + SECOND, ATTEMPT, Steady(BOOT, SECOND), took_effect=True, by_others=1
    )
    passed = T + 2 * SECOND
    workers = (
        worker("w1", reach=Reach.LOST),
        worker("w2", opened("w2", at=NOW + SECOND)),
        worker("w3", signalled("w3", at=NOW)),
    )
    state = WorkloadView(hub(openings=(UNSEEN, by_hand)), workers, Steady(BOOT, passed))
    waits = next_gate(state, NOW + passed, SETTINGS)
    assert isinstance(waits, Wait)
    assert (waits.holder.cluster, waits.remaining_ns) == ("w1", LONGEST - 2 * SECOND)


def test_F7_a_copy_that_may_still_be_made_is_not_over_with_its_attempt() -> None:
    asked_for = Opening(W1, ReplicaUID(""), NOW, "an earlier attempt", Steady(BOOT, 0))
    for tried, took_effect, want in (
        (None, False, True),
        (SECOND, False, True),
        (0, False, False),
        (None, True, False),
    ):
        opening = replace(asked_for, took_effect=took_effect)
        state = WorkloadView(hub(openings=(opening,)), (worker("w1", tried_ns=tried),), Steady(BOOT, 2 * SECOND))
        assert bool(standing_openings(state)) is want


def test_F7_a_timeout_that_is_made_shorter_does_not_shorten_what_was_sent_under_the_longer_one() -> None:
    sent = replace(UNSEEN, sent_within_ns=T // 2)
    shorter = replace(SETTINGS, timeout_ns=30 * SECOND)
    away = worker("w1", reach=Reach.LOST)
    assert remaining(sent, after(0, away), NOW, shorter) == LONGEST + 30 * SECOND
    assert last_call(sent, shorter) == T // 2


@pytest.mark.parametrize("timeout", [SECOND, 30 * SECOND])
def test_F7_an_api_server_has_its_whole_minute_under_short_timeouts_too(timeout: int) -> None:
    gave_up = worker("w1", reach=Reach.LOST, tried_ns=9 * SECOND)
    short = replace(SETTINGS, timeout_ns=timeout)
    assert remaining(UNSEEN, after(0, gave_up), NOW, short) == timeout + 9 * SECOND + MINUTE


def test_F13_an_effect_that_is_shown_later_than_it_can_have_happened_makes_the_window_no_longer() -> None:
    shown = T + LONGEST - SECOND
    holder = worker("w1", opened("w1", at=NOW), effect_ns=shown)
    state = WorkloadView(hub(openings=(replace(UNSEEN, entry_ns=NOW),)), (holder,), Steady(BOOT, shown))
    decision = decide(state, NOW + shown, SETTINGS, {})
    assert decision.rule == Rule.OPENING_TOOK_EFFECT
    (record,) = (action for action in decision.actions if isinstance(action, RecordOpenings))
    assert record.openings[0].steady == Steady(BOOT, LONGEST)


@pytest.mark.parametrize(
    ("took", "want"),
    [
        pytest.param(0, 5, id="handled at once"),
        pytest.param(2, 5, id="handled soon"),
        pytest.param(7, 14, id="a slow one gets twice the time that it took"),
        pytest.param(3600, 20, id="waiting in a queue looks like slowness, so there is a limit"),
        pytest.param(-9, 5, id="times that cannot be"),
    ],
)
def test_missed_a_kueue_that_is_slow_gets_longer_to_look_by_itself(took: int, want: int) -> None:
    gated = condition(
        "QuotaReserved",
        at=NOW + took * SECOND,
        status="False",
        reason="Pending",
        message="Workload requires preemption, but it's gated",
    )
    copy = opened("w1", at=NOW, created_ns=NOW, conditions=conditions(gated))
    found = missed_opening(BEGAN, after(0, worker("w1", copy)), NOW, SETTINGS)
    assert found is not None
    assert found.due_ns == want * SECOND
