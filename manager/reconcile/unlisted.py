"""Since when checks have not led to workers that they led to before."""

from config.api.identifiers import WorkerName
from workerclient.base.clock import Clock


class UnlistedWorkers:
    """The times, on the steady clock; kept in memory."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}

    def seconds(self, check: str, worker: WorkerName) -> float | None:
        """Return for how long a check has not led to a worker, None if that was not noted."""
        since = self._since.get((check, worker))
        return None if since is None else self._clock.monotonic() - since

    def note(self, check: str, worker: WorkerName) -> None:
        """Take note that a check does not lead to a worker; the first time counts."""
        self._since.setdefault((check, worker), self._clock.monotonic())

    def forget(self, check: str, worker: WorkerName) -> None:
        """Take note that a check leads to a worker."""
        self._since.pop((check, worker), None)
