"""Who has to be looked at in shadow mode when something changes."""

import asyncio

from gates.jobs.kinds import JobKind
from manager.fleet import Fleet
from manager.hub import HubLink
from manager.logs import get_log
from manager.queue import KeyedQueue
from workerclient.cluster import Connection, ConnectionReport
from workerclient.kind import Key


class ShadowWakeups:
    """Translates changes of the caches into Workloads to look at."""

    hub: HubLink
    fleet: Fleet

    def __init__(self, workloads: KeyedQueue[Key]) -> None:
        self._workloads = workloads
        self.hub_is_there = asyncio.Event()
        """Set once the hub's caches were complete for the first time."""

    def check(self, name: str) -> None:
        """Look at the Workloads of a check."""
        for key in self.hub.workloads_with(name):
            self._workloads.add(key)

    def config(self, name: str) -> None:
        """Look at the Workloads of all checks that use a MultiKueueConfig."""
        for check in self.hub.checks_using(name):
            self.check(check)

    def source(self, _name: str = "") -> None:
        """Look for workers that came, changed or went."""
        self.fleet.poke()

    def hub_connection(self, report: ConnectionReport) -> None:
        """Look at everything after the hub came back."""
        get_log().info("hub.connection", state=report.connection, message=report.message)
        if report.connection is Connection.CONNECTED:
            self.hub_is_there.set()
            self.fleet.poke()
            self.everything()

    def everything(self) -> None:
        """Look at the Workloads of all checks."""
        for check in self.hub.our_checks():
            self.check(check)

    def copy(self, _cluster: str, key: Key) -> None:
        """Look at the hub Workload of a copy."""
        self._workloads.add(key, urgent=True)

    def job(self, _kind: JobKind, key: Key, _named: tuple[Key, ...] = ()) -> None:
        """Take no interest in jobs, of which none are followed."""

    def worker(self, name: str) -> None:
        """Look at everything that depends on a worker: it came, went, or is another one now."""
        self.fleet.note_connection(name)
        link = self.fleet.links.get(name)
        if link is not None:
            get_log().info("worker.connection", worker=name, state=link.report.connection, message=link.report.message)
        for check in self.hub.checks_listing(name):
            self.check(check)
