"""An event loop in virtual time: no sockets, no threads, and one seed gives one order of events.

Time jumps to the next timer whenever nothing is ready. Every callback belongs to a process (a daemon, a Kueue, a
server), which it inherits by its context. Callbacks of one process run in the order in which they were scheduled, as
asyncio promises; which process goes first is chosen by the seed. A process can be stopped, as by SIGSTOP: its callbacks
are held back until it goes on.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from itertools import count
from random import Random
from typing import Any, TypeVar, cast

Result = TypeVar("Result")

PROCESS: ContextVar[str] = ContextVar("process", default="simulation")
_TURN_SECONDS = 2e-6
"""How long one turn takes: a clock never stands still, and code may rely on that."""
_MOST_TURNS = 20_000
"""How often the loop may turn within a second; a busy system needs some thousand turns."""
_CANCELLED_KEPT = 200


class LivelockError(Exception):
    """The loop turned and turned while hardly any time passed."""


class DeadlockError(Exception):
    """Nothing is ready and no timer is set: time cannot pass."""


class SimulatedTask(asyncio.Task[Any]):
    """A task with a place of its own in sets, whatever its address is."""

    _numbers = count()

    def __init__(self, coroutine: Coroutine[Any, Any, Any], **options: Any) -> None:
        self._number = next(self._numbers)
        super().__init__(coroutine, **options)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


def context_of(process: str) -> Context:
    """Return the context in which a process runs."""
    context = copy_context()
    context.run(PROCESS.set, process)
    return context


class SimulatedLoop(asyncio.BaseEventLoop):
    """A loop whose time is virtual."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        SimulatedTask._numbers = count()
        self._now = 0.0
        self._chance = chance
        self._turns = 0
        self._counted_from = 0.0
        self._ready: deque[asyncio.Handle]
        self._scheduled: list[asyncio.TimerHandle]
        self._timer_cancelled_count: int
        self._stopped: dict[str, list[asyncio.Handle]] = {}
        self.set_task_factory(cast("Any", _make_task))

    # What asyncio asks of a loop

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def _write_to_self(self) -> None:
        """No select has to be woken: there is only this thread."""

    def run_in_executor(self, _executor: Any, call: Callable[..., Result], *args: Any) -> "asyncio.Future[Result]":  # type: ignore[override]
        """Make the call at once: no thread is as fast as none."""
        future: asyncio.Future[Result] = self.create_future()
        try:
            future.set_result(call(*args))
        except Exception as error:  # noqa: BLE001 - it is passed to the caller
            future.set_exception(error)
        return future

    def _run_once(self) -> None:
        if not self._ready:
            self._let_time_pass()
        self._count_turn()
        self._take_due_timers()
        for handle in self._chosen_order():
            if not handle._cancelled:
                handle._run()

    def _count_turn(self) -> None:
        self._now += _TURN_SECONDS
        self._turns += 1
        if self._now > self._counted_from + 1.0:
            self._counted_from, self._turns = self._now, 0
        if self._turns > _MOST_TURNS:
            busy = sorted({_named(handle) for handle in self._ready})
            message = f"the loop turned {_MOST_TURNS} times within a second, busy with: {'; '.join(busy)[:1000]}"
            raise LivelockError(message)

    def _let_time_pass(self) -> None:
        self._drop_cancelled_timers()
        if not self._scheduled:
            raise DeadlockError(f"nothing is left to happen at {self._now:.3f} s")
        when = self._scheduled[0].when()
        self._now = max(self._now, when)

    def _drop_cancelled_timers(self) -> None:
        if self._timer_cancelled_count > _CANCELLED_KEPT:
            self._scheduled = [timer for timer in self._scheduled if not timer.cancelled()]
            heapq.heapify(self._scheduled)
            self._timer_cancelled_count = 0
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)
            self._timer_cancelled_count = max(0, self._timer_cancelled_count - 1)

    def _take_due_timers(self) -> None:
        while self._scheduled and self._scheduled[0].when() <= self._now:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            if timer.cancelled():
                self._timer_cancelled_count = max(0, self._timer_cancelled_count - 1)
            else:
                self._ready.append(timer)

    # Processes

    def stop_process(self, process: str) -> None:
        """Hold back everything that a process would do."""
        self._stopped.setdefault(process, [])

    def continue_process(self, process: str) -> None:
        """Let a process do what it would have done."""
        self._ready.extend(self._stopped.pop(process, ()))

    def _chosen_order(self) -> list[asyncio.Handle]:
        """Return what runs in this turn: each process in its own order, mixed by chance."""
        if len(self._ready) == 1 and not self._stopped:
            return [self._ready.popleft()]
        queues: dict[str, deque[asyncio.Handle]] = {}
        for handle in self._ready:
            process = handle._context.get(PROCESS, "simulation")  # type: ignore[attr-defined]
            if process in self._stopped:
                self._stopped[process].append(handle)
            else:
                queues.setdefault(process, deque()).append(handle)
        self._ready.clear()
        if len(queues) == 1:
            return list(*queues.values())
        order: list[asyncio.Handle] = []
        waiting = list(queues.values())
        while waiting:
            queue = waiting[self._chance.randrange(len(waiting))]
            order.append(queue.popleft())
            if not queue:
                waiting.remove(queue)
        return order


def _make_task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], context: Context | None = None
) -> SimulatedTask:
    return SimulatedTask(coroutine, loop=loop, context=context)


def _named(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine: Any = owner.get_coro()
        return f"{handle._context.get(PROCESS, '')}: {coroutine.__qualname__}"  # type: ignore[attr-defined]
    return repr(callback)
