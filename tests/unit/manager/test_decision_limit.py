"""The bound on decisions about one Workload, and how long it rests beyond it."""

import pytest

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.model.actions import Decision, RemoveRemote, Step, SyncJob
from gates.model.rules import Rule
from manager.reconcile.decision_limit import (
    APART_SECONDS,
    MOST_ACTIONS,
    MOST_ACTIONS_PER_WORKER,
    MOST_DECISIONS,
    MOST_PER_WORKER,
    SYNC_APART_SECONDS,
    DecisionLimit,
)
from manager.reconcile.removals import Removals
from tests.support.virtual_time import VirtualClock
from tests.support.worker_names import W1, W2

KEY, OTHER = ObjectKey("ns", "wl"), ObjectKey("ns", "other")
REMOVAL = Decision(Rule.FINISHED_OR_NO_QUOTA, (Step((RemoveRemote(W1),)),))
COPYING = Decision(Rule.WINNER_FOLLOWED, (Step((SyncJob(W1),)),))


def decisions_until_rest(limit: DecisionLimit, workers: int = 0) -> int:
    return next(count for count in range(1, 1000) if limit.is_exceeded(KEY, workers))


async def test_F2_a_workload_has_so_many_decisions_and_some_for_each_worker() -> None:
    assert decisions_until_rest(DecisionLimit(VirtualClock())) == MOST_DECISIONS + 1
    assert decisions_until_rest(DecisionLimit(VirtualClock()), workers=3) == MOST_DECISIONS + 3 * MOST_PER_WORKER + 1


async def test_F2_an_event_ends_the_rest_and_begins_the_count() -> None:
    limit = DecisionLimit(VirtualClock())
    decisions_until_rest(limit)
    assert limit.rest_left(KEY) == 1.0
    assert limit.rest_left(OTHER) == 0.0
    limit.note_event(KEY)
    assert limit.rest_left(KEY) == 0.0
    assert decisions_until_rest(limit) == MOST_DECISIONS + 1


async def test_F2_rests_grow_to_a_minute_and_are_forgotten_in_calm_times() -> None:
    clock = VirtualClock()
    limit = DecisionLimit(clock)
    rests = []
    for _ in range(8):
        decisions_until_rest(limit)
        rests.append(limit.rest_left(KEY))
        await clock.advance(rests[-1])
    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    await clock.advance(5.0)
    assert not limit.is_exceeded(KEY, 0)
    await clock.advance(5.0)
    decisions_until_rest(limit)
    assert limit.rest_left(KEY) == 1.0


async def decided_in(seconds: float, each: float, workers: int) -> int:
    """Return how much is decided by a loop whose rounds take so long."""
    clock, decided = VirtualClock(), 0
    limit = DecisionLimit(clock)
    while clock.monotonic() < seconds:
        if limit.rest_left(KEY) == 0 and not limit.is_exceeded(KEY, workers):
            decided += 1
        await clock.advance(each)
    return decided


@pytest.mark.parametrize("each", [0.05, 0.1, 0.2])
async def test_F2_a_loop_through_a_slow_network_is_a_loop(each: float) -> None:
    """Requests to a cluster far away take a tenth of a second; what only goes round takes that long, too."""
    assert await decided_in(600.0, each, workers=1) < 700


@pytest.mark.parametrize(("each", "workers"), [(1.0, 0), (0.4, 1), (0.1, 5)])
async def test_F2_a_steady_pace_is_no_loop(each: float, workers: int) -> None:
    assert await decided_in(60.0, each, workers) == round(60.0 / each)


def acted_on(limit: DecisionLimit, decision: Decision, times: int = 1000) -> int:
    """Return how often a Workload is acted on before that is put off, with an event before each time."""
    for count in range(1, times):
        limit.note_event(KEY)
        if limit.rest_left(KEY) or limit.is_overacted(KEY, 1, decision):
            return count
    return times


async def test_F2_events_do_not_explain_actions_without_end() -> None:
    clock = VirtualClock()
    limit = DecisionLimit(clock)
    assert acted_on(limit, REMOVAL) == MOST_ACTIONS + MOST_ACTIONS_PER_WORKER + 1
    assert limit.rest_left(KEY) == APART_SECONDS
    limit.note_event(KEY)
    assert limit.rest_left(KEY) == APART_SECONDS
    for _ in range(20):
        await clock.advance(limit.rest_left(KEY))
        assert acted_on(limit, REMOVAL) == 2


async def test_F2_the_status_of_a_busy_job_is_copied_once_a_second() -> None:
    clock = VirtualClock()
    limit = DecisionLimit(clock)
    assert acted_on(limit, COPYING) == 5 * (MOST_ACTIONS + MOST_ACTIONS_PER_WORKER) + 1
    assert limit.rest_left(KEY) == SYNC_APART_SECONDS
    for _ in range(100):
        await clock.advance(1.0)
        assert acted_on(limit, COPYING) == 2


async def test_F2_decisions_to_do_nothing_are_no_actions() -> None:
    assert acted_on(DecisionLimit(VirtualClock()), Decision(Rule.DISPATCHED)) == 1000


async def test_F2_a_decision_is_told_five_times_a_minute() -> None:
    clock = VirtualClock()
    limit = DecisionLimit(clock)
    assert [limit.is_repetition(KEY, REMOVAL) for _ in range(7)] == [False] * 5 + [True] * 2
    assert not limit.is_repetition(KEY, Decision(Rule.DISPATCHED))
    assert not limit.is_repetition(KEY, REMOVAL)
    assert [limit.is_repetition(KEY, REMOVAL) for _ in range(5)][-1]
    await clock.advance(60.0)
    assert not limit.is_repetition(KEY, REMOVAL)


async def test_F2_decisions_without_actions_are_left_to_the_journal() -> None:
    limit = DecisionLimit(VirtualClock())
    assert not any(limit.is_repetition(KEY, Decision(Rule.DISPATCHED)) for _ in range(50))


async def test_F8_the_wait_for_a_loser_counts_from_its_beginning_until_its_job_is_gone() -> None:
    clock = VirtualClock()
    removals = Removals(clock)
    removals.note(KEY, [W1], [])
    await clock.advance(30.0)
    removals.note(KEY, [W1, W2], [])
    removals.note(KEY, [], [W2])  # another row answered for a moment; w1 still has its job
    await clock.advance(10.0)
    assert [removals.tried_ns(KEY, WorkerName(name)) for name in ("w1", "w2")] == [40_000_000_000, 0]
    assert removals.tried_ns(OTHER, W1) == 0
    removals.note(KEY, [], [W1])
    assert removals.tried_ns(KEY, W1) == 0
