"""One worker as the daemon holds it: its client, the caches of Workloads and jobs, and what it was found to speak.

Invariant: `reach` is SYNCED only when every cache that absence is read from is complete and the worker's spelling of
gates is known.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.names import ORIGIN_LABEL
from gates.dialect import KUEUE, Dialect
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.records import ReplicaRecord, replica_record
from gates.settings import SECOND
from gates.support import dialect_served, is_concurrent, judge_replica
from gates.view import GateSupport, Reach
from manager.judgement import GateJudgement
from manager.kinds import WORKLOADS, api_kind
from manager.logs import get_log
from manager.observation import Observation
from manager.permissions import complaint, needs_on_worker
from manager.pod_forecasts import PodForecasts
from workerclient.budget import BudgetLimits
from workerclient.cache import Unreadable
from workerclient.cluster import ClientLimits, ClusterClient, Connection, ConnectionReport, Followed, Surroundings
from workerclient.errors import ClusterError
from workerclient.kind import Key
from workerclient.preflight import Missing
from workerclient.reflector import Phase
from workerclient.watched import WatchedKind

BY_WORKLOAD: Final = "workload"
_DOUBT_SECONDS: Final = 600.0
"""How long a worker that showed no gate is believed not to have any; then it is tried again."""
_ASK_AGAIN_SECONDS: Final = 60.0
"""How long to wait before asking again for permissions that are missing."""
_NOTABLE_SKEW_NS: Final = 30 * SECOND


@dataclass(frozen=True, slots=True)
class Notices:
    """Whom a worker tells about changes; the callbacks return at once."""

    on_workload: Callable[[str, Key], None]
    on_job: Callable[[JobKind, Key, tuple[Key, ...]], None]
    on_connection: Callable[[str], None]


@dataclass(slots=True)
class Remembered:
    """What this process learnt about one Workload on one worker; losing it in a restart errs to asking again."""

    foreign_workload_until: float = 0.0
    foreign_job_until: float = 0.0
    confirmed: set[str] = field(default_factory=set)


class WorkerLink:
    """The connection to one worker; `run` once."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        surroundings: Surroundings,
        limits: ClientLimits,
        origin: str,
        kinds: Sequence[JobKind],
        notices: Notices,
        observation: Observation | None = None,
        *,
        pods: PodForecasts | None = None,
        asks_permissions: bool = True,
    ) -> None:
        self.name = name
        self._asks_permissions = asks_permissions
        self.observation = observation
        """What forecasts are made from; None when they are switched off."""
        self.pods = pods
        """What is said about pods; None unless the worker's entry asks for it."""
        self.access = access
        self.dialect: Dialect = KUEUE
        self.memory: dict[Key, Remembered] = {}
        self._clock = surroundings.clock
        self._notices = notices
        self._connected = asyncio.Event()
        self._is_understood = False
        self._judgement = GateJudgement(lambda: notices.on_connection(name))
        self._uses_variants = False
        self._kinds = kinds
        self._missing: list[Missing] = []
        self._doubted = asyncio.Event()
        self.client = ClusterClient(name, access, surroundings, limits, self._on_connection)
        selector = f"{ORIGIN_LABEL}={origin}"
        self.workloads: Followed[ReplicaRecord] = self.client.follow(
            WatchedKind(WORKLOADS, replica_record, label_selector=selector, on_change=self._on_workload)
        )
        self.jobs: dict[str, Followed[JobRecord]] = {
            kind.gvk: self.client.follow(
                WatchedKind(
                    api_kind(kind),
                    job_reader(kind),
                    label_selector=selector,
                    required=False,
                    indexes={BY_WORKLOAD: _workload_of},
                    on_change=self._job_notice(kind),
                )
            )
            for kind in kinds
        }

    @property
    def report(self) -> ConnectionReport:
        """Return whether the worker is there."""
        return self.client.report

    @property
    def is_connected(self) -> bool:
        """Return whether the worker can be used."""
        return self.report.connection is Connection.CONNECTED and self._is_understood

    @property
    def clock_skew_ns(self) -> int:
        """Return how far the worker's clock runs ahead of ours, as far as that is certain."""
        skew = self.client.skew
        if skew is None or abs(skew.seconds) <= skew.uncertainty_seconds:
            return 0
        return int(skew.seconds * 1e9)

    def reach(self, kind: JobKind | None) -> Reach:
        """Return whether absence on the worker may be believed, for a Workload whose job is of that kind."""
        if self.report.connection is Connection.LOST:
            return Reach.LOST
        if not self.is_connected or not self.workloads.cache.synced:
            return Reach.UNREADABLE
        if kind is not None and not self.jobs[kind.gvk].cache.synced and self.serves(kind):
            return Reach.UNREADABLE
        return Reach.SYNCED

    def serves(self, kind: JobKind | None) -> bool:
        """Return whether the worker knows a kind of job."""
        return kind is None or self.jobs[kind.gvk].reflector.state.phase is not Phase.NOT_SERVED

    def replica(self, key: Key) -> ReplicaRecord | Unreadable | None:
        """Return the Workload of that name with our origin."""
        return self.workloads.cache.get(key)

    def jobs_of(self, key: Key) -> list[tuple[str, JobRecord]]:
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

    def remember(self, key: Key) -> Remembered:
        """Return what this process learnt about a Workload here, to be read and changed."""
        return self.memory.setdefault(key, Remembered())

    def recall(self, key: Key) -> Remembered:
        """Return what this process learnt about a Workload here, to be read."""
        return self.memory.get(key) or _NOTHING

    def judge_gates(self, key: Key, replica: ReplicaRecord | None, *, may_try: bool) -> GateSupport:
        """Return whether the worker honours gates; `may_try` says that the Workload is about to be dispatched."""
        verdict = GateSupport.UNKNOWN
        if replica is not None:
            age_ns = self._clock.now_ns() - (replica.created_ns - self.clock_skew_ns)
            verdict = judge_replica(replica, self.dialect, age_ns)
        return self._judgement.judge(key, verdict, may_try=may_try and replica is None)

    @property
    def honours_no_gates(self) -> bool:
        """Return whether the worker's Kueue does not honour gates, as far as is known."""
        return self._judgement.is_missing

    def remarks(self) -> list[str]:
        """Return what is worth knowing about a worker that is connected."""
        found = []
        if self._judgement.is_missing:
            found.append("its Kueue does not honour preemption gates")
        if self._uses_variants:
            found.append(
                "its Kueue admits concurrently, which does not go with preemption gates: nothing preempts there"
            )
        if abs(self.clock_skew_ns) > _NOTABLE_SKEW_NS:
            found.append("its clock is more than 30 s off")
        if missing := complaint(self.name, self._notable_missing()):
            found.append(missing)
        return found

    def doubt_permissions(self) -> None:
        """Have it asked again soon what we may do here: something was refused."""
        self._doubted.set()

    def _notable_missing(self) -> list[Missing]:
        """Leave out kinds that are not served here, which is said already."""
        absent = {api_kind(kind) for kind in self._kinds if not self.serves(kind)}
        return [each for each in self._missing if each.kind not in absent]

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            group.create_task(self._understand())
            if self._asks_permissions:
                group.create_task(self._ask_permissions())
            group.create_task(self._doubt())
            if self.observation is not None:
                group.create_task(self.observation.run())
                group.create_task(self.observation.tell())
            if self.pods is not None:
                group.create_task(self.pods.observation.run())

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
        if self.report.connection is Connection.CONNECTED:
            self._is_understood = False  # it may be another cluster, or an upgraded one
            self._connected.set()

    async def _understand(self) -> None:
        """Learn after every connection how the worker spells gates; if it does not say, what was known stands."""
        while True:
            await self._connected.wait()
            self._connected.clear()
            try:
                dialect, knows_gates = dialect_served(await self.client.openapi(WORKLOADS))
                self.dialect = dialect or KUEUE
                self._judgement.learn(knows_gates=knows_gates)
            except ClusterError as error:
                get_log().warning("worker.schema_unread", worker=self.name, error=str(error))
            if not self._is_understood:
                self._is_understood = True
                self._doubted.set()
                self._notices.on_connection(self.name)

    async def _doubt(self) -> None:
        """Find out from time to time whether a worker without gates was upgraded."""
        while True:
            await self._clock.sleep(_DOUBT_SECONDS)
            if self.is_connected and self._judgement.is_missing:
                self._connected.set()

    async def _ask_permissions(self) -> None:
        """Ask after every connection and every refusal what we may do, and while something is missing, every minute."""
        while True:
            if self._missing:
                await self._clock.sleep(_ASK_AGAIN_SECONDS)
            else:
                await self._doubted.wait()
            self._doubted.clear()
            try:
                missing = await self.client.missing_permissions(needs_on_worker(self._kinds))
            except ClusterError:
                continue  # a cluster that does not tell is told by its refusals
            if missing != self._missing:
                self._missing = missing
                self._notices.on_connection(self.name)

    def _on_connection(self, report: ConnectionReport) -> None:
        if report.connection is not Connection.CONNECTED:
            self._is_understood = False
        elif not self._is_understood:
            self._connected.set()
        self._notices.on_connection(self.name)

    def _on_workload(self, key: Key) -> None:
        replica = self.workloads.cache.get(key)
        if not self._uses_variants and isinstance(replica, ReplicaRecord) and is_concurrent(replica):
            self._uses_variants = True
            self._notices.on_connection(self.name)
        self._notices.on_workload(self.name, key)

    def _job_notice(self, kind: JobKind) -> Callable[[Key], None]:
        def notice(key: Key) -> None:
            job = self.jobs[kind.gvk].cache.get(key)
            named = (Key(key.namespace, job.workload),) if isinstance(job, JobRecord) and job.workload else ()
            self._notices.on_job(kind, key, named)

        return notice


_NOTHING: Final = Remembered()


def _workload_of(job: JobRecord) -> Iterable[Hashable]:
    return (Key(job.namespace, job.workload),) if job.workload else ()
