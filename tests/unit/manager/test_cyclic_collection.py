"""How often a service looks for cyclic garbage."""

import gc
from collections.abc import Iterator

import pytest

from manager.app.service import run


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)
    gc.unfreeze()


def test_a_service_looks_seldom_and_not_through_what_it_began_with(thresholds: tuple[int, int, int]) -> None:
    seen = []

    async def look() -> None:
        seen.append((gc.get_threshold(), gc.get_freeze_count()))

    run(look())
    [(inside, frozen)] = seen
    assert gc.isenabled()
    assert inside[0] >= 50 * thresholds[0]
    assert frozen > 10_000
