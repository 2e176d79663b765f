"""The actions on their way: at most one for each Workload and worker, none of which holds up anything else.

A reconcile starts an action and may wait a moment for it; if the worker does not answer, the action goes on alone and
its end has the Workload looked at again. So a dead or slow worker costs the others nothing.
After a failure the lane rests, longer each time, and says what went wrong.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final, Self

from manager.patience import REFUSAL, is_outrun, rest_seconds
from workerclient.backoff import Jitter
from workerclient.clock import Clock
from workerclient.errors import ClusterError
from workerclient.kind import Key

_ROUNDING: Final = 1e-3
"""The alarm that ends a rest may ring a trifle early; a lane that still rested then would be forgotten."""


@dataclass(slots=True)
class _Lane:
    task: asyncio.Task[bool] | None = None
    failures: int = 0
    rests_until: float = 0.0
    problem: str = ""


class Lanes:
    """All lanes of the daemon; to be used inside `async with`."""

    def __init__(
        self,
        clock: Clock,
        jitter: Jitter,
        on_end: Callable[[Key, float], None],
        on_failure: Callable[[Key, str, Exception], None],
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._on_end = on_end
        self._on_failure = on_failure
        self._lanes: dict[tuple[Key, str], _Lane] = {}
        self._group = asyncio.TaskGroup()
        self.in_flight = 0
        """How many actions are on their way."""
        self.emptied = asyncio.Event()
        """Set while no action is on its way."""
        self.emptied.set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        for lane in self._lanes.values():
            if lane.task is not None:
                lane.task.cancel()
        await self._group.__aexit__(None, None, None)

    def is_busy(self, key: Key, cluster: str) -> bool:
        """Return whether an action is on its way, or the lane rests after a failure."""
        lane = self._lanes.get((key, cluster))
        return lane is not None and (lane.task is not None or self._clock.monotonic() < lane.rests_until - _ROUNDING)

    def rest_left(self, key: Key, cluster: str) -> float:
        """Return for how many seconds a lane rests on."""
        lane = self._lanes.get((key, cluster))
        return max(0.0, lane.rests_until - self._clock.monotonic()) if lane is not None else 0.0

    def problem(self, key: Key, cluster: str) -> str:
        """Return what last went wrong, until something goes right again."""
        lane = self._lanes.get((key, cluster))
        return lane.problem if lane is not None else ""

    def start(self, key: Key, cluster: str, action: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[bool]:
        """Begin an action on a lane that is not busy; the task's result says whether it went well."""
        lane = self._lanes.setdefault((key, cluster), _Lane())
        self.emptied.clear()
        self.in_flight += 1
        lane.task = self._group.create_task(self._carry_out(key, cluster, lane, action))
        return lane.task

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a Workload that is gone."""
        for place in [each for each, lane in self._lanes.items() if each[0] == key and lane.task is None]:
            del self._lanes[place]

    async def _carry_out(
        self, key: Key, cluster: str, lane: _Lane, action: Callable[[], Coroutine[None, None, None]]
    ) -> bool:
        try:
            await action()
        except ClusterError as error:
            self._fail(key, lane, rest_seconds(error, lane.failures + 1, self._jitter))
            if not is_outrun(error):
                lane.problem = str(error)
                self._on_failure(key, cluster, error)
            return False
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one action must not end the daemon
            self._fail(key, lane, REFUSAL.after(lane.failures + 1, self._jitter))
            lane.problem = f"worker {cluster}: {type(error).__name__}, see the log"
            self._on_failure(key, cluster, error)
            return False
        finally:
            self._end(lane)
        del self._lanes[(key, cluster)]
        self._on_end(key, 0.0)
        return True

    def _fail(self, key: Key, lane: _Lane, rest: float) -> None:
        lane.failures += 1
        lane.rests_until = self._clock.monotonic() + rest
        self._on_end(key, 0.0)  # to tell on the check what went wrong
        self._on_end(key, rest)

    def _end(self, lane: _Lane) -> None:
        lane.task = None
        self.in_flight -= 1
        if not self.in_flight:
            self.emptied.set()
