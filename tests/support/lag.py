"""Measures what the code under test takes of the event loop: in one piece, and in one turn of the loop.

Between two turns the loop looks at its sockets. A thousand tasks that are ready at once make one turn, so that pieces
which are all short may still keep a probe from being answered.

Local clusters, the test and the code under test share one loop, so every piece is laid to whom it belongs: tasks and
callbacks inherit the context of the code that started them, and only what was started in the probe's context counts.
What is measured is the processor time of the loop's thread, not time that passes, less what the garbage collector took:
how busy the machine is, and how much else the test process holds, makes no difference.
"""

import asyncio
import contextvars
import gc
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

LONGEST_STRETCH: Final = 0.05
LONGEST_TURN: Final = 0.2
"""Tasks that are ready at the same moment by chance share a turn; what grows with the Workloads takes longer."""
_KEPT: Final = 5
_watching: contextvars.ContextVar["LagProbe | None"] = contextvars.ContextVar("lag probe", default=None)


@dataclass(frozen=True, order=True)
class Stretch:
    """One callback or step of a task."""

    seconds: float
    what: str

    def __str__(self) -> str:
        return f"{self.seconds * 1000:.0f} ms in {self.what}"


@dataclass
class LagProbe:
    """Collects the longest stretches of all that runs in its context."""

    longest: list[Stretch] = field(default_factory=list)
    longest_turn: Stretch = Stretch(0.0, "nothing")
    context: contextvars.Context = field(default_factory=contextvars.copy_context)

    def __post_init__(self) -> None:
        self.context.run(_watching.set, self)

    @property
    def worst(self) -> float:
        return self.longest[0].seconds if self.longest else 0.0

    @property
    def worst_but_one(self) -> float:
        return self.longest[1].seconds if len(self.longest) > 1 else 0.0

    def note(self, seconds: float, handle: asyncio.Handle) -> None:
        """Take a stretch, of which only the longest are kept."""
        if len(self.longest) < _KEPT or seconds > self.longest[-1].seconds:
            self.longest = sorted([*self.longest, Stretch(seconds, _named(handle))], reverse=True)[:_KEPT]

    def note_turn(self, turn: "_Turn") -> None:
        """Take all that ran in one turn of the loop."""
        if turn.seconds > self.longest_turn.seconds:
            what = f"{turn.steps} steps of one turn, the last in {_named(turn.last)}"
            self.longest_turn = Stretch(turn.seconds, what)

    def create_task(self, coroutine: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
        """Start something that is measured, with all that it starts."""
        return asyncio.get_running_loop().create_task(coroutine, context=self.context.copy())

    def forget(self) -> None:
        """Measure from now on only."""
        self.longest.clear()
        self.longest_turn = Stretch(0.0, "nothing")

    def check(self, limit: float = LONGEST_STRETCH, turn_limit: float = LONGEST_TURN) -> None:
        """Fail if anything kept the loop for longer.

        One stretch may take twice as long: what the kernel does for a thread, such as giving it memory on a machine
        that is short of it, counts as the thread's time, and falls on whatever step happens to run.
        """
        told = "\n".join(map(str, self.longest))
        kept = f"the loop was kept for more than {limit * 1000:.0f} ms:\n{told}"
        assert self.worst <= 2 * limit, kept
        assert self.worst_but_one <= limit, kept
        taken = f"one turn of the loop took more than {turn_limit * 1000:.0f} ms: {self.longest_turn}"
        assert self.longest_turn.seconds <= turn_limit, taken


@contextmanager
def measured_loop() -> Iterator[None]:
    """Measure every callback of plain asyncio loops during the enclosed block."""
    handles: Any = asyncio.Handle
    loops: Any = asyncio.BaseEventLoop
    original, original_turn = handles._run, loops._run_once
    collector = _Collector()
    turns: dict[int, dict[int, tuple[LagProbe, _Turn]]] = {}

    def run(handle: asyncio.Handle) -> None:
        probe = handle._context.get(_watching)  # type: ignore[attr-defined]
        if probe is None:
            original(handle)
            return
        collected, began = collector.seconds, time.thread_time()
        original(handle)
        seconds = time.thread_time() - began - (collector.seconds - collected)
        probe.note(seconds, handle)
        turn = turns.setdefault(id(handle._loop), {})  # type: ignore[attr-defined]
        turn.setdefault(id(probe), (probe, _Turn()))[1].add(seconds, handle)

    def run_once(loop: asyncio.BaseEventLoop) -> None:
        turns[id(loop)] = {}
        original_turn(loop)
        for probe, taken in turns[id(loop)].values():
            probe.note_turn(taken)

    handles._run, loops._run_once = run, run_once
    gc.callbacks.append(collector)
    try:
        yield
    finally:
        gc.callbacks.remove(collector)
        handles._run, loops._run_once = original, original_turn


class _Turn:
    """What runs between two looks at the sockets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.steps = 0
        self.last: Any = None

    def add(self, seconds: float, handle: asyncio.Handle) -> None:
        self.seconds += seconds
        self.steps += 1
        self.last = handle


class _Collector:
    """Adds up what the garbage collector takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began


def _named(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine: Any = owner.get_coro()
        names = [coroutine.__qualname__]
        while (coroutine := getattr(coroutine, "cr_await", None)) is not None and hasattr(coroutine, "__qualname__"):
            names.append(coroutine.__qualname__)
        return " > ".join(names)
    return repr(callback)
