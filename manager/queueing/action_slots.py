"""The actions on their way: at most one for each Workload and worker, none of which holds up anything else.

A reconcile starts an action and may wait a moment for it; if the worker does not answer, the action goes on alone and
its end has the Workload reconciled again. So a dead or slow worker does not delay the others.
After a failure the slot rests, longer each time, and says what went wrong. After an action that found nothing to do it
rests as well: the same would be decided again at once, for as long as the caches stay as they are.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, Self

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from manager.base.retrying import RetriedOperation
from manager.queueing.backoff import KeyedFailures, is_outrun
from workerclient.base.backoff import Jitter, OnRetry, ignore_retry
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError

_ROUNDING: Final = 1e-3
"""The alarm that ends a rest may ring a trifle early; a slot that still rested then would be forgotten."""


class ActionEffect(Enum):
    """What came of an action that did not fail."""

    DONE = auto()
    BLOCKED = auto()
    """Something that is not ours is in the way; that is remembered, and the next decision knows of it."""
    NOTHING = auto()
    """Nothing was sent, because there was nothing to do any more."""


Work = Callable[[], Coroutine[None, None, ActionEffect]]


class _SlotKey(NamedTuple):
    workload: ObjectKey
    cluster: WorkerName

    def __str__(self) -> str:
        return f"{self.workload} on {self.cluster}"


@dataclass(slots=True)
class _Slot:
    task: asyncio.Task[bool] | None = None
    rests_until: float = 0.0
    problem: str = ""
    opens: bool = False
    """Whether the action on its way lets the worker preempt."""


class ActionSlots:
    """All slots of the daemon; to be used inside `async with`."""

    def __init__(
        self,
        clock: Clock,
        jitter: Jitter,
        on_end: Callable[[ObjectKey, float], None],
        on_failure: Callable[[ObjectKey, WorkerName, Exception], None],
        on_retry: OnRetry = ignore_retry,
    ) -> None:
        self._clock = clock
        self._failures: KeyedFailures[_SlotKey] = KeyedFailures(RetriedOperation.ACTION, jitter, on_retry)
        self._on_end = on_end
        self._on_failure = on_failure
        self._slots: dict[_SlotKey, _Slot] = {}
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
        for slot in self._slots.values():
            if slot.task is not None:
                slot.task.cancel()
        await self._group.__aexit__(None, None, None)

    def is_busy(self, key: ObjectKey, cluster: WorkerName) -> bool:
        """Return whether an action is on its way, or the slot rests after a failure."""
        slot = self._slots.get(_SlotKey(key, cluster))
        return slot is not None and (slot.task is not None or self._clock.monotonic() < slot.rests_until - _ROUNDING)

    def is_opening(self, key: ObjectKey, cluster: WorkerName) -> bool:
        """Return whether an action is on its way that lets the worker preempt."""
        slot = self._slots.get(_SlotKey(key, cluster))
        return slot is not None and slot.task is not None and slot.opens

    def rest_left(self, key: ObjectKey, cluster: WorkerName) -> float:
        """Return for how many seconds a slot rests on."""
        slot = self._slots.get(_SlotKey(key, cluster))
        return max(0.0, slot.rests_until - self._clock.monotonic()) if slot is not None else 0.0

    def problem(self, key: ObjectKey, cluster: WorkerName) -> str:
        """Return what last went wrong, until something goes right again."""
        slot = self._slots.get(_SlotKey(key, cluster))
        return slot.problem if slot is not None else ""

    def start(self, key: ObjectKey, cluster: WorkerName, action: Work, *, opens: bool = False) -> asyncio.Task[bool]:
        """Begin an action on a slot that is not busy; the task's result says whether it went well."""
        slot_key = _SlotKey(key, cluster)
        slot = self._slots.setdefault(slot_key, _Slot())
        slot.opens = opens
        self.emptied.clear()
        self.in_flight += 1
        slot.task = self._group.create_task(self._carry_out(slot_key, slot, action))
        return slot.task

    def forget(self, key: ObjectKey) -> None:
        """Drop what is remembered of a Workload that is gone."""
        for slot_key in [each for each, slot in self._slots.items() if each.workload == key and slot.task is None]:
            self._drop(slot_key)

    async def _carry_out(self, slot_key: _SlotKey, slot: _Slot, action: Work) -> bool:
        key, cluster = slot_key
        try:
            effect = await action()
        except ClusterError as error:
            self._fail(slot_key, slot, error)
            if not is_outrun(error):
                slot.problem = str(error)
                self._on_failure(key, cluster, error)
            return False
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one action must not end the daemon
            self._fail(slot_key, slot, error)
            slot.problem = f"worker {cluster}: {type(error).__name__}, see the log"
            self._on_failure(key, cluster, error)
            return False
        finally:
            self._end(slot)
        if effect is ActionEffect.NOTHING:
            slot.problem = ""
            self._on_end(key, self._rest(slot_key, slot))
            return True
        self._drop(slot_key)
        self._on_end(key, 0.0)
        return True

    def _fail(self, slot_key: _SlotKey, slot: _Slot, error: Exception) -> None:
        rest = self._rest(slot_key, slot, error)
        self._on_end(slot_key.workload, 0.0)  # to report on the check what went wrong
        self._on_end(slot_key.workload, rest)

    def _rest(self, slot_key: _SlotKey, slot: _Slot, error: Exception | None = None) -> float:
        seconds = self._failures.next_wait(slot_key, error)
        slot.rests_until = self._clock.monotonic() + seconds
        return seconds

    def _drop(self, slot_key: _SlotKey) -> None:
        del self._slots[slot_key]
        self._failures.forget(slot_key)

    def _end(self, slot: _Slot) -> None:
        slot.task = None
        self.in_flight -= 1
        if not self.in_flight:
            self.emptied.set()
