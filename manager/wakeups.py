"""Who has to be looked at when something changes. An event only says where to look, never what to do."""

import asyncio
from collections.abc import Hashable, Iterable
from typing import Final

from gates.activity import CheckRecord, ClusterRecord, ConfigRecord
from gates.dialect import DIALECTS
from gates.jobs.kinds import JobKind
from gates.records import HubRecord, ReplicaRecord
from manager.fleet import Fleet
from manager.hub import HubLink
from manager.kinds import CONFIGS
from manager.logs import get_log
from manager.queue import KeyedQueue
from manager.rivals import Rivals
from manager.statuses import Place, Subject
from workerclient.cluster import Connection, ConnectionReport
from workerclient.kind import Key

_UNHEARD_OF: Final = object()


class Wakeups:
    """Translates changes of the caches into names to look at."""

    hub: HubLink
    fleet: Fleet
    rivals: Rivals

    def __init__(self, workloads: KeyedQueue[Key], conditions: KeyedQueue[Place]) -> None:
        self._workloads = workloads
        self._conditions = conditions
        self._means: dict[tuple[str, str], Hashable] = {}
        self.hub_is_there = asyncio.Event()
        """Set once the hub's caches were complete for the first time."""

    # --- hub

    def hub_workload(self, key: Key) -> None:
        """Look at the Workload, and at those of the same job."""
        self._workloads.add(key)
        record = self.hub.workload(key)
        if isinstance(record, HubRecord):
            self.rivals.look_at(record)
        for sibling in self.hub.siblings(record) if isinstance(record, HubRecord) else ():
            self._workloads.add(Key(sibling.namespace, sibling.name))

    def hub_job(self, kind: JobKind, key: Key) -> None:
        """Look at the Workloads of a job."""
        for workload in self.hub.workloads_of_job(kind, key):
            self._workloads.add(workload)

    def check(self, name: str) -> None:
        """Look at a check, and at its Workloads unless only its status or its labels changed."""
        self._conditions.add(Place(Subject.CHECK, name))
        found = self.hub.checks.cache.get(Key("", name))
        means = (found.uid, found.generation, found.timeout) if isinstance(found, CheckRecord) else None
        if self._is_news(Subject.CHECK, name, means):
            self._workloads_of(name)

    def config(self, name: str) -> None:
        """Look at the checks that use a MultiKueueConfig, and at their Workloads, unless it lists what it did."""
        found = self.hub.configs.cache.get(Key("", name))
        if self._is_news(CONFIGS.kind, name, found if isinstance(found, ConfigRecord) else None):
            self._checks(self.hub.checks_using(name))

    def _checks(self, names: Iterable[str]) -> None:
        for name in names:
            self._conditions.add(Place(Subject.CHECK, name))
            self._workloads_of(name)

    def _workloads_of(self, check: str) -> None:
        for key in self.hub.workloads_with(check):
            self._workloads.add(key)

    def _is_news(self, kind: str, name: str, means: Hashable) -> bool:
        """Tell whether an object means something else than when it was last asked about."""
        known = self._means.get((kind, name), _UNHEARD_OF)
        self._means[(kind, name)] = means
        return known != means

    def cluster(self, name: str) -> None:
        """Look at a worker's source, unless only the status of its MultiKueueCluster changed."""
        cluster = self.hub.clusters.cache.get(Key("", name))
        means = (cluster.uid, cluster.generation) if isinstance(cluster, ClusterRecord) else None
        if self._is_news(Subject.CLUSTER, name, means):
            self.fleet.poke()
        self._conditions.add(Place(Subject.CLUSTER, name))

    def source(self) -> None:
        """Look at all sources: a Secret or a ClusterProfile changed in our namespace."""
        self.fleet.poke()

    def hub_connection(self, report: ConnectionReport) -> None:
        """Look at everything after the hub came back."""
        get_log().info("hub.connection", state=report.connection, message=report.message)
        if report.connection is Connection.CONNECTED:
            self.hub_is_there.set()
            self.everything()

    def everything(self) -> None:
        """Look at all there is."""
        self.fleet.poke()
        self._checks(self.hub.our_checks())
        for key in self.hub.clusters.cache:
            self._conditions.add(Place(Subject.CLUSTER, key.name))
        for link in self.fleet.links.values():
            for key in link.workloads.cache:
                self._workloads.add(key)

    # --- workers

    def remote_workload(self, cluster: str, key: Key) -> None:
        """Look at the hub Workload of a replica; one that asks for its gate passes the others."""
        link = self.fleet.links.get(cluster)
        replica = link.replica(key) if link is not None else None
        asks = isinstance(replica, ReplicaRecord) and any(
            dialect.signal_ns(replica.conditions) is not None for dialect in DIALECTS.values()
        )
        self._workloads.add(key, urgent=asks)

    def remote_job(self, kind: JobKind, key: Key, named: tuple[Key, ...]) -> None:
        """Look at the Workloads of a remote job."""
        for workload in {*named, *self.hub.workloads_of_job(kind, key)}:
            self._workloads.add(workload)

    def worker(self, name: str) -> None:
        """Look at everything that depends on a worker: it came, went, or is another one now."""
        self.fleet.note_connection(name)
        self._conditions.add(Place(Subject.CLUSTER, name))
        self._checks(self.hub.checks_listing(name))
        link = self.fleet.links.get(name)
        for key in link.workloads.cache if link is not None and link.is_connected else ():
            self._workloads.add(key)
