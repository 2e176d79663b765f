"""The boundary around everything that is done with one cluster: what one of them provokes, no other notices.

A server may send anything, and its answers are read in many places. An error that escapes all of them ends here: it
is logged and reported, and the work on that cluster begins again, later each time. Cancellation passes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from manager.logging.logs import get_log
from workerclient.base.backoff import Backoff, Failures, Jitter
from workerclient.base.clock import Clock
from workerclient.base.errors import excerpt

Result = TypeVar("Result")

PROBATION_SECONDS: Final = 60.0
"""How long work goes well after a failure before its cluster counts as recovered, and the next failure as a first."""
_FIRST_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """What work on a cluster comes to that failed on something unforeseen."""

    problem: str


async def per_cluster(work: Awaitable[Result], *foreseen: type[Exception]) -> Result | Misunderstood:
    """Return what work on one cluster comes to; only what the caller foresees is raised."""
    try:
        return await work
    except foreseen:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary around one cluster
        return Misunderstood(misunderstanding(error))


def misunderstanding(error: BaseException) -> str:
    """Say what was not understood, in a few words; of several failures at once the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return excerpt(f"cannot be understood: {type(error).__name__}: {error}")


class Supervised(Protocol):
    """Work on one cluster that ends only when it is cancelled, and can be run again when it failed."""

    async def run(self) -> None:
        """Work until cancelled."""
        ...

    def fail(self, problem: str) -> None:
        """Count a failure, and the cluster as lost from when it was lost first until it recovers."""
        ...

    def recover(self) -> None:
        """Take the cluster for what it shows to be."""
        ...


async def supervise(name: str, work: Supervised, clock: Clock, jitter: Jitter, event: str) -> None:
    """Work on a cluster until cancelled, again after each failure, which is logged as `event`."""
    failures = Failures("restart", Backoff(jitter, _FIRST_SECONDS, _LONGEST_SECONDS))

    def report(error: BaseException, seconds: float) -> str:
        problem = misunderstanding(error)
        get_log().error(event, cluster=name, problem=problem, retry_seconds=seconds, exc_info=error)
        return problem

    def notify(news: Callable[[], None]) -> None:
        try:
            news()
        except Exception as error:  # noqa: BLE001 - those who hear of a failure are within the boundary too
            report(error, 0.0)

    async def recover_in_time() -> None:
        if failures.count:
            await clock.sleep(PROBATION_SECONDS)
            failures.reset()
            notify(work.recover)

    while True:
        error = await _failure_of(work.run(), recover_in_time())
        seconds = _FIRST_SECONDS + failures.next_wait(error)
        notify(partial(work.fail, report(error, seconds)))
        await clock.sleep(seconds)


async def _failure_of(work: Coroutine[Any, Any, None], beside: Coroutine[Any, Any, None]) -> BaseException:
    """Return what ended the work; when this is cancelled, the work has ended too, and what is done beside it.

    The work has a task of its own: a task group that fails while it is cancelled would report the failure alone.
    """
    task, other = asyncio.create_task(work), asyncio.create_task(beside)
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
        other.cancel()
        await asyncio.wait([task, other])
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return error or RuntimeError("it ended by itself")
