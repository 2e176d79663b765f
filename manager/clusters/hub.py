"""The hub as the daemon holds it: its client, the caches of what decisions are made from, and how these hang together.

An AdmissionCheck leads to a MultiKueueConfig, that to clusters; a Workload names checks and an owner. When one
of these changes, its dependents are found here.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from gates.assembly.job_plans import HubJobs
from gates.assembly.targets import peer_of, rules_of
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.model.activity import CheckRecord, ClusterRecord, ConfigRecord, check_record, cluster_record, config_record
from gates.model.timeouts import NO_TIMEOUT, CheckTimeout
from gates.targets.affinity import NO_PEERS, Peer, Peers
from gates.targets.rules import AFFINITY_GROUP, ANTI_AFFINITY_GROUP, GroupRule, TargetRules
from gates.wire.record_readers import hub_record
from gates.wire.records import HubRecord
from manager.base.kinds import ADMISSION_CHECKS, CLUSTERS, CONFIGS, PROFILES, SECRETS, WORKLOADS, api_kind
from manager.clusters.worker_table import ConfiguredWorkers, WorkerTable
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource, ignore_history
from workerclient.objects.cache import Cache, Unreadable
from workerclient.objects.connection_report import ConnectionReport, ConnectionState
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import BudgetLimits

BY_CHECK: Final = "check"
BY_OWNER: Final = "owner"
BY_GROUP: Final = "group"
BY_AFFINITY: Final = "affinity"
HUB_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=300.0, burst=500, in_flight=64))


@dataclass(frozen=True, slots=True)
class HubNotices:
    """The callbacks for changes on the hub; each returns at once."""

    on_workload: Callable[[ObjectKey], None]
    on_job: Callable[[JobKind, ObjectKey], None]
    on_check: Callable[[str], None]
    on_config: Callable[[str], None]
    on_cluster: Callable[[WorkerName], None]
    on_source: Callable[[], None]
    on_connection: Callable[[ConnectionReport], None]
    on_new_history: Callable[[ApiKind], None] = ignore_history
    """The hub was restored to an earlier state: what was learnt of it before may never have been."""


class HubLink:
    """The connection to the hub."""

    def __init__(
        self,
        access: ClusterAccess,
        context: ClientContext,
        namespace: str,
        controller_name: str,
        kinds: Iterable[JobKind],
        notices: HubNotices,
        limits: ClientLimits = HUB_LIMITS,
        *,
        follow_profiles: bool = False,
        configured: ConfiguredWorkers | None = None,
    ) -> None:
        self.kinds = {kind.gvk: kind for kind in kinds}
        self.namespace = namespace
        self.controller_name = controller_name
        self._notices = notices
        self.client = ClusterClient("hub", access, context, limits, notices.on_connection, notices.on_new_history)
        self.checks: WatchedResource[CheckRecord] = self.client.follow(
            WatchedKind(ADMISSION_CHECKS, check_record, on_change=lambda key: notices.on_check(key.name))
        )
        self.configs: WatchedResource[ConfigRecord] = self.client.follow(
            WatchedKind(CONFIGS, config_record, on_change=lambda key: notices.on_config(key.name))
        )
        self.clusters: WatchedResource[ClusterRecord] = self.client.follow(
            WatchedKind(CLUSTERS, cluster_record, on_change=self._note_cluster)
        )
        self.workers = WorkerTable(configured or ConfiguredWorkers(), self.clusters.cache)
        self.workloads: WatchedResource[HubRecord] = self.client.follow(
            WatchedKind(
                WORKLOADS,
                self.read_workload,
                indexes={BY_CHECK: _checks_of, BY_OWNER: _owner_of, BY_AFFINITY: _affinity_of},
                on_change=notices.on_workload,
            )
        )
        for kind in (SECRETS, PROFILES) if follow_profiles else (SECRETS,):
            self._follow_source(kind)
        self.jobs = {gvk: self._follow_jobs(kind) for gvk, kind in self.kinds.items()}

    @property
    def new_histories(self) -> int:
        """Return how often a kind of object was found to have another history than before."""
        followed: Iterable[WatchedResource[Any]] = (self.checks, self.configs, self.clusters, self.workloads)
        return sum(each.reflector.counts.new_histories for each in (*followed, *self.jobs.values()))

    @property
    def is_connected(self) -> bool:
        """Return whether decisions may be made from the caches."""
        synced = (f.cache.synced for f in (self.checks, self.configs, self.clusters, self.workloads))
        return self.client.report.connection is ConnectionState.CONNECTED and all(synced)

    def _note_cluster(self, key: ObjectKey) -> None:
        self.workers.note_change()
        self._notices.on_cluster(WorkerName(key.name))

    def read_workload(self, raw: Obj) -> HubRecord:
        """Read a Workload as decisions see it."""
        return hub_record(raw, self.kinds)

    def workload(self, key: ObjectKey) -> HubRecord | Unreadable | None:
        """Return a Workload."""
        return self.workloads.cache.get(key)

    def our_checks(self) -> frozenset[str]:
        """Return the names of the AdmissionChecks that are ours to serve."""
        return frozenset(check.name for check in readable(self.checks.cache) if self.is_ours(check))

    def is_ours(self, check: CheckRecord) -> bool:
        """Return whether a check is ours to serve."""
        return check.controller_name == self.controller_name

    def timeout_of(self, check_name: str) -> CheckTimeout:
        """Return the preemption timeout that a check sets for its Workloads."""
        check = self.checks.cache.get(ObjectKey("", check_name))
        return check.timeout if isinstance(check, CheckRecord) else NO_TIMEOUT

    def clusters_of(self, check_name: str) -> tuple[WorkerName, ...] | None:
        """Return the clusters that a check leads to, in order of preference; None if it leads nowhere."""
        check = self.checks.cache.get(ObjectKey("", check_name))
        if not isinstance(check, CheckRecord) or not check.config:
            return None
        config = self.config(check.config)
        return config.clusters if config is not None and not config.problem else None

    def config(self, name: str) -> ConfigRecord | None:
        """Return a MultiKueueConfig with the clusters that it leads to; None if there is none of that name."""
        found = self.configs.cache.get(ObjectKey("", name))
        return self.workers.resolved(found) if isinstance(found, ConfigRecord) else None

    def listed_clusters(self) -> frozenset[WorkerName]:
        """Return every cluster that one of our checks leads to."""
        return frozenset(name for check in self.our_checks() for name in self.clusters_of(check) or ())

    def checks_using(self, config: str) -> list[str]:
        """Return our checks whose parameters name a MultiKueueConfig."""
        return [check.name for check in readable(self.checks.cache) if self.is_ours(check) and check.config == config]

    def checks_listing(self, cluster: WorkerName) -> list[str]:
        """Return our checks that lead to a cluster."""
        return [name for name in self.our_checks() if cluster in (self.clusters_of(name) or ())]

    def workloads_with(self, check: str) -> Iterable[ObjectKey]:
        """Return the Workloads that name a check."""
        return self.workloads.cache.keys_in(BY_CHECK, check)

    def workloads_of_job(self, kind: JobKind, key: ObjectKey) -> tuple[ObjectKey, ...]:
        """Return the Workloads that belong to a job."""
        keys = tuple(self.workloads.cache.keys_in(BY_OWNER, (kind.gvk, key.namespace, key.name)))
        job = self.jobs[kind.gvk].cache.get(key)
        if isinstance(job, JobRecord) and job.group:
            return tuple(dict.fromkeys((*keys, ObjectKey(job.namespace, job.group))))
        return keys

    def sharing(self, hub: HubRecord) -> list[ObjectKey]:
        """Return the other Workloads of the same job, be they its components or its slices."""
        if hub.owner is None:
            return []
        place = (hub.owner.gvk, hub.namespace, hub.owner.name)
        return sorted(key for key in self.workloads.cache.keys_in(BY_OWNER, place) if key.name != hub.name)

    def siblings(self, hub: HubRecord) -> tuple[HubRecord, ...]:
        """Return the other component Workloads of the same job."""
        if hub.component_index is None:
            return ()
        others = (self.workload(key) for key in self.sharing(hub))
        return tuple(other for other in others if isinstance(other, HubRecord))

    def peers(self, hub: HubRecord) -> Peers:
        """Return the other Workloads of the affinity groups that a Workload belongs to."""
        rules = rules_of(hub, self.jobs_of(hub))
        return self.peers_of(hub.namespace, rules, hub.name)

    def peers_of(self, namespace: str, rules: TargetRules, name: str = "") -> Peers:
        """Return the Workloads of groups in a namespace, but for the one of that name."""
        if rules.affinity is None and rules.anti_affinity is None:
            return NO_PEERS
        return Peers(
            self._peers(namespace, AFFINITY_GROUP, rules.affinity, name),
            self._peers(namespace, ANTI_AFFINITY_GROUP, rules.anti_affinity, name),
        )

    def _peers(self, namespace: str, annotation: str, rule: GroupRule | None, name: str) -> tuple[Peer, ...]:
        if rule is None:
            return ()
        keys = self._grouped((namespace, annotation, rule.group))
        found = (self.workload(key) for key in sorted(keys) if key.name != name)
        records = (each for each in found if isinstance(each, HubRecord) and not each.is_true("Finished"))
        return tuple(peer_of(each) for each in records)

    def _grouped(self, place: tuple[str, str, str]) -> set[ObjectKey]:
        keys = set(self.workloads.cache.keys_in(BY_AFFINITY, place))
        for gvk, followed in self.jobs.items():
            for job in followed.cache.keys_in(BY_AFFINITY, place):
                keys.update(self.workloads_of_job(self.kinds[gvk], job))
        return keys

    def grouped_with(self, hub: HubRecord) -> list[ObjectKey]:
        """Return the Workloads that an affinity group ties to this one."""
        if not hub.targets and not any(job.targets for job in self.jobs_of(hub).members):
            return []
        rules = rules_of(hub, self.jobs_of(hub))
        groups = ((AFFINITY_GROUP, rules.affinity), (ANTI_AFFINITY_GROUP, rules.anti_affinity))
        places = [(hub.namespace, annotation, rule.group) for annotation, rule in groups if rule is not None]
        return sorted({key for place in places for key in self._grouped(place)} - {hub.key})

    def jobs_of(self, hub: HubRecord) -> HubJobs:
        """Return the hub's job of a Workload."""
        kind = self.kinds.get(hub.owner.gvk) if hub.owner is not None else None
        if hub.owner is None or kind is None:
            return HubJobs()
        followed = self.jobs[kind.gvk]
        if not followed.cache.synced:
            return HubJobs(kind, known=followed.reflector.state.phase is CachePhase.NOT_SERVED)
        job = followed.cache.get(ObjectKey(hub.namespace, hub.owner.name))
        if job is None and kind.grouped_by:
            return HubJobs(kind, members=self._group(followed, hub.namespace, hub.name))  # its first pod went already
        if not isinstance(job, JobRecord):
            problem = f'{kind.kind} "{hub.namespace}/{hub.owner.name}": {job.problem}' if job is not None else ""
            return HubJobs(kind, known=job is None, problem=problem)
        if not job.group:
            return HubJobs(kind, members=(job,))
        return HubJobs(kind, members=self._group(followed, job.namespace, job.group))

    def _group(self, followed: WatchedResource[JobRecord], namespace: str, group: str) -> tuple[JobRecord, ...]:
        """Return the objects of a group; their Workload is called like it."""
        members = (followed.cache.get(key) for key in sorted(followed.cache.keys_in(BY_GROUP, (namespace, group))))
        return tuple(member for member in members if isinstance(member, JobRecord))

    def _follow_source(self, kind: ApiKind) -> None:
        """Take note that something changed from which the way to a worker is read."""
        self.client.follow(
            WatchedKind(
                kind,
                _version_of,
                namespace=self.namespace,
                required=False,
                on_change=lambda _key: self._notices.on_source(),
            )
        )

    def _follow_jobs(self, kind: JobKind) -> WatchedResource[JobRecord]:
        return self.client.follow(
            WatchedKind(
                api_kind(kind),
                job_reader(kind, on_hub=True),
                required=False,
                indexes={BY_GROUP: _group_of, BY_AFFINITY: _affinity_of},
                on_change=lambda key: self._notices.on_job(kind, key),
            )
        )


def readable(cache: Cache[CheckRecord]) -> list[CheckRecord]:
    """Return the objects of a cache that can be read."""
    values = (cache.get(key) for key in cache)
    return [value for value in values if isinstance(value, CheckRecord)]


def _checks_of(workload: HubRecord) -> Iterable[Hashable]:
    return tuple(entry.name for entry in workload.checks)


def _owner_of(workload: HubRecord) -> Iterable[Hashable]:
    owner = workload.owner
    return ((owner.gvk, workload.namespace, owner.name),) if owner is not None else ()


def _group_of(job: JobRecord) -> Iterable[Hashable]:
    return ((job.namespace, job.group),) if job.group else ()


def _affinity_of(obj: HubRecord | JobRecord) -> Iterable[Hashable]:
    return tuple(
        (obj.namespace, name, obj.targets[name])
        for name in (AFFINITY_GROUP, ANTI_AFFINITY_GROUP)
        if name in obj.targets
    )


def _version_of(raw: Obj) -> str:
    """Keep of a source only which version it is: its content is fetched when it is needed, and held nowhere."""
    return str(raw["metadata"]["resourceVersion"])
