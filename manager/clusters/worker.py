"""One worker as the daemon holds it: its client, the caches of Workloads and jobs, and what it was found to speak.

Invariant: `reach` is SYNCED only when every cache that absence is read from is complete and the worker's spelling of
gates is known.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import ORIGIN_LABEL
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import is_concurrent
from gates.decision.gate_evidence import DOUBT_NS, Moment
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.model.activity import Health
from gates.model.identity import Authorship
from gates.model.settings import SECOND
from gates.model.view import Reach
from gates.wire.records import ReplicaRecord, replica_record
from manager.base.kinds import NAMESPACES, WORKLOADS, api_kind
from manager.base.retrying import LONGEST_WAIT_SECONDS, RetriedOperation
from manager.clusters.cluster_identity import SYSTEM_NAMESPACE, ClusterIdentities
from manager.clusters.permissions import complaint
from manager.clusters.worker_gates import WorkerGates
from manager.clusters.worker_memory import WorkerMemory
from manager.clusters.worker_permissions import WorkerPermissions
from manager.logging.logs import get_log
from manager.models.observation import Observation
from manager.models.pod_forecasts import PodForecasts
from manager.process.supervision import Supervised, supervise
from workerclient.base.backoff import Backoff, Failures
from workerclient.base.errors import ClusterError, Operation, ProtocolViolation
from workerclient.base.kind import ApiKind
from workerclient.cluster import (
    ClientContext,
    ClientLimits,
    ClusterClient,
    ConnectionReport,
    ConnectionState,
    WatchedResource,
)
from workerclient.objects.cache import Unreadable
from workerclient.objects.reflector import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.questions.preflight import Missing
from workerclient.transport.budget import BudgetLimits

BY_WORKLOAD: Final = "workload"
_DOUBT_SECONDS: Final = DOUBT_NS / SECOND
_IDENTIFY_AGAIN_SECONDS: Final = 60.0
"""How often it is checked that the address still leads to the same cluster."""
_FIRST_WAIT_SECONDS: Final = 1.0
_NOTABLE_SKEW_NS: Final = 30 * SECOND


@dataclass(frozen=True, slots=True)
class Notices:
    """Whom a worker tells about changes; the callbacks return at once."""

    on_workload: Callable[[str, ObjectKey], None]
    on_job: Callable[[JobKind, ObjectKey, tuple[ObjectKey, ...]], None]
    on_connection: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What the connections to all workers have in common."""

    client: ClientContext
    origin: str
    """Whose replicas and jobs are followed."""
    kinds: Sequence[JobKind]
    notices: Notices
    identities: ClusterIdentities | None = None
    asks_permissions: bool = True


@dataclass(frozen=True, slots=True)
class WorkerModels:
    """What forecasts about one worker are made from."""

    observation: Observation | None = None
    """None when forecasts are switched off."""
    pods: PodForecasts | None = None
    """None unless the worker's entry asks for forecasts of pods."""


