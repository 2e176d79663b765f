"""News of a worker that comes and goes all the time are put off, those of others are not."""

from manager.reconcile.flapping import BURST, PAUSE_SECONDS, Flapping
from tests.support.virtual_time import VirtualClock


async def test_F12_news_come_at_once_until_there_are_too_many() -> None:
    clock = VirtualClock()
    flapping = Flapping(clock)
    assert [flapping.delay("w1") for _ in range(BURST)] == [0.0] * BURST
    assert flapping.delay("w1") == PAUSE_SECONDS
    assert flapping.delay("w2") == 0.0
    await clock.advance(PAUSE_SECONDS / 2)
    assert flapping.delay("w1") == PAUSE_SECONDS / 2
    await clock.advance(PAUSE_SECONDS / 2)
    assert flapping.delay("w1") == 0.0
    assert flapping.delay("w1") == PAUSE_SECONDS


async def test_F12_a_worker_that_is_calm_again_or_added_again_is_heard_at_once() -> None:
    clock = VirtualClock()
    flapping = Flapping(clock)
    for _ in range(2 * BURST):
        flapping.delay("w1")
    await clock.advance(BURST * PAUSE_SECONDS)
    assert [flapping.delay("w1") for _ in range(BURST)] == [0.0] * BURST
    flapping.forget("w1")
    assert flapping.delay("w1") == 0.0
