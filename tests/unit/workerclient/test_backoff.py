"""One back-off: its parts with a chosen chance, its loop on a virtual clock, and its bounds whatever chance does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.virtual_time import EagerClock
from workerclient.base.backoff import (
    AtMost,
    Backoff,
    ByError,
    Failures,
    LongestOf,
    Retry,
    RetryAfter,
    retry_loop,
)
from workerclient.base.errors import ClusterError, Conflict, Operation, Throttled, Unavailable

OPERATION = Operation("w1", "patch", "workloads")


def certain() -> float:
    return 1.0


def never() -> float:
    return 0.0


def waits(failures: Failures, times: int, error: ClusterError | None = None) -> list[float]:
    return [failures.next_wait(error) for _ in range(times)]


def test_waits_double_up_to_the_cap_and_the_jitter_takes_any_part_of_them() -> None:
    assert waits(Failures("a", Backoff(certain)), 9) == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]
    assert waits(Failures("a", Backoff(lambda: 0.5)), 3) == [0.125, 0.25, 0.5]
    assert waits(Failures("a", Backoff(never)), 3) == [0.0, 0.0, 0.0]


def test_a_part_of_the_bound_can_be_certain() -> None:
    assert waits(Failures("a", Backoff(never, 2.0, 5.0, least=0.5)), 3) == [1.0, 2.0, 2.5]


def test_a_success_makes_the_next_failure_a_first_one() -> None:
    failures = Failures("a", Backoff(certain))
    waits(failures, 5)
    failures.reset()
    assert failures.next_wait() == 0.25


def test_a_cluster_may_ask_for_more_but_not_for_more_than_the_limit() -> None:
    wait = LongestOf(RetryAfter(60.0), Backoff(certain))
    assert waits(Failures("a", wait), 1, Throttled(OPERATION, "", retry_after=7)) == [7.0]
    assert waits(Failures("a", wait), 1, Throttled(OPERATION, "", retry_after=3600)) == [60.0]
    assert waits(Failures("a", wait), 1, Unavailable(OPERATION, "")) == [0.25]
    assert waits(Failures("a", wait), 1) == [0.25]


def test_waits_can_be_added_and_cut() -> None:
    wait = AtMost(5.0, RetryAfter(5.0) + Backoff(certain, 1.0))
    assert waits(Failures("a", wait), 3, Throttled(OPERATION, "", retry_after=2)) == [3.0, 4.0, 5.0]


def test_the_error_may_choose_the_wait() -> None:
    slow, fast = Backoff(certain, 10.0), Backoff(certain, 1.0)
    failures = Failures("a", ByError(lambda error: fast if isinstance(error, Conflict) else slow))
    assert failures.next_wait(Conflict(OPERATION, "")) == 1.0
    assert failures.next_wait(Unavailable(OPERATION, "")) == 20.0
    assert failures.next_wait() == 30.0


def test_every_failure_is_told_with_its_wait() -> None:
    told: list[Retry] = []
    failures = Failures("watch", Backoff(certain), told.append, "w1")
    error = Unavailable(OPERATION, "")
    failures.next_wait(error)
    failures.next_wait()
    assert told == [Retry("watch", "w1", 1, 0.25, error), Retry("watch", "w1", 2, 0.5, None)]


async def test_a_loop_waits_longer_each_time_and_returns_what_comes_in_the_end() -> None:
    clock, told, left = EagerClock(), list[Retry](), [Unavailable(OPERATION, str(n)) for n in range(4)]

    async def work() -> str:
        if left:
            raise left.pop(0)
        return "done"

    loop = retry_loop("work", clock.sleep, Backoff(certain, 1.0), lambda _: True, on_retry=told.append, subject="w1")
    assert await loop(work) == "done"
    assert clock.slept == [1.0, 2.0, 4.0, 8.0]
    assert [(retry.operation, retry.subject, retry.failures, retry.seconds) for retry in told] == [
        ("work", "w1", 1, 1.0),
        ("work", "w1", 2, 2.0),
        ("work", "w1", 3, 4.0),
        ("work", "w1", 4, 8.0),
    ]
    assert [str(retry.error).rpartition(": ")[2] for retry in told] == ["0", "1", "2", "3"]
    left.append(Unavailable(OPERATION, "later"))
    await loop(work)
    assert clock.slept[4:] == [1.0], "each call counts its own failures"


async def test_a_loop_ends_with_the_last_error_when_nothing_helps_or_it_is_over() -> None:
    clock, tried = EagerClock(), list[float]()

    async def work() -> None:
        tried.append(clock.monotonic())
        raise Unavailable(OPERATION, f"number {len(tried)}")

    with pytest.raises(Unavailable, match="number 3"):
        await retry_loop("work", clock.sleep, Backoff(certain, 1.0), lambda _: True, attempts=3)(work)
    with pytest.raises(Unavailable, match="number 4"):
        await retry_loop("work", clock.sleep, Backoff(certain), lambda error: isinstance(error, Conflict))(work)
    over_at = clock.monotonic() + 3.0
    loop = retry_loop(
        "work", clock.sleep, Backoff(certain, 1.0), lambda _: True, is_over=lambda: clock.monotonic() >= over_at
    )
    with pytest.raises(Unavailable, match="number 7"):
        await loop(work)


@given(
    first=st.floats(0.001, 100.0),
    factor=st.floats(1.0, 1000.0),
    least=st.floats(0.0, 1.0),
    chance=st.floats(0.0, 1.0, exclude_max=True),
    times=st.integers(1, 200),
)
def test_waits_stay_within_their_bounds(first: float, factor: float, least: float, chance: float, times: int) -> None:
    cap = first * factor
    found = waits(Failures("a", Backoff(lambda: chance, first, cap, least=least)), times)
    assert all(0.0 <= wait <= cap * (1 + 1e-9) for wait in found)
    assert found[0] <= first * (1 + 1e-9)
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(found))
    assert all(wait >= least * first * (1 - 1e-9) for wait in found)


def test_a_million_failures_still_wait_for_the_cap() -> None:
    failures = Failures("a", Backoff(certain))
    failures.count = 1_000_000
    assert failures.next_wait() == 30.0
