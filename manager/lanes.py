"""The actions on their way: at most one for each Workload and worker, none of which holds up anything else.

A reconcile starts an action and may wait a moment for it; if the worker does not answer, the action goes on alone and
its end has the Workload looked at again. So a dead or slow worker costs the others nothing.
After a failure the lane rests, longer each time, and says what went wrong.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Self

from manager.patience import is_outrun, rest_seconds
from workerclient.backoff import Jitter
from workerclient.clock import Clock
from workerclient.errors import ClusterError
from workerclient.kind import Key


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
        on_failure: Callable[[Key, str, ClusterError], None],
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._on_end = on_end
        self._on_failure = on_failure
        self._lanes: dict[tuple[Key, str], _Lane] = {}
        self._group = asyncio.TaskGroup()

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
        return lane is not None and (lane.task is not None or self._clock.monotonic() < lane.rests_until)

    def problem(self, key: Key, cluster: str) -> str:
        """Return what last went wrong, until something goes right again."""
        lane = self._lanes.get((key, cluster))
        return lane.problem if lane is not None else ""

    def start(self, key: Key, cluster: str, action: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[bool]:
        """Begin an action on a lane that is not busy; the task's result says whether it went well."""
        lane = self._lanes.setdefault((key, cluster), _Lane())
        lane.task = self._group.create_task(self._carry_out(key, cluster, lane, action))
        return lane.task

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a Workload that is gone."""
        for place in [each for each, lane in self._lanes.items() if each[0] == key and lane.task is None]:
            del self._lanes[place]

    @property
    def in_flight(self) -> int:
        """Return how many actions are on their way."""
        return sum(lane.task is not None for lane in self._lanes.values())

    async def _carry_out(
        self, key: Key, cluster: str, lane: _Lane, action: Callable[[], Coroutine[None, None, None]]
    ) -> bool:
        try:
            await action()
        except ClusterError as error:
            lane.failures += 1
            rest = rest_seconds(error, lane.failures, self._jitter)
            lane.rests_until = self._clock.monotonic() + rest
            if not is_outrun(error):
                lane.problem = str(error)
                self._on_failure(key, cluster, error)
            lane.task = None
            self._on_end(key, rest)
            return False
        except asyncio.CancelledError:
            lane.task = None
            raise
        del self._lanes[(key, cluster)]
        self._on_end(key, 0.0)
        return True
