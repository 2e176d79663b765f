"""News of a worker that comes and goes all the time are put off, those of others are not."""

from manager.reconcile.flapping import BURST, PAUSE_SECONDS, Flapping
from tests.support.virtual_time import VirtualClock
from tests.support.worker_names import W1, W2


async def test_F12_news_come_at_once_until_there_are_too_many() -> None:
    clock = VirtualClock()
    flapping = Flapping(clock)
    assert [flapping.delay(W1) for _ in range(BURST)] == [0.0] * BURST
    assert flapping.delay(W1) == PAUSE_SECONDS
    assert flapping.delay(W2) == 0.0
    await clock.advance(PAUSE_SECONDS / 2)
    assert flapping.delay(W1) == PAUSE_SECONDS / 2
    await clock.advance(PAUSE_SECONDS / 2)
    assert flapping.delay(W1) == 0.0
    assert flapping.delay(W1) == PAUSE_SECONDS


async def test_F12_a_worker_that_is_calm_again_or_added_again_is_heard_at_once() -> None:
    clock = VirtualClock()
    flapping = Flapping(clock)
    for _ in range(2 * BURST):
        flapping.delay(W1)
    await clock.advance(BURST * PAUSE_SECONDS)
    assert [flapping.delay(W1) for _ in range(BURST)] == [0.0] * BURST
    flapping.forget(W1)
    assert flapping.delay(W1) == 0.0
