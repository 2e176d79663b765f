"""How long the event loop is held."""

import asyncio

from manager.process.loop_watch import LOOK_SECONDS, LoopWatch
from tests.support.virtual_time import VirtualClock, let_run


class HeldClock(VirtualClock):
    """The clock of a loop that is held now and then: sleeps last longer than they should."""

    def __init__(self, *holds: float) -> None:
        super().__init__()
        self._holds = list(holds)
        self._at = 0.0

    def monotonic(self) -> float:
        return self._at

    async def sleep(self, seconds: float) -> None:
        if not self._holds:
            await asyncio.Event().wait()
        self._at += seconds + self._holds.pop(0)


async def test_a_hold_of_the_loop_is_told() -> None:
    told: list[float] = []
    watching = asyncio.create_task(LoopWatch(HeldClock(0.0, 0.3, 0.0), told.append).run())
    await let_run()
    watching.cancel()
    assert [round(each, 6) for each in told] == [0.0, 0.3, 0.0]
    assert LOOK_SECONDS <= 0.05
