"""What escapes the work on one cluster: told, counted, and begun again; never twice at once, and never for good."""

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from manager.process.supervision import PROBATION_SECONDS, Misunderstood, misunderstanding, per_cluster, supervise
from tests.support.virtual_time import VirtualClock, let_run
from workerclient.base.errors import NotServed, Operation

LONGEST_PAUSE = 122.0


@dataclass
class Work:
    """Fails as often as it is told to, each time after a while."""

    clock: VirtualClock
    failures: list[Exception | None]
    lasts: float = 0.0
    runs: int = 0
    running: int = 0
    told: list[str] = field(default_factory=list)

    async def run(self) -> None:
        self.runs += 1
        self.running += 1
        try:
            await self.clock.sleep(self.lasts)
            if not self.failures:
                await asyncio.get_running_loop().create_future()
            failure = self.failures.pop(0)
            if failure is not None:
                raise failure
        finally:
            self.running -= 1

    def fail(self, problem: str) -> None:
        self.told.append(problem)

    def recover(self) -> None:
        self.told.append("recovered")


async def start(work: Work) -> asyncio.Task[None]:
    task = asyncio.create_task(supervise("w1", work, work.clock, lambda: 1.0, "worker.failed"))
    await let_run()
    return task


async def end(task: asyncio.Task[None], work: Work) -> None:
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert work.running == 0


async def test_F1_work_that_fails_is_told_and_begun_again_after_a_pause() -> None:
    work = Work(VirtualClock(), [AttributeError("odd")])
    task = await start(work)
    await let_run()
    assert work.told == ["cannot be understood: AttributeError: odd"]
    assert work.runs == 1
    await work.clock.advance(LONGEST_PAUSE)
    assert work.runs == 2
    await end(task, work)


async def test_F1_a_cluster_counts_as_recovered_only_after_it_went_well_for_a_while() -> None:
    work = Work(VirtualClock(), [KeyError("a"), KeyError("b")], lasts=PROBATION_SECONDS - 1)
    task = await start(work)
    await work.clock.advance(2 * (PROBATION_SECONDS + LONGEST_PAUSE))
    assert work.told == ["cannot be understood: KeyError: 'a'", "cannot be understood: KeyError: 'b'", "recovered"]
    await end(task, work)


async def test_F1_pauses_grow_and_stay_bounded() -> None:
    clock = VirtualClock()
    work = Work(clock, [ValueError(str(number)) for number in range(20)])
    task = await start(work)
    begun = []
    for _ in range(20):
        runs = work.runs
        begun.append(clock.monotonic())
        while work.runs == runs:
            await clock.advance(0.5)
    pauses = [after - before for before, after in pairwise(begun)]
    assert pauses[0] <= 5
    assert max(pauses) <= LONGEST_PAUSE + 1
    assert sorted(pauses) == pauses
    await end(task, work)


async def test_F1_work_that_ends_by_itself_is_begun_again() -> None:
    work = Work(VirtualClock(), [None])
    task = await start(work)
    await let_run()
    assert work.told == ["cannot be understood: RuntimeError: it ended by itself"]
    await end(task, work)


async def test_F1_those_who_hear_of_a_failure_cannot_end_the_supervision() -> None:
    class Deaf(Work):
        def fail(self, problem: str) -> None:
            super().fail(problem)
            raise LookupError("nothing listens")

    work = Deaf(VirtualClock(), [AttributeError("odd")])
    task = await start(work)
    await work.clock.advance(LONGEST_PAUSE)
    assert work.runs == 2
    await end(task, work)


@pytest.mark.parametrize("seconds", [0.0, 1.0, 30.0], ids=["working", "resting", "on probation"])
async def test_F1_cancellation_ends_it_at_once(seconds: float) -> None:
    work = Work(VirtualClock(), [] if not seconds else [AttributeError("odd")])
    task = await start(work)
    await work.clock.advance(seconds)
    await end(task, work)


async def test_F1_cancellation_ends_work_that_fails_at_the_same_time() -> None:
    class Stubborn(Work):
        async def run(self) -> None:
            try:
                await super().run()
            except asyncio.CancelledError:
                raise ValueError("while it was being cancelled") from None

    work = Stubborn(VirtualClock(), [])
    await end(await start(work), work)


def test_F1_of_failures_at_once_the_first_is_named_in_printable_words() -> None:
    group = ExceptionGroup("many", [ExceptionGroup("inner", [TypeError("a\x1b[2Jb")]), KeyError("x")])
    assert misunderstanding(group) == "cannot be understood: TypeError: a\\x1b[2Jb"


async def test_S6_what_work_on_one_cluster_fails_on_is_its_result() -> None:
    async def fine() -> int:
        return 7

    async def odd() -> int:
        raise AttributeError("odd")

    async def foreseen() -> int:
        raise NotServed(Operation("w1", "get", "jobs"), "no")

    assert await per_cluster(fine()) == 7
    assert await per_cluster(odd()) == Misunderstood("cannot be understood: AttributeError: odd")
    with pytest.raises(NotServed):
        await per_cluster(foreseen(), NotServed)
