"""A cluster that does not answer is left alone, and asked again one request at a time."""

import pytest

from tests.support.virtual_time import VirtualClock
from workerclient.base.backoff import Backoff
from workerclient.base.errors import (
    CircuitOpen,
    ClusterError,
    Conflict,
    InternalFailure,
    Operation,
    TimedOut,
    Unavailable,
)
from workerclient.transport.breaker import Breaker, BreakerState

OPERATION = Operation("w1", "get", "workloads")


def state_of(breaker: Breaker) -> BreakerState:
    return breaker.state


def certain() -> float:
    return 1.0


def attempt(breaker: Breaker, outcome: BaseException | None = None) -> None:
    with breaker.passage(OPERATION):
        if outcome is not None:
            raise outcome


def fail(breaker: Breaker, error: ClusterError) -> None:
    with pytest.raises(type(error)):
        attempt(breaker, error)


def opened(clock: VirtualClock) -> Breaker:
    breaker = Breaker(clock, Backoff(certain, first_seconds=1.0, cap_seconds=4.0), threshold=3)
    for _ in range(3):
        fail(breaker, Unavailable(OPERATION, "refused"))
    return breaker


async def test_it_opens_after_failures_in_a_row_and_says_when_to_come_back() -> None:
    breaker = opened(VirtualClock())
    assert state_of(breaker) is BreakerState.OPEN
    with pytest.raises(CircuitOpen) as caught:
        attempt(breaker)
    assert caught.value.retry_after == 1.0
    assert caught.value.message == "refused (3 requests failed in a row)", "the log names the error"


async def test_a_success_in_between_starts_the_count_again() -> None:
    breaker = Breaker(VirtualClock(), Backoff(certain), threshold=2)
    fail(breaker, TimedOut(OPERATION, "slow"))
    attempt(breaker)
    fail(breaker, TimedOut(OPERATION, "slow"))
    assert state_of(breaker) is BreakerState.CLOSED


@pytest.mark.parametrize("error", [Conflict(OPERATION, "c"), InternalFailure(OPERATION, "webhook")])
async def test_a_proper_answer_is_no_failure_whatever_it_says(error: ClusterError) -> None:
    breaker = Breaker(VirtualClock(), Backoff(certain), threshold=1)
    fail(breaker, error)
    assert state_of(breaker) is BreakerState.CLOSED


async def test_one_probe_passes_at_a_time_and_its_success_closes() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    await clock.advance(1)
    assert state_of(breaker) is BreakerState.HALF_OPEN
    with breaker.passage(OPERATION), pytest.raises(CircuitOpen, match="a probe is in flight"):
        attempt(breaker)
    assert state_of(breaker) is BreakerState.CLOSED


async def test_failed_probes_wait_longer_up_to_the_cap() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    waits = []
    for _ in range(4):
        waits.append(breaker.seconds_until_probe())
        await clock.advance(waits[-1])
        fail(breaker, Unavailable(OPERATION, "refused"))
    assert waits == [1.0, 2.0, 4.0, 4.0]


async def test_failures_of_requests_sent_before_it_opened_do_not_lengthen_the_wait() -> None:
    clock = VirtualClock()
    breaker = Breaker(clock, Backoff(certain, first_seconds=1.0), threshold=1)
    late = [breaker.passage(OPERATION) for _ in range(5)]
    for passage in late:
        passage.__enter__()
    for passage in late:
        error = Unavailable(OPERATION, "refused")
        assert not passage.__exit__(type(error), error, None)
    assert breaker.seconds_until_probe() == 1.0


async def test_a_cancelled_probe_makes_room_for_the_next() -> None:
    clock = VirtualClock()
    breaker = opened(clock)
    await clock.advance(1)
    with pytest.raises(KeyboardInterrupt):
        attempt(breaker, KeyboardInterrupt())
    attempt(breaker)
    assert state_of(breaker) is BreakerState.CLOSED
