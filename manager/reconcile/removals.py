"""Remembers since when jobs have been in the way of a winner, so that a worker that keeps its job is given up in time.

Measured on the steady clock and lost in a restart, which errs to waiting.
"""

from collections.abc import Iterable

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, ObjectKey
from workerclient.base.clock import Clock


class Removals:
    """Since when a Workload has been waiting for workers to be rid of its job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[ObjectKey, dict[WorkerName, float]] = {}

    def note(self, key: ObjectKey, awaited: Iterable[WorkerName], gone: Iterable[WorkerName]) -> None:
        """Take note of who is waited for, and who has no job any more."""
        since = self._since.setdefault(key, {})
        for name in awaited:
            since.setdefault(name, self._clock.monotonic())
        for name in gone:
            since.pop(name, None)
        if not since:
            del self._since[key]

    def tried_ns(self, key: ObjectKey, cluster: WorkerName) -> int:
        """Return for how long a Workload has been waiting for a worker."""
        since = self._since.get(key, {}).get(cluster)
        return 0 if since is None else round((self._clock.monotonic() - since) * NANOSECONDS)

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload that is gone."""
        self._since.pop(key, None)
