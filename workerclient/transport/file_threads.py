"""Threads for files: credentials and kubeconfigs, of the hub too.

They are apart from the loop's own, in which names are looked up, and from those that answer questions: neither a slow
resolver nor a reader who asks much keeps a token from being renewed. A file may hang for ever, as one on a mount whose
server is gone does: then only callers that read the same place wait for it.
Invariant: each place has one thread at most, and all that do not hang are few.
"""

import asyncio
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any, Final, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

_AT_ONCE: Final = 4
"""More threads that parse would take turns with the loop all the time."""
_HANGS_SECONDS: Final = 2.0
"""A thread that takes longer waits for its file, and keeps no other from starting."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ThreadRunner(Protocol):
    """Makes a call where it delays no other caller."""

    async def __call__(self, place: Hashable, call: Callable[..., Result], /, *args: Any) -> Result:
        """Return what the call returns; calls about one place are made one after the other."""
        ...


class _Files:
    """The threads of one loop."""

    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(_AT_ONCE)
        self.ends: dict[Hashable, asyncio.Future[None]] = {}
        """When the thread of each place that is being read ends."""


_FILES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Files]] = WeakKeyDictionary()


async def in_file_thread(
    place: Hashable, call: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Return what a call that reads the files of one place returns, made where it delays no other caller."""
    loop = asyncio.get_running_loop()
    files = _FILES.setdefault(loop, _Files())
    while (end := files.ends.get(place)) is not None:
        await asyncio.wait([end])
    end = files.ends[place] = loop.create_future()
    try:
        await files.slots.acquire()
    except BaseException:
        _finish(files, place, end)
        raise
    answer: asyncio.Future[Result] = loop.create_future()
    release = loop.call_later(_HANGS_SECONDS, files.slots.release)

    def finish(tell: Callable[[], None]) -> None:
        _finish(files, place, end)
        if release.when() > loop.time():
            release.cancel()
            files.slots.release()
        if not answer.done():
            tell()

    def work() -> None:
        try:
            tell = partial(answer.set_result, call(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it is passed to the waiting callers
            tell = partial(answer.set_exception, error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(finish, tell)

    Thread(target=work, name="files", daemon=True).start()
    return await answer


def _finish(files: _Files, place: Hashable, end: asyncio.Future[None]) -> None:
    del files.ends[place]
    end.set_result(None)
