"""Since when each worker has been missing, kept on the hub so that a restart does not begin the grace again.

While the process lives, absences are measured with the steady clock: setting the wall clock makes no worker lost. A
ConfigMap holds for each missing worker the wall time of its loss, by the daemon's clock and by the hub's, and the
reading of the steady clock, which counts where the next process has the same one (the same boot of the same machine).
Elsewhere the wall times are compared, and the one counts by which less time has passed: one wrong clock, be it a
machine's or the hub's, makes no worker lost. A worker whose MultiKueueCluster or kubeconfig vanished counts as missing
like any other, so that its Workloads are queued again in finite time.
"""

import asyncio
from typing import Final

from config.api.identifiers import WorkerName
from config.sections.settings import Configuration
from gates.model.settings import MINUTE, SECOND
from manager.base.from_configuration import settings_of
from manager.base.retrying import RetriedOperation, until_answered
from manager.clusters.hub import HubLink
from manager.clusters.hub_store import HubStore
from manager.logging.logs import get_log
from workerclient.base.errors import ClusterError, Conflict
from workerclient.cluster import ClientContext

NAME: Final = "turnstile-missing-workers"
_MOST_DIGITS: Final = 19
_STEADY: Final = "_steady."
"""Begins the keys of readings of the steady clock; no worker is called so."""
_BY_HUB: Final = "_hub."
"""Begins the keys of times of loss by the hub's clock."""
_HUB: Final = "hub "
"""Begins their values: earlier versions take every plain number for the loss of a worker."""
_SETTLING_SECONDS: Final = 5.0
"""A worker that comes back within this is not written down."""
_RECONNECT_NS: Final = MINUTE
"""After a start every worker gets this long to connect, whatever was written down."""


class LostWorkers:
    """The times of loss."""

    def __init__(self, hub: HubLink, context: ClientContext, configuration: Configuration) -> None:
        self._hub = hub
        self._clock = clock = context.clock
        self.reconfigure(configuration)
        self._started = clock.monotonic()
        self._since: dict[WorkerName, float] = {}
        """On the steady clock; before its start for a loss of which only the wall time is known."""
        self._written: dict[str, str] = {}
        self._store = HubStore(hub, NAME)
        self._changed = asyncio.Event()
        self._until_written = until_answered(context, RetriedOperation.LOST_WORKERS)

    async def load(self) -> None:
        """Read what was written down before; one that cannot be read counts as empty, and the grace begins now."""
        try:
            self._written = await self._store.read()
        except ClusterError as error:
            get_log().warning("lost_workers.unreadable", error=str(error))
            return
        for name, value in self._written.items():
            if _is_moment(value):
                worker = WorkerName(name)
                since = self._recalled(worker, value)
                self._since[worker] = min(since, self._since.get(worker, since))

    def reconfigure(self, configuration: Configuration) -> None:
        """Give missing workers another grace from now on."""
        self._grace_ns = settings_of(configuration).worker_lost_ns

    def missing_for(self, name: WorkerName) -> float:
        """Return for how many seconds a worker has been missing, 0 if that was not noted."""
        since = self._since.get(name)
        if since is None:
            return 0.0
        # Time without an attempt to connect does not count as absence.
        grace = self._grace_ns / SECOND
        earliest = self._started + min(_RECONNECT_NS / SECOND, grace) - grace
        return max(0.0, self._clock.monotonic() - max(since, earliest))

    def is_noted(self, name: WorkerName) -> bool:
        """Tell whether a worker is known to be missing."""
        return name in self._since

    def is_given_up(self, name: WorkerName) -> bool:
        """Tell whether a worker has been missing for so long that it counts as lost."""
        return self.missing_for(name) * SECOND >= self._grace_ns

    def missing_since(self, name: WorkerName) -> int:
        """Return the wall time of a worker's loss."""
        return self._clock.now_ns() - int(self.missing_for(name) * SECOND)

    def note(self, name: WorkerName, lost_at: float | None = None) -> None:
        """Take note that a worker is missing, since a moment of the steady clock; the first time counts."""
        if name not in self._since:
            self._since[name] = lost_at if lost_at is not None else self._clock.monotonic()
            self._changed.set()

    def forget(self, name: WorkerName) -> None:
        """Take note that a worker is there."""
        if self._since.pop(name, None) is not None:
            self._changed.set()

    def _recalled(self, name: WorkerName, wall: str) -> float:
        """Return the moment of a loss that an earlier process wrote down, on the steady clock of this one."""
        clock, _, reading = self._written.get(_STEADY + name, "").rpartition(" ")
        now = self._clock.monotonic()
        if clock == self._clock.steady_id and _is_moment(reading) and int(reading) / SECOND <= now:
            return int(reading) / SECOND
        passed_ns = self._clock.now_ns() - int(wall)
        by_hub, hub_now_ns = self._written.get(_BY_HUB + name, "").removeprefix(_HUB), self._hub_now_ns()
        if _is_moment(by_hub) and hub_now_ns is not None:
            passed_ns = min(passed_ns, hub_now_ns - int(by_hub))
        return now - max(0, passed_ns) / SECOND

    def _hub_now_ns(self) -> int | None:
        skew = self._hub.client.skew
        return None if skew is None else self._clock.now_ns() + int(skew.seconds * SECOND)

    def _entries(self) -> dict[str, str]:
        """Return what is to be written down; what is known already stays, whatever became of the wall clock."""
        entries: dict[str, str] = {}
        for name, since in self._since.items():
            steady = f"{self._clock.steady_id} {int(since * SECOND)}" if since >= 0 else ""
            ago_ns = int((self._clock.monotonic() - since) * SECOND)
            hub_now_ns = self._hub_now_ns()
            by_hub = "" if hub_now_ns is None else f"{_HUB}{max(hub_now_ns - ago_ns, 0)}"
            is_known = _is_moment(self._written.get(name, "")) and self._written.get(_STEADY + name, "") == steady
            entries[name] = self._written[name] if is_known else str(self._clock.now_ns() - ago_ns)
            found = {_STEADY: steady, _BY_HUB: self._written.get(_BY_HUB + name, by_hub) if is_known else by_hub}
            entries |= {prefix + name: value for prefix, value in found.items() if value}
        return entries

    async def run(self) -> None:
        """Write changes down until cancelled."""
        while True:
            await self._changed.wait()
            await self._clock.sleep(_SETTLING_SECONDS)
            await self._until_written(self._write)

    async def _write(self) -> None:
        """Write down what is missing now; raises `ClusterError`."""
        self._changed.clear()
        wanted = self._entries()
        if wanted == self._written:
            return
        try:
            await self._store.write(wanted)
        except ClusterError as error:
            if not isinstance(error, Conflict):
                get_log().warning("lost_workers.unwritten", error=str(error))
            raise
        self._written = wanted


def _is_moment(text: str) -> bool:
    """Return whether a string is a number of nanoseconds as written here; anything longer is not a time."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
