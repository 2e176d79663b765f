"""Waits for a blocking call without keeping the screen from being drawn, nor the process from ending."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

Answer = TypeVar("Answer")


async def off_loop(call: Callable[[], Answer]) -> Answer:
    """Return what a call returns. Its thread ends with the process: a daemon that does not answer delays no quit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def run() -> None:
        try:
            tell = partial(_succeed, future, call())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            tell = partial(_fail, future, error)
        with suppress(RuntimeError):  # the loop is closed: the view has ended
            loop.call_soon_threadsafe(tell)

    threading.Thread(target=run, daemon=True).start()
    return await future


def _succeed(future: asyncio.Future[Answer], answer: Answer) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Answer], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
