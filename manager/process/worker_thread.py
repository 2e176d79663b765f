"""A thread for long work on values that nothing else changes: what the loop must not do in one piece.

The loop goes on meanwhile: Python lets it run again within milliseconds, and `Work.step` right away. Work without
a waiting caller ends at its next step.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class AbandonedError(Exception):
    """No caller waits for this work any longer."""


class Work(Protocol):
    """What long work reports while it goes on."""

    def step(self) -> None:
        """Let others go on; raises `AbandonedError` when no caller waits any longer."""
        ...


class _Abandonable:
    def __init__(self) -> None:
        self.is_abandoned = Event()

    def step(self) -> None:
        if self.is_abandoned.is_set():
            raise AbandonedError
        time.sleep(0)  # gives the interpreter away


class WorkerThread:
    """One thread, and the callers that wait for it."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(1, name)

    async def run(self, call: Callable[[Work], Result]) -> Result:
        """Return what the call returns; being cancelled abandons it."""
        work = _Abandonable()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, work)
        finally:
            work.is_abandoned.set()
