"""Runs the live view: asks the daemon, one question at a time, about what is on the screen.

A failure keeps the last answer there, marked with its age. What is drawn is decided in `panels` and `head`.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final

from textual.app import App
from textual.binding import Binding, BindingType

from config.api.meta import NANOSECONDS, parse_time
from config.types.syntax import printable
from manager.cli.conventions.daemon import BusyError
from manager.cli.conventions.errors import CommandError
from manager.cli.conventions.exits import Exit
from manager.cli.top.details import DetailsScreen
from manager.cli.top.fleet_screen import FleetScreen, FleetState
from manager.cli.top.head import HELP
from manager.cli.top.pacing import RefreshPace
from manager.cli.top.panels import WORKERS
from manager.cli.top.source import FleetAnswer, FleetQuestion, TopSource
from manager.cli.top.threads import off_loop

_LEAST_GAP_SECONDS: Final = 0.2
"""Between two questions, also for keys that ask at once."""
_TICK_SECONDS: Final = 1.0


class TopApp(App[None]):
    """The live view; `monotonic` is the clock by which ages are counted."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit"),
        Binding("ctrl+c", "interrupt", priority=True),
        Binding("space", "pause"),
        Binding("r", "ask_now"),
        Binding("question_mark", "explain_keys"),
    ]

    def __init__(
        self,
        source: TopSource,
        first: FleetAnswer,
        interval: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._source = source
        self._answer = first
        self._monotonic = monotonic
        self._answered_at = monotonic()
        self._question = FleetQuestion()
        self._pace = RefreshPace(interval)
        self._failure = ""
        self._is_paused = False
        self._is_wanted = False
        """A key asked for an answer before it is time."""
        self._wake = asyncio.Event()
        self._fleet = FleetScreen(self._state(first), self._asked, self._opened)
        self.answers = 0
        """How many questions were answered or failed, for those who wait for the next."""

    def on_mount(self) -> None:
        """Show the first answer and begin to ask."""
        self.push_screen(self._fleet)
        self.set_interval(_TICK_SECONDS, self._draw)
        self.run_worker(self._ask_forever())

    # --- asking

    async def _ask_forever(self) -> None:
        wait = self._pace.interval
        while True:
            await self._rest(wait)
            began = self._monotonic()
            try:
                await self._ask()
            except CommandError as error:
                wait = self._failed(str(error), error.seconds if isinstance(error, BusyError) else 0.0)
            else:
                self._failure = ""
                wait = self._pace.after_answer(self._monotonic() - began)
            self.answers += 1
            self._draw()

    async def _ask(self) -> None:
        """Ask about what is on the screen, and nothing else."""
        screen = self.screen
        if isinstance(screen, DetailsScreen):
            if screen.tell is not None:
                screen.show(await off_loop(screen.tell))
            return
        question = self._question
        answer = await off_loop(lambda: self._source.fleet(question))
        self._answer, self._answered_at = answer, self._monotonic()

    def _failed(self, problem: str, asked_to_wait: float = 0.0) -> float:
        self._failure = printable(problem)
        return self._pace.after_failure(asked_to_wait)

    async def _rest(self, seconds: float) -> None:
        """Wait, but no longer than until a key asks for something; a paused view waits for that alone."""
        await asyncio.sleep(min(seconds, _LEAST_GAP_SECONDS))
        with suppress(TimeoutError):
            while not self._is_wanted:
                async with asyncio.timeout(None if self._is_paused else max(0.0, seconds - _LEAST_GAP_SECONDS)):
                    await self._wake.wait()
                self._wake.clear()
        self._is_wanted = False

    # --- drawing

    def _draw(self) -> None:
        if isinstance(self.screen, DetailsScreen):
            self.screen.complain(self._failure)
        elif self.screen is self._fleet:
            self._fleet.draw(self._state(self._answer))

    def _state(self, answer: FleetAnswer) -> FleetState:
        passed = self._monotonic() - self._answered_at
        return FleetState(
            answer,
            self._question,
            self._source.namespace,
            now_ns=parse_time(answer.document["now"]) + int(passed * NANOSECONDS),
            age_seconds=int(passed),
            failure=self._failure,
            is_paused=self._is_paused,
        )

    # --- keys

    def _asked(self, question: FleetQuestion) -> None:
        self._question = question
        self._draw()
        self.action_ask_now()

    def _opened(self, panel: str, key: tuple[str, str]) -> None:
        namespace, name = key
        tell = self._source.worker(name) if panel == WORKERS else self._source.workload(namespace, name)
        self.push_screen(DetailsScreen([f"asking about {printable(name)} …"], tell, self.action_ask_now))

    def action_explain_keys(self) -> None:
        """Say which keys there are, and what the lanes mean."""
        if not isinstance(self.screen, DetailsScreen):
            self.push_screen(DetailsScreen(HELP))

    def action_pause(self) -> None:
        """Stop asking, or go on."""
        self._is_paused = not self._is_paused
        self._draw()
        self._wake.set()

    def action_ask_now(self) -> None:
        """Ask before it is time, also while paused."""
        self._is_wanted = True
        self._wake.set()

    def action_interrupt(self) -> None:
        """Quit as Ctrl-C does."""
        self.exit(return_code=Exit.INTERRUPTED)
