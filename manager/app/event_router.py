"""Which Workloads and conditions have to be reconciled after a change. An event only says which, never what to do."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from engine.vocabulary.gate_dialect import GateDialect
from gates.jobs.kinds import JobKind
from gates.model.activity import CheckRecord, ClusterRecord, ConfigRecord
from gates.model.dialect import gate_requested_ns
from gates.wire.records import HubRecord, ReplicaRecord
from manager.app.cluster_core import ClusterCore
from manager.base.kinds import CONFIGS, WORKLOADS
from manager.logging.logs import get_log
from manager.queueing.queue import KeyedQueue
from manager.reconcile.flapping import Flapping
from manager.reconcile.reconciler import WorkloadMemory
from manager.upkeep.conditions import ConditionOwner, ConditionTarget
from manager.upkeep.rivals import Rivals
from workerclient.base.kind import ApiKind
from workerclient.objects.connection_report import ConnectionReport, ConnectionState

_UNHEARD_OF: Final = object()


@dataclass(frozen=True, slots=True)
class RouterTargets:
    """What events reach beside the queue of Workloads."""

    conditions: KeyedQueue[ConditionTarget]
    rivals: Rivals
    memory: WorkloadMemory


class EventRouter:
    """Translates changes of the caches into names to reconcile."""

    def __init__(self, core: ClusterCore, targets: RouterTargets) -> None:
        self._hub = core.hub
        self._fleet = core.fleet
        self._workloads = core.workloads
        self._conditions = targets.conditions
        self._rivals = targets.rivals
        self._decision_limit = targets.memory.decision_limit
        self._windows = targets.memory.windows
        self._flapping = Flapping(core.clock)
        self._means: dict[tuple[str, str], Hashable] = {}

    def _wake(self, key: ObjectKey, *, urgent: bool = False) -> None:
        """Reconcile a Workload because an object changed, which is reason enough to decide about it."""
        self._decision_limit.note_event(key)
        self._workloads.add(key, urgent=urgent)

    # --- hub

    def hub_workload(self, key: ObjectKey) -> None:
        """Reconcile the Workload, and those of the same job."""
        self._wake(key)
        record = self._hub.workload(key)
        if isinstance(record, HubRecord):
            self._rivals.check_writer(record)
        if isinstance(record, HubRecord):
            for other in (*self._hub.sharing(record), *self._hub.grouped_with(record)):
                self._wake(other)

    def hub_job(self, kind: JobKind, key: ObjectKey) -> None:
        """Reconcile the Workloads of a job."""
        for workload in self._hub.workloads_of_job(kind, key):
            self._wake(workload)

    def job_removed(self, kind: JobKind, key: ObjectKey) -> None:
        """Reconcile the Workloads whose remote job we removed ourselves, which no watch reports."""
        for workload in self._hub.workloads_of_job(kind, key):
            self._workloads.add(workload)

    def check(self, name: str) -> None:
        """Reconcile a check, and its Workloads unless only its status or its labels changed."""
        self._conditions.add(ConditionTarget(ConditionOwner.CHECK, name))
        found = self._hub.checks.cache.get(ObjectKey("", name))
        means = (found.uid, found.generation, found.timeout) if isinstance(found, CheckRecord) else None
        if self._is_news(ConditionOwner.CHECK, name, means):
            self._fleet.review_identities()
            self._workloads_of(name)

    def config(self, name: str) -> None:
        """Reconcile the checks that use a MultiKueueConfig, and their Workloads, unless it lists what it did."""
        found = self._hub.configs.cache.get(ObjectKey("", name))
        if self._is_news(CONFIGS.kind, name, found if isinstance(found, ConfigRecord) else None):
            self._fleet.review_identities()
            self._checks(self._hub.checks_using(name))

    def _checks(self, names: Iterable[str], delay: float = 0.0) -> None:
        for name in names:
            self._conditions.add(ConditionTarget(ConditionOwner.CHECK, name))
            self._workloads_of(name, delay)

    def _workloads_of(self, check: str, delay: float = 0.0) -> None:
        self._workloads.add_all((ConditionOwner.CHECK, check), lambda: self._hub.workloads_with(check), delay)

    def _copies_on(self, cluster: WorkerName, delay: float = 0.0) -> None:
        self._workloads.add_all((ConditionOwner.CLUSTER, cluster), lambda: self._copies(cluster), delay)

    def _copies(self, cluster: WorkerName) -> Iterable[ObjectKey]:
        link = self._fleet.links.get(cluster)
        return list(link.workloads.cache) if link is not None else ()

    def _is_news(self, kind: str, name: str, means: Hashable) -> bool:
        """Return whether an object means something else than when it was last asked about."""
        known = self._means.get((kind, name), _UNHEARD_OF)
        self._means[(kind, name)] = means
        return known != means

    def cluster(self, name: WorkerName) -> None:
        """Examine a worker's source, unless only the status of its MultiKueueCluster changed."""
        cluster = self._hub.clusters.cache.get(ObjectKey("", name))
        means = (cluster.uid, cluster.generation) if isinstance(cluster, ClusterRecord) else None
        if self._is_news(ConditionOwner.CLUSTER, name, means):
            self._fleet.poke()
        traits = (cluster.labels, cluster.is_cordoned) if isinstance(cluster, ClusterRecord) else None
        if self._is_news("traits", name, traits):
            self._fleet.review_identities()
            self._checks(self._hub.our_checks())
        self._conditions.add(ConditionTarget(ConditionOwner.CLUSTER, name))

    def source(self) -> None:
        """Examine all sources: a Secret or a ClusterProfile changed in our namespace."""
        self._fleet.poke()

    def hub_connection(self, report: ConnectionReport) -> None:
        """Reconcile everything after the hub came back."""
        if report.connection is ConnectionState.CONNECTED:
            self.everything()

    def hub_new_history(self, kind: ApiKind) -> None:
        """Reconcile everything after the hub was restored to an earlier state."""
        get_log().warning("hub.history_rewritten", kind=kind.kind)
        if kind == WORKLOADS:
            self._windows.restart("the hub was restored, so that records may be from an earlier time")
        self.everything()

    def everything(self) -> None:
        """Reconcile everything."""
        self._fleet.poke()
        self._checks(self._hub.our_checks())
        for key in self._hub.clusters.cache:
            self._conditions.add(ConditionTarget(ConditionOwner.CLUSTER, key.name))
        for name in self._fleet.links:
            self._copies_on(name)

    # --- workers

    def remote_workload(self, cluster: WorkerName, key: ObjectKey) -> None:
        """Reconcile the hub Workload of a replica; one that asks for its gate passes the others."""
        link = self._fleet.links.get(cluster)
        replica = link.replica(key) if link is not None else None
        asks = isinstance(replica, ReplicaRecord) and any(
            gate_requested_ns(replica.conditions, dialect) is not None for dialect in GateDialect
        )
        self._wake(key, urgent=asks)

    def remote_job(self, kind: JobKind, key: ObjectKey, named: tuple[ObjectKey, ...]) -> None:
        """Reconcile the Workloads of a remote job."""
        for workload in dict.fromkeys((*named, *self._hub.workloads_of_job(kind, key))):
            self._wake(workload)

    def worker_remark(self, name: WorkerName) -> None:
        """Write a worker's condition again."""
        self._conditions.add(ConditionTarget(ConditionOwner.CLUSTER, name))

    def worker(self, name: WorkerName) -> None:
        """Reconcile everything that depends on a worker: it came, went, or is another one now."""
        self._fleet.note_connection(name)
        self._conditions.add(ConditionTarget(ConditionOwner.CLUSTER, name))
        delay = self._flapping.delay(name)
        self._checks(self._hub.checks_listing(name), delay)
        link = self._fleet.links.get(name)
        if link is not None and link.is_connected:
            self._copies_on(name, delay)
        if name not in self._fleet.names():
            self._flapping.forget(name)
