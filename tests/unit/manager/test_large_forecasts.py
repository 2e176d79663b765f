"""Forecasts that take more steps than a look has: where each is made, for how long it stands, and what is too large."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.observed import ObservedCluster
from engine.vocabulary.effort import Effort
from manager.models.large_forecasts import LOOK_STEPS, MOST_STEPS, LargeForecasts
from manager.process.background import Background
from manager.process.worker_thread import WorkerThread
from tests.support.virtual_time import VirtualClock, until

A, B = ObjectKey("team", "a"), ObjectKey("team", "b")
SUBJECT = ("uid", b"spec")


@dataclass
class Asked:
    """A question that takes so many steps; notes in which thread it is answered."""

    steps: int
    threads: list[str] = field(default_factory=list)

    def __call__(self, _cluster: ObservedCluster, effort: Effort) -> tuple[Forecast, None]:
        self.threads.append(threading.current_thread().name)
        effort.spend(self.steps)
        return Forecast(ForecastVerdict.FITS, 0), None


@dataclass
class Bench:
    clock: VirtualClock
    background: Background
    large: LargeForecasts
    made: list[ObjectKey]

    async def ask(self, question: Asked, spent: int = LOOK_STEPS, subject: object = SUBJECT) -> Forecast:
        """Ask, wait, and return the answer."""
        self.large.ask(A, subject, question, self.clock.now_ns(), spent=spent)
        await until(lambda: self.background.is_idle)
        found = self.large.standing(A, subject)
        assert found is not None
        return found.forecast


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    clock, made = VirtualClock(), list[ObjectKey]()
    background = Background("w1", WorkerThread("forecasts"), clock)
    task = asyncio.create_task(background.run())
    yield Bench(clock, background, LargeForecasts(ObservedCluster(), background, clock, made.append), made)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_S1_what_only_lacked_the_rest_of_a_look_is_made_on_the_loop() -> None:
    async with bench() as made:
        question = Asked(LOOK_STEPS)
        assert (await made.ask(question, spent=7)).verdict is ForecastVerdict.FITS
        assert question.threads == ["MainThread"]
        assert not made.large.is_large(A, SUBJECT)
        assert made.made == [A]


async def test_S1_what_takes_more_than_a_look_is_made_in_the_thread() -> None:
    async with bench() as made:
        question = Asked(LOOK_STEPS + 1)
        assert (await made.ask(question)).verdict is ForecastVerdict.FITS
        assert question.threads == ["forecasts_0"]
        assert made.large.is_large(A, SUBJECT), "it is not tried on the loop again"


async def test_S1_what_takes_more_than_the_thread_may_is_too_large_and_stands_for_minutes() -> None:
    async with bench() as made:
        question = Asked(MOST_STEPS + 1)
        found = await made.ask(question)
        why = f"too large to forecast: too many possibilities: given up after {MOST_STEPS} steps"
        assert (found.verdict, found.message) == (ForecastVerdict.UNSUPPORTED, why)
        await made.clock.advance(299)
        assert made.large.standing(A, SUBJECT) is not None
        await made.clock.advance(2)
        assert made.large.standing(A, SUBJECT) is None


async def test_S1_an_answer_stands_longer_the_more_it_took_and_is_used_until_there_is_another() -> None:
    async with bench() as made:
        await made.ask(Asked(LOOK_STEPS + 1))
        await made.clock.advance(10)
        assert made.large.standing(A, SUBJECT) is not None
        await made.clock.advance(1)
        assert made.large.standing(A, SUBJECT) is None
        assert made.large.last(A, SUBJECT) is not None
        await made.clock.advance(50)
        assert made.large.last(A, SUBJECT) is None
        await made.ask(Asked(MOST_STEPS))
        await made.clock.advance(10 + MOST_STEPS / 50_000)
        assert made.large.standing(A, SUBJECT) is not None


async def test_S1_an_answer_is_about_what_was_asked_for() -> None:
    async with bench() as made:
        await made.ask(Asked(LOOK_STEPS + 1))
        assert made.large.last(A, ("uid", b"other spec")) is None
        assert made.large.last(B, SUBJECT) is None


async def test_S1_a_workload_that_is_forgotten_meanwhile_leaves_nothing() -> None:
    async with bench() as made:
        made.large.ask(A, SUBJECT, Asked(LOOK_STEPS + 1), 0, spent=LOOK_STEPS)
        assert made.large.wait_ns(A) == 10 * 10**9
        made.large.forget(A)
        assert made.large.wait_ns(A) == 0
        await until(lambda: made.background.is_idle)
        assert made.large.last(A, SUBJECT) is None
        assert made.made == [], "it is not reconciled for this, to ask again"


async def test_S1_waiting_is_bounded_and_so_is_what_waits() -> None:
    async with bench() as made:
        keys = [ObjectKey("team", f"w{number}") for number in range(20)]
        for key in keys:
            made.large.ask(key, SUBJECT, Asked(LOOK_STEPS + 1), 0, spent=LOOK_STEPS)
        assert [made.large.wait_ns(key) > 0 for key in keys] == [True] * 16 + [False] * 4
        await made.clock.advance(4)
        await until(lambda: made.background.is_idle)
        assert set(made.made) == set(keys), "those that found no place are told when there is one"


async def test_S1_a_mistake_is_an_answer_and_is_not_made_for_ever() -> None:
    def wrong(_cluster: ObservedCluster, _effort: Effort) -> tuple[Forecast, None]:
        raise LookupError("no such flavor")

    async with bench() as made:
        made.large.ask(A, SUBJECT, wrong, 0, spent=LOOK_STEPS)
        await until(lambda: made.background.is_idle)
        await made.clock.advance(200)
        found = made.large.standing(A, SUBJECT)
        assert found is not None
        assert (found.forecast.verdict, found.forecast.message) == (
            ForecastVerdict.UNSUPPORTED,
            "LookupError: no such flavor",
        )
