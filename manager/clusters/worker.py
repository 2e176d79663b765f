"""One worker as the daemon holds it: its client, the caches of Workloads and jobs, and what it was found to speak.

Invariant: `reach` is SYNCED only when every cache that absence is read from is complete and the worker's spelling of
gates is known.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import ORIGIN_LABEL
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import is_concurrent
from gates.decision.gate_evidence import DOUBT_NS, Moment
from gates.detection.detected import DetectedKueue
from gates.diagnosis.capabilities import NOT_SPOKEN
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.model.activity import Health
from gates.model.identity import Authorship
from gates.model.settings import SECOND
from gates.model.view import GateSupport, Reach
from gates.wire.record_readers import replica_record
from gates.wire.records import ReplicaRecord
from manager.base.kinds import WORKLOADS, api_kind
from manager.clusters.kueue_detection import LOOK_AGAIN_SECONDS, KueueDetector
from manager.clusters.permissions import complaint
from manager.clusters.worker_context import WorkerContext, WorkerModels
from manager.clusters.worker_gates import WorkerGates
from manager.clusters.worker_identity import WorkerIdentity, replaced_error
from manager.clusters.worker_jobs import follow_jobs, jobs_of
from manager.clusters.worker_memory import WorkerMemory
from manager.clusters.worker_permissions import WorkerPermissions
from manager.logging.logs import get_log
from manager.process.supervision import Supervised, supervise
from workerclient.base.errors import ClusterError
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable
from workerclient.objects.connection_report import ConnectionReport, ConnectionState
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.questions.preflight import Missing
from workerclient.transport.budget import BudgetLimits

_DOUBT_SECONDS: Final = DOUBT_NS / SECOND
_IDENTIFY_AGAIN_SECONDS: Final = 60.0
"""How often it is checked that the address still leads to the same cluster."""
_NOTABLE_SKEW_NS: Final = 30 * SECOND


class WorkerLink:
    """The connection to one worker; when `run` failed it may be run again, with everything that was learnt."""

    def __init__(
        self,
        name: WorkerName,
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
        self._asks_permissions = context.asks_permissions
        self._notices = context.notices
        self._clock, self._jitter = context.client.clock, context.client.jitter
        self._failures = 0
        self._connected = asyncio.Event()
        self._is_understood = False
        self._identity = WorkerIdentity(name, context.identities, context.client, self._connected)
        remark = partial(context.notices.on_remark, name)
        self.gates = WorkerGates(name, self._moment, self.replica, context.ungated_policy, self._tell, remark)
        self._uses_variants = False
        self._kueue_version = ""
        self._on_kueue = context.on_kueue
        fenced, events = self._fenced(context.client), (self._on_connection, self._on_new_history)
        self.client = ClusterClient(name, access, fenced, limits, *events, self._confirm_cluster)
        self.kueue = KueueDetector(self.client, context.kueue_version)
        self._permissions = WorkerPermissions(self.client, context.client, context.kinds, self._tell)
        selector = f"{ORIGIN_LABEL}={context.origin}"
        self.workloads: WatchedResource[ReplicaRecord] = self.client.follow(
            WatchedKind(WORKLOADS, replica_record, label_selector=selector, on_change=self._on_workload)
        )
        self.jobs = follow_jobs(self.client, context.kinds, selector, context.notices.on_job)

    def _fenced(self, context: ClientContext) -> ClientContext:
        may_write = context.may_write
        return replace(context, may_write=lambda: self._identity.is_known and self.refusal is None and may_write())

    @property
    def report(self) -> ConnectionReport:
        """Return whether the worker is there."""
        report, state = self.client.report, self.workloads.reflector.state
        is_about_version = state.phase is CachePhase.NOT_SERVED and report.message == state.problem
        return replace(report, message=NOT_SPOKEN) if is_about_version else report

    @property
    def is_connected(self) -> bool:
        """Return whether the worker can be used."""
        is_there = self.report.connection is ConnectionState.CONNECTED and self._is_understood
        return is_there and self.refusal is None

    @property
    def refusal(self) -> Health | None:
        """Return why the worker must not be used although it can be reached: it is another cluster's name."""
        return self._identity.refusal

    @property
    def authorship(self) -> Authorship:
        """Return which objects here were written by this worker's name."""
        return self._identity.authorship

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
        return jobs_of(self.jobs, key)

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
        if remark := self.gates.remark:
            found.append(remark)
        found.extend(self.kueue.found.problems)
        if self._uses_variants:
            found.append(
                "its Kueue admits concurrently, which does not go with preemption gates: nothing preempts there"
            )
        if abs(self.clock_skew_ns) > _NOTABLE_SKEW_NS:
            found.append("its clock is more than 30 s off")
        if self._identity.is_withheld:
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
            group.create_task(self._keep_identifying())
            group.create_task(self._keep_detecting())
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
        self._identity.start_again()
        if self.report.connection is ConnectionState.CONNECTED:
            self._is_understood = False  # it may be another cluster, or an upgraded one
            self._connected.set()

    async def _understand(self) -> None:
        """Learn after every connection how the worker spells gates; if it does not say, what was known stands."""
        while True:
            await self._connected.wait()
            self._connected.clear()
            try:
                self._learn(await self.kueue.detect())
            except ClusterError as error:
                get_log().warning("worker.schema_unread", worker=self.name, error=str(error))
            if not await self._identity.identify(self.client, self.workloads.cache):
                continue
            if not self._is_understood:
                self._is_understood = True
                self._permissions.doubt()
                self.gates.report()
                self._tell()

    def _learn(self, found: DetectedKueue) -> None:
        self.gates.learn(found)
        self._on_kueue(found)
        if found.text != self._kueue_version:
            get_log().info("worker.kueue_version", worker=self.name, version=found.text, source=str(found.source))
            self._kueue_version = found.text
            self._tell()

    async def _keep_detecting(self) -> None:
        """Look from time to time whether the worker's Kueue was upgraded while the connection stayed."""
        while True:
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
            if self.is_connected and await self.kueue.has_changed():
                self._connected.set()

    async def _confirm_cluster(self) -> None:
        """See that a list is from the cluster that was identified: the address may lead to another one by now.

        If it does, nothing that was learnt counts any more. Raises `ClusterError`.
        """
        if not await self._identity.was_replaced(self.client):
            return
        self.client.reconfigure(self.access)
        self._start_again()
        raise replaced_error(self.name)

    async def _keep_identifying(self) -> None:
        """Ask from time to time, for roles and what is behind an address change without the connection ending."""
        while True:
            await self._clock.sleep(_IDENTIFY_AGAIN_SECONDS)
            if self._identity.is_read:
                with suppress(ClusterError):  # the watches tell whether the cluster is there
                    await self._confirm_cluster()

    async def _doubt(self) -> None:
        """Find out from time to time whether a silent worker still is, and whether one without gates was upgraded."""
        while True:
            await self._clock.sleep(_DOUBT_SECONDS)
            self.gates.examine_unseen()
            if self.is_connected and self.gates.verdict is GateSupport.MISSING:
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
        if isinstance(replica, ReplicaRecord):
            self._identity.note_mark(replica)
        if not self._uses_variants and isinstance(replica, ReplicaRecord) and is_concurrent(replica):
            self._uses_variants = True
            self._tell()
        self.gates.note_change(key)
        self._notices.on_workload(self.name, key)
