"""LocalKueue: Kueue's controllers and scheduler on one local cluster.

Everything happens in rounds: reconcile what changed, run a cycle, update the queues. A round never waits, so a
test drives it with `settle` and a clock of its own; `running` drives it from the event loop. Invariant: what it does
depends on the objects, the order of their changes and the cluster's clock, and on nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, Self

from config.api.meta import NANOSECONDS, ObjectKey
from localcluster.kinds.kinds import ServedKind
from localcluster.kueue.flavors import Flavors
from localcluster.kueue.following import ChangeCollector, ObjectChange
from localcluster.kueue.job_runner import JobRunner
from localcluster.kueue.jobs import JobController
from localcluster.kueue.priorities import CLASS_KINDS
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.kueue.queue_status import QueueStatus
from localcluster.kueue.scheduling import OBSERVED_KINDS, Scheduling
from localcluster.kueue.workloads import Workloads
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store

if TYPE_CHECKING:
    from localcluster.kinds.clock import Timer

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_KINDS: Final = (*OBSERVED_KINDS, *CLASS_KINDS, ("jobs", "batch"))


class Controller(Protocol):
    """One of Kueue's controllers."""

    def observe(self, change: ObjectChange) -> None:
        """Note what is to be reconciled after a change of an object."""

    def work(self, now_ns: int, /) -> bool:
        """Reconcile it, and write at most one thing about each object; return whether anything was written."""


class LocalKueue:
    """The Kueue of one local cluster; `profile` must be the one that the cluster's kinds were made for."""

    def __init__(self, store: Store, profile: KueueProfile = CURRENT) -> None:
        self._store = store
        self._wake = asyncio.Event()
        self._timer: Timer | None = None
        writer = Writer(store)
        self.scheduling: Final = Scheduling(profile, writer)
        self._workloads = Workloads(store, profile, self.scheduling, writer)
        self._runner = JobRunner(store, writer)
        self._controllers: tuple[Controller, ...] = (
            JobController(store, profile, writer),
            self._workloads,
            self._runner,
            Flavors(store, writer),
        )
        self._queue_status = QueueStatus(store, self.scheduling.scheduler.model, writer)
        kinds = [store.kind(*name) for name in _KINDS]
        for change in _existing(store, kinds):
            self._observe(change)
        self._changes = ChangeCollector(store, kinds, self._wake.set)

    def now_ns(self) -> int:
        """Return the cluster's time."""
        return (self._store.clock.now() - _EPOCH) // _MICROSECOND * 1000

    def next_ns(self) -> int | None:
        """Return when time alone makes a difference, None if only a change of an object does."""
        moments = (self.scheduling.next_ns(), self._workloads.next_ns(), self._runner.next_ns())
        return min((moment for moment in moments if moment is not None), default=None)

    def step(self) -> bool:
        """Take one round; return whether another one may find something to do.

        After each write, everything that it changed is taken up before anything else is decided. Queues come last.
        """
        now_ns = self.now_ns()
        for change in self._changes.drain():
            self._observe(change)
        if any(controller.work(now_ns) for controller in self._controllers):
            return True
        return self.scheduling.work(now_ns) or self._queue_status.work(now_ns)

    def settle(self) -> Self:
        """Do everything that can be done before time passes or another client acts."""
        while self.step():
            pass
        return self

    def stop(self) -> None:
        """Leave the cluster as it is."""
        self._changes.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Work whenever there is something to do, until the block ends."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run())
            try:
                yield self
            finally:
                task.cancel()
                self.stop()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            while self.step():  # noqa: ASYNC110 - it does not wait for anything, it lets others have a turn
                await asyncio.sleep(0)
            self._set_timer()
            await self._wake.wait()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due_ns = self.next_ns()
        if due_ns is None:
            self._timer = None
            return
        seconds = max(0.0, (due_ns - self.now_ns()) / NANOSECONDS)
        self._timer = self._store.clock.call_later(seconds, self._wake.set)

    def _observe(self, change: ObjectChange) -> None:
        self.scheduling.observe(change, self.now_ns())
        for controller in (*self._controllers, self._queue_status):
            controller.observe(change)


def _existing(store: Store, kinds: Iterable[ServedKind]) -> Iterator[ObjectChange]:
    """Yield what was there before, as if it had just been created."""
    for kind in kinds:
        for version in store.collection(kind).scan():
            yield ObjectChange(kind.kind, ObjectKey(*version.key), None, version.obj)
