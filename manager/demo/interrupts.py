"""Ctrl-C and SIGTERM: end the demo in order, however far it is."""

import asyncio
import signal
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The first signal cancels the demo, or ends the wait for it; further ones cannot disturb the end."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._waiting: asyncio.Event | None = None
        self._task: asyncio.Task[object] | None = None

    @property
    def exit_code(self) -> int:
        """Return what a shell expects of a process that a signal ended."""
        return 128 + (self.received or signal.SIGINT)

    def install(self) -> None:
        """Take the signals over; the current task is the one that is cancelled."""
        self._task = asyncio.current_task()
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)

    async def wait(self) -> None:
        """Wait for a signal as the normal end."""
        self._waiting = asyncio.Event()
        await self._waiting.wait()

    def quit(self) -> None:
        """End as Ctrl-C does."""
        self._on_signal(signal.SIGINT)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._waiting is not None:
            self._waiting.set()
        elif self.received is None and self._task is not None:
            self.received = number
            self._task.cancel()
