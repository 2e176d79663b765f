"""Files that hang: what needs the same place waits, other work does not."""

import asyncio
from collections.abc import Iterator
from threading import Event, active_count

import pytest

from workerclient.transport.file_threads import in_file_thread


@pytest.fixture
def mount() -> Iterator[Event]:
    """What is read there hangs until the event is set."""
    comes_back = Event()
    yield comes_back
    comes_back.set()


async def test_what_a_call_returns_or_raises_is_told() -> None:
    assert await in_file_thread("a", max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        await in_file_thread("a", divmod, 1, 0)


async def test_F1_a_place_that_hangs_takes_one_thread_and_keeps_no_other_from_being_read(mount: Event) -> None:
    before = active_count()
    for _ in range(10):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_file_thread("hung", mount.wait), 0.01)
    assert active_count() == before + 1
    assert await in_file_thread("good", max, 1, 2) == 2


async def test_F1_places_that_hang_do_not_use_up_the_threads(mount: Event) -> None:
    hung = [asyncio.create_task(in_file_thread(f"hung {n}", mount.wait)) for n in range(4)]
    assert await asyncio.wait_for(in_file_thread("good", max, 1, 2), 30) == 2
    mount.set()
    assert all(await asyncio.gather(*hung))


async def test_F1_a_place_that_hung_is_read_again_when_it_comes_back(mount: Event) -> None:
    first = asyncio.create_task(in_file_thread("hung", mount.wait))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(in_file_thread("hung", max, 1, 2))
    await asyncio.sleep(0)
    assert not second.done()
    mount.set()
    assert await second == 2