class WorkerLink:
    """The connection to one worker; when `run` failed it may be run again, with everything that was learnt."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        limits: ClientLimits,
        context: WorkerContext,
        models: WorkerModels | None = None,
    ) -> None:
        models = models or WorkerModels()
        self.name = name
        self.access = access
        self.observation, self.pods = models.observation, models.pods
        self.memory = WorkerMemory()
        self.kinds = {kind.gvk: kind for kind in context.kinds}
        self._kinds = context.kinds
        self._identities = context.identities
        self._asks_permissions = context.asks_permissions
        self._notices = context.notices
        self._clock, self._jitter = context.client.clock, context.client.jitter
        self._failures = 0
        self._on_retry = context.client.on_retry
        # Without jitter: each worker is asked over its own connection, and a list that arrives waits for the answer.
        self._identity_wait = Backoff(self._jitter, _FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, least=1.0)
        self._connected = asyncio.Event()
        self._is_understood = False
        self._is_identified = self._identities is None
        """Whether it was read which cluster this access leads to: nothing is written to an unknown one."""
        self.gates = WorkerGates(name, self._moment, self._tell)
        self._uses_variants = False
        fenced, events = self._fenced(context.client), (self._on_connection, self._on_new_history)
        self.client = ClusterClient(name, access, fenced, limits, *events, self._confirm_cluster)
        self._permissions = WorkerPermissions(self.client, context.client, context.kinds, self._tell)
        selector = f"{ORIGIN_LABEL}={context.origin}"
        self.workloads: WatchedResource[ReplicaRecord] = self.client.follow(
            WatchedKind(WORKLOADS, replica_record, label_selector=selector, on_change=self._on_workload)
        )
        self.jobs = {kind.gvk: self._follow_jobs(kind, selector) for kind in context.kinds}

    def _fenced(self, context: ClientContext) -> ClientContext:
        may_write = context.may_write
        return replace(context, may_write=lambda: self._is_identified and self.refusal is None and may_write())

    def _follow_jobs(self, kind: JobKind, selector: str) -> WatchedResource[JobRecord]:
        return self.client.follow(
            WatchedKind(
                api_kind(kind),
                job_reader(kind),
                label_selector=selector,
                required=False,
                indexes={BY_WORKLOAD: _workload_of},
                on_change=self._job_notice(kind),
            )
        )

    @property
    def report(self) -> ConnectionReport:
        """Return whether the worker is there."""
        return self.client.report

    @property
    def is_connected(self) -> bool:
        """Return whether the worker can be used."""
        is_there = self.report.connection is ConnectionState.CONNECTED and self._is_understood
        return is_there and self.refusal is None

    @property
    def refusal(self) -> Health | None:
        """Return why the worker must not be used although it can be reached: it is another cluster's name."""
        return self._identities.refusal(self.name) if self._identities is not None else None

    @property
    def authorship(self) -> Authorship:
        """Return which objects here were written by this worker's name."""
        return self._identities.authorship(self.name) if self._identities is not None else Authorship(self.name)

    @property
    def clock_skew_ns(self) -> int:
        """Return how far the worker's clock runs ahead of ours, as far as that is certain."""
        skew = self.client.skew
        if skew is None or abs(skew.seconds) <= skew.uncertainty_seconds:
            return 0
        return int(skew.seconds * NANOSECONDS)

    @property
    def clock_uncertainty_ns(self) -> int:
        """Return by how much `clock_skew_ns` may be wrong."""
        skew = self.client.skew
        if skew is None:
            return 0
        missed = abs(skew.seconds) if self.clock_skew_ns == 0 else 0.0
        return int((missed + skew.uncertainty_seconds) * NANOSECONDS)

    def reach(self, kind: JobKind | None) -> Reach:
        """Return whether absence on the worker may be believed, for a Workload whose job is of that kind."""
        if self.report.connection is ConnectionState.LOST or self.refusal is not None:
            return Reach.LOST
        if not self.is_connected or not self.workloads.cache.synced:
            return Reach.UNREADABLE
        if kind is not None and not self.jobs[kind.gvk].cache.synced and self.serves(kind):
            return Reach.UNREADABLE
        return Reach.SYNCED

    def serves(self, kind: JobKind | None) -> bool:
        """Return whether the worker knows a kind of job."""
        return kind is None or self.jobs[kind.gvk].reflector.state.phase is not CachePhase.NOT_SERVED

    def replica(self, key: ObjectKey) -> ReplicaRecord | Unreadable | None:
        """Return the Workload of that name with our origin."""
        return self.workloads.cache.get(key)

    def jobs_of(self, key: ObjectKey) -> list[tuple[str, JobRecord]]:
        """Return the jobs with our origin that name the Workload, with their kinds."""
        found = []
        for gvk, followed in self.jobs.items():
            if len(followed.cache) == 0:
                continue
            for job_key in followed.cache.keys_in(BY_WORKLOAD, key):
                job = followed.cache.get(job_key)
                if isinstance(job, JobRecord):
                    found.append((gvk, job))
        return found

    @property
    def dialect(self) -> GateDialect:
        """Return how the worker spells gates."""
        return self.gates.dialect

    def _moment(self) -> Moment:
        return Moment(self._clock.now_ns() + self.clock_skew_ns, int(self._clock.monotonic() * SECOND))

    def _tell(self) -> None:
        self._notices.on_connection(self.name)

    def remarks(self) -> list[str]:
        """Return what is worth knowing about a worker that is connected."""
        found = []
        if self.gates.are_missing:
            found.append("its Kueue does not honour preemption gates")
        if self._uses_variants:
            found.append(
                "its Kueue admits concurrently, which does not go with preemption gates: nothing preempts there"
            )
        if abs(self.clock_skew_ns) > _NOTABLE_SKEW_NS:
            found.append("its clock is more than 30 s off")
        if self._identities is not None and self._identities.is_withheld(self.name):
            found.append(
                "its role does not allow get on namespaces kube-system, so it is not known which cluster it is "
                "(apply deploy/rbac/worker.yaml there)"
            )
        if missing := complaint(self.name, self._notable_missing()):
            found.append(missing)
        return found

    def doubt_permissions(self) -> None:
        """Have it asked again soon what we may do here: something was refused."""
        self._permissions.doubt()

    def _notable_missing(self) -> list[Missing]:
        """Leave out kinds that are not served here, which is said already."""
        absent = {api_kind(kind) for kind in self._kinds if not self.serves(kind)}
        return [each for each in self._permissions.missing if each.kind not in absent]

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            group.create_task(self._understand())
            if self._asks_permissions:
                group.create_task(self._permissions.run())
            group.create_task(self._doubt())
            if self._identities is not None:
                group.create_task(self._keep_identifying(self._identities))
            if self.observation is not None:
                group.create_task(self._supervise(self.observation, "forecasts.failed"))
            if self.pods is not None:
                group.create_task(self._supervise(self.pods.observation, "podforecasts.failed"))

    @property
    def retries(self) -> int:
        """Return how many requests to the worker were sent again after a failure."""
        observed = self.observation.retries if self.observation is not None else 0
        return self.client.retries + observed + (self.pods.observation.retries if self.pods is not None else 0)

    @property
    def failures(self) -> int:
        """Return how often following the worker failed on something unforeseen, and began again."""
        observed = self.observation.failures if self.observation is not None else 0
        return self._failures + observed + (self.pods.observation.failures if self.pods is not None else 0)

    def fail(self, problem: str) -> None:
        """Count a failure, and the worker as lost until it recovers."""
        self._failures += 1
        self.client.fail(problem)

    def recover(self) -> None:
        """Take the worker for what its watches show."""
        self.client.recover()

    async def _supervise(self, observation: Supervised, event: str) -> None:
        """Keep failures of forecasts from the gates."""
        observation.recover()  # from what was before the whole link failed, which is over
        await supervise(self.name, observation, self._clock, self._jitter, event)

    def change_budget(self, limits: BudgetLimits) -> None:
        """Ask more or less of the worker from now on."""
        self.client.change_budget(limits)

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self.client.reconfigure(access)
        if self.observation is not None:
            self.observation.reconfigure(access)
        if self.pods is not None:
            self.pods.observation.reconfigure(access)
        self.access = access
        self._start_again()

    def _start_again(self) -> None:
        self._is_identified = self._identities is None
        if self.report.connection is ConnectionState.CONNECTED:
            self._is_understood = False  # it may be another cluster, or an upgraded one
            self._connected.set()

    async def _understand(self) -> None:
        """Learn after every connection how the worker spells gates; if it does not say, what was known stands."""
        while True:
            await self._connected.wait()
            self._connected.clear()
            try:
                self.gates.learn(await self.client.openapi(WORKLOADS))
            except ClusterError as error:
                get_log().warning("worker.schema_unread", worker=self.name, error=str(error))
            if not await self._identify():
                continue
            if not self._is_understood:
                self._is_understood = True
                self._permissions.doubt()
                self._tell()

    async def _identify(self) -> bool:
        """Learn which cluster this is; False if the connection ended meanwhile, so that it may be another one now."""
        failures = Failures(RetriedOperation.WORKER_IDENTITY, self._identity_wait, self._on_retry, self.name)
        while self._identities is not None and not await self._read_identity(self._identities):
            with suppress(TimeoutError):
                async with self._clock.timeout(failures.next_wait()):
                    await self._connected.wait()
            if self.report.connection is not ConnectionState.CONNECTED or self._connected.is_set():
                return False
        self._is_identified = self.report.connection is ConnectionState.CONNECTED and not self._connected.is_set()
        return self._is_identified

    async def _read_identity(self, identities: ClusterIdentities) -> bool:
        """Read the identity; one that is withheld is told by our own objects, which have to be known then."""
        self._note_marks(identities)
        if not await identities.read(self.name, self.client):
            return False
        if not identities.is_withheld(self.name):
            return True
        self._note_marks(identities)
        identities.review()
        return self.workloads.cache.synced

    def _note_marks(self, identities: ClusterIdentities) -> None:
        cache = self.workloads.cache
        replicas = (cache.get(key) for key in cache) if cache.synced else ()
        found = [(each.hub, each.cluster) for each in replicas if isinstance(each, ReplicaRecord)]
        identities.start_marks(self.name, found)

    async def _confirm_cluster(self) -> None:
        """See that a list is from the cluster that was identified: the address may lead to another one by now.

        If it does, nothing that was learnt counts any more. Raises `ClusterError`.
        """
        if self._identities is None or not self._is_identified:
            return  # it is read which cluster this is before anything is concluded
        if await self._identities.is_same(self.name, self.client):
            return
        get_log().warning("worker.cluster_replaced", worker=self.name)
        self._identities.ended(self.name)
        self.client.reconfigure(self.access)
        self._start_again()
        operation = Operation(self.name, "get", NAMESPACES.resource, SYSTEM_NAMESPACE.name)
        raise ProtocolViolation(operation, "the address leads to another cluster than before")

    async def _keep_identifying(self, identities: ClusterIdentities) -> None:
        """Ask from time to time, for roles and what is behind an address change without the connection ending."""
        while True:
            await self._clock.sleep(_IDENTIFY_AGAIN_SECONDS)
            if identities.is_read(self.name):
                with suppress(ClusterError):  # the watches tell whether the cluster is there
                    await self._confirm_cluster()

    async def _doubt(self) -> None:
        """Find out from time to time whether a silent worker still is, and whether one without gates was upgraded."""
        while True:
            await self._clock.sleep(_DOUBT_SECONDS)
            if (key := self.gates.unseen) is not None:
                unseen = self.replica(key)
                self.gates.note_evidence(key, unseen if isinstance(unseen, ReplicaRecord) else None)
            if self.is_connected and self.gates.are_missing:
                self._connected.set()

    def _on_connection(self, report: ConnectionReport) -> None:
        if report.connection is not ConnectionState.CONNECTED:
            self._is_understood = False
        elif not self._is_understood:
            self._connected.set()
        self._tell()

    def _on_new_history(self, kind: ApiKind) -> None:
        get_log().warning("worker.history_rewritten", worker=self.name, kind=kind.kind)

    def _on_workload(self, key: ObjectKey) -> None:
        replica = self.workloads.cache.get(key)
        if self._identities is not None and isinstance(replica, ReplicaRecord):
            self._identities.note_mark(self.name, replica.hub, replica.cluster)
        if not self._uses_variants and isinstance(replica, ReplicaRecord) and is_concurrent(replica):
            self._uses_variants = True
            self._tell()
        self._notices.on_workload(self.name, key)

    def _job_notice(self, kind: JobKind) -> Callable[[ObjectKey], None]:
        def notice(key: ObjectKey) -> None:
            job = self.jobs[kind.gvk].cache.get(key)
            named = (ObjectKey(key.namespace, job.workload),) if isinstance(job, JobRecord) and job.workload else ()
            self._notices.on_job(kind, key, named)

        return notice


def _workload_of(job: JobRecord) -> Iterable[Hashable]:
    return (ObjectKey(job.namespace, job.workload),) if job.workload else ()
