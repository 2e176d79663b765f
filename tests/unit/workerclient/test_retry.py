"""Only what may help and does no harm is tried again, and the server's wish to wait is obeyed."""

from dataclasses import dataclass

import pytest

from tests.support.virtual_time import EagerClock, VirtualClock
from workerclient.base.backoff import Backoff, Retry
from workerclient.base.errors import (
    CircuitOpen,
    ClusterError,
    Conflict,
    Operation,
    ProtocolViolation,
    Throttled,
    TimedOut,
    Unavailable,
)
from workerclient.transport.retry import RetryLimits, RetryPolicy

OPERATION = Operation("w1", "patch", "workloads")


class Server:
    """Fails with the given errors in turn, then answers."""

    def __init__(self, *errors: ClusterError) -> None:
        self.errors = list(errors)
        self.asked = 0

    async def answer(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def policy(clock: VirtualClock) -> RetryPolicy:
    return RetryPolicy(
        clock, Backoff(lambda: 1.0, first_seconds=1.0), RetryLimits(attempts=4, longest_wait_seconds=5.0)
    )


@dataclass(frozen=True)
class Case:
    error: ClusterError
    repeatable: bool
    want_retry: bool


CASES = {
    "a lost connection of a repeatable request": Case(
        Unavailable(OPERATION, "", executed=True), repeatable=True, want_retry=True
    ),
    "a lost connection of a create": Case(
        Unavailable(OPERATION, "", executed=True), repeatable=False, want_retry=False
    ),
    "a create that was never sent": Case(Unavailable(OPERATION, ""), repeatable=False, want_retry=True),
    "a throttled create": Case(Throttled(OPERATION, "", retry_after=1), repeatable=False, want_retry=True),
    "a throttled request with a wait beyond ours": Case(
        Throttled(OPERATION, "", retry_after=6), repeatable=True, want_retry=False
    ),
    "a timeout of a repeatable request": Case(TimedOut(OPERATION, "", executed=True), repeatable=True, want_retry=True),
    "a timeout of a create": Case(TimedOut(OPERATION, "", executed=True), repeatable=False, want_retry=False),
    "an open breaker": Case(CircuitOpen(OPERATION, "", retry_after=1), repeatable=True, want_retry=False),
    "a conflict": Case(Conflict(OPERATION, ""), repeatable=True, want_retry=False),
    "garbage": Case(ProtocolViolation(OPERATION, ""), repeatable=True, want_retry=False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_what_is_tried_again(case: Case) -> None:
    server = Server(case.error)
    if case.want_retry:
        assert await policy(EagerClock()).call(server.answer, repeatable=case.repeatable) == "answer"
        assert server.asked == 2
    else:
        with pytest.raises(type(case.error)):
            await policy(EagerClock()).call(server.answer, repeatable=case.repeatable)
        assert server.asked == 1


async def test_waits_grow_and_end_with_the_last_error() -> None:
    clock = EagerClock()
    server = Server(*(Unavailable(OPERATION, f"number {number}") for number in range(9)))
    with pytest.raises(Unavailable, match="number 3"):
        await policy(clock).call(server.answer, repeatable=True)
    assert server.asked == 4
    assert clock.slept == [1.0, 2.0, 4.0]


async def test_the_servers_wish_comes_on_top_of_the_jitter() -> None:
    clock = EagerClock()
    await policy(clock).call(Server(Throttled(OPERATION, "", retry_after=3)).answer, repeatable=False)
    assert clock.slept == [4.0]


async def test_an_error_of_another_kind_ends_the_attempts() -> None:
    server = Server(Unavailable(OPERATION, ""), Unavailable(OPERATION, ""), Conflict(OPERATION, ""))
    with pytest.raises(Conflict):
        await policy(EagerClock()).call(server.answer, repeatable=True)
    assert server.asked == 3


@pytest.mark.parametrize("executed", [True, False])
async def test_F7_the_last_error_knows_whether_any_try_may_have_been_carried_out(executed: bool) -> None:
    server = Server(Unavailable(OPERATION, "", executed=executed), Unavailable(OPERATION, ""), Conflict(OPERATION, ""))
    with pytest.raises(Conflict) as caught:
        await policy(EagerClock()).call(server.answer, repeatable=True)
    assert caught.value.may_have_been_executed is executed


async def test_every_retry_is_told_the_first_attempt_included() -> None:
    told: list[Retry] = []
    server = Server(Unavailable(OPERATION, "a"), Unavailable(OPERATION, "b"))
    limits = RetryLimits(attempts=4, longest_wait_seconds=5.0)
    await RetryPolicy(EagerClock(), Backoff(lambda: 1.0, 1.0), limits, told.append).call(server.answer, repeatable=True)
    assert [(retry.operation, retry.subject, retry.failures, retry.seconds) for retry in told] == [
        ("request", "w1", 1, 1.0),
        ("request", "w1", 2, 2.0),
    ]


async def test_what_is_not_tried_again_is_not_told() -> None:
    told: list[Retry] = []
    policy = RetryPolicy(EagerClock(), Backoff(lambda: 1.0), RetryLimits(attempts=2), told.append)
    with pytest.raises(CircuitOpen):
        await policy.call(Server(CircuitOpen(OPERATION, "", retry_after=1)).answer, repeatable=True)
    assert told == []
    with pytest.raises(Unavailable):
        await policy.call(Server(*[Unavailable(OPERATION, "")] * 9).answer, repeatable=True)
    assert len(told) == 1, "the last failure is not followed by another attempt"
