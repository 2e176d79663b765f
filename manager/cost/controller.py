"""The cost controller of one cluster: reconciles its Jobs and writes what preempting them would cost.

A reconcile takes Job and Workload from the caches, decides, and writes. A conflict leads to a fresh read and a new
decision. No reconcile starts before both caches are complete, so that no cost is computed from partial data.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar, assert_never

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from engine.cost.facts import QUEUE_LABEL, JobFacts, WorkloadFacts, job_facts, workload_facts
from engine.cost.rules import CostPolicy, KeepCost, Leave, Untouched, WriteCost, current_workload, decide_cost
from engine.objects.boost import PREEMPTION_COST_ANNOTATION
from manager.base.kinds import JOBS, WORKLOADS
from manager.base.memory_limits import MOST_VALUES
from manager.base.retrying import RetriedOperation
from manager.cost.complaints import INVALID_COST, MODEL_FAILED, Complaints
from manager.cost.metrics import CostMetrics, Origin
from manager.cost.propagating import CostPropagation, Propagator
from manager.logging.logs import begin_cause, get_log
from manager.queueing.backoff import KeyedFailures, is_outrun
from manager.queueing.queue import KeyedQueue
from workerclient.base.errors import ClusterError, Conflict, NotFound, excerpt
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable
from workerclient.objects.connection_report import ConnectionReport, ConnectionState
from workerclient.objects.resource import Precondition
from workerclient.objects.watched import WatchedKind

Facts = TypeVar("Facts", JobFacts, WorkloadFacts)

_BY_OWNER: Final = "owner"
_LOOKS_AT_ONCE: Final = 16
"""A reconcile that waits for the cluster's budget uses older state, so few may wait at a time."""
_LONGEST_SHOWN: Final = 64
_TRIES: Final = 4
"""How often a reconcile rereads after conflicts before it yields to others."""


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What is done on one cluster."""

    policy: CostPolicy
    refresh_seconds: float
    """How often to reconcile without an event; 0 for never."""
    propagation: CostPropagation


class CostController:
    """The controller of one cluster. To be made inside the running loop; when `run` failed it may be run again."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        context: ClientContext,
        limits: ClientLimits,
        settings: CostSettings,
        metrics: CostMetrics,
    ) -> None:
        self.name = name
        self.access = access
        self._settings = settings
        self._metrics = metrics
        self._clock, self._jitter = context.clock, context.jitter
        self._slots = asyncio.Semaphore(_LOOKS_AT_ONCE)
        self._failures: KeyedFailures[ObjectKey] = KeyedFailures(
            RetriedOperation.COST, context.jitter, context.on_retry
        )
        self._uids: dict[ObjectKey, str] = {}
        """Jobs that something is remembered about."""
        self._job_of: dict[ObjectKey, ObjectKey] = {}
        """Jobs by Workload, to find the Job of a deleted Workload."""
        self.queue: KeyedQueue[ObjectKey] = KeyedQueue(self._clock)
        self.client = ClusterClient(name, access, context, limits, self._on_connection)
        self.jobs: WatchedResource[JobFacts] = self.client.follow(
            WatchedKind(JOBS, job_facts, label_selector=QUEUE_LABEL, most_values=MOST_VALUES, on_change=self._add)
        )
        self.workloads: WatchedResource[WorkloadFacts] = self.client.follow(
            WatchedKind(
                WORKLOADS,
                workload_facts,
                most_values=MOST_VALUES,
                indexes={_BY_OWNER: _owner_of},
                on_change=self._on_workload,
            )
        )
        self._complaints = Complaints(self.client, self._clock)
        self.propagator = Propagator(settings.propagation, self.workloads, self._complaints, metrics, self._clock, name)
        metrics.begin(name)

    @property
    def is_connected(self) -> bool:
        """Return whether costs may be computed from the caches."""
        is_there = self.client.report.connection is ConnectionState.CONNECTED
        return is_there and self.jobs.cache.synced and self.workloads.cache.synced

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            group.create_task(self.queue.serve(self._reconcile))

    def fail(self, problem: str) -> None:
        """Count a failure, and compute no costs until recovered."""
        self._metrics.count_restart(self.name)
        self.client.fail(problem)

    def recover(self) -> None:
        """Take the cluster for what its watches show."""
        self.client.recover()

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self.client.reconfigure(access)
        self.access = access

    # --- which Jobs to reconcile

    def _add(self, key: ObjectKey) -> None:
        if self.is_connected:  # before the lists are complete nothing is decided; then everything is reconciled
            self.queue.add(key)

    def _on_connection(self, report: ConnectionReport) -> None:
        get_log().info("cost.connection", cluster=self.name, state=report.connection, message=report.message)
        if self.is_connected:
            self.queue.add_all(self.name, lambda: list(self.jobs.cache))

    def _on_workload(self, key: ObjectKey) -> None:
        workload = self.workloads.cache.get(key)
        before = self._job_of.pop(key, None)
        if isinstance(workload, WorkloadFacts) and workload.owner:
            self._job_of[key] = ObjectKey(key.namespace, workload.owner)
            self._add(self._job_of[key])
        elif before is not None:
            self._add(before)

    # --- one reconcile

    async def _reconcile(self, key: ObjectKey) -> None:
        async with self._slots:
            if not self.is_connected:
                return  # everything is reconciled once the cluster answers
            begin_cause()
            try:
                await self._bring_up_to_date(key)
            except ClusterError as error:
                self._failed(key, error)
            except _UnreadableError as error:
                self._unreadable(key, str(error))
            except Exception as error:  # noqa: BLE001 - the boundary of a task: one Job must not end the daemon
                self._metrics.count_error(self.name)
                get_log().error("cost.failed", cluster=self.name, job=str(key), exc_info=error)
                self.queue.add_after(key, self._failures.next_wait(key, error))
            else:
                self._failures.forget(key)

    async def _bring_up_to_date(self, key: ObjectKey) -> None:
        job = self.jobs.cache.get(key)
        if isinstance(job, Unreadable):
            self._unreadable(key, job.problem)
            return
        if job is None or job.is_finished:
            self._forget(key)
            return
        self._uids[key] = job.uid
        workload = current_workload(self._workloads_of(job))
        priced = await self._price(job, workload)
        again = [self._settings.refresh_seconds * (0.9 + 0.1 * self._jitter())]
        if priced is not None and workload is not None:
            again.append(await self.propagator.propagate(priced, workload))
        if soonest := min((seconds for seconds in again if seconds > 0), default=0.0):
            self.queue.add_after(key, soonest)

    async def _price(self, job: JobFacts, workload: WorkloadFacts | None) -> JobFacts | None:
        """Write the cost of a Job if it is wrong; return the resulting Job, None if it gets no cost."""
        for _ in range(_TRIES):
            decision = decide_cost(job, workload, self._settings.policy, self._clock.now_ns())
            match decision:
                case Leave(reason):
                    return job if reason is Untouched.UP_TO_DATE else None
                case KeepCost(problem):
                    await self._report_model(job, problem)
                    return job
                case WriteCost():
                    try:
                        return await self._write(job, decision)
                    except Conflict as error:
                        conflict = error
                case _:
                    assert_never(decision)
            fresh = await self._fresh_job(job)
            if fresh is None:
                return None
            job, workload = fresh, await self._fresh_workload(job, workload)
        raise conflict

    async def _write(self, job: JobFacts, decision: WriteCost) -> JobFacts | None:
        key, fence = job.key, Precondition(job.uid, job.resource_version)
        patch = {"metadata": {"annotations": {PREEMPTION_COST_ANNOTATION: decision.text}}}
        await self.jobs.resource.merge_patch(key, patch, fence)
        self._metrics.count_update(self.name)
        previous = None if decision.previous is None else decision.previous[:_LONGEST_SHOWN]
        change = {"previous": previous, "cost": decision.cost, "model": self._settings.policy.model_name}
        get_log().info("cost.updated", cluster=self.name, job=str(key), **change)
        if decision.replaces_invalid:
            self._metrics.count_invalid(self.name, Origin.ANNOTATION)
            problem = f'annotation {PREEMPTION_COST_ANNOTATION}: "{previous}" is not an integer of 32 bits'
            await self._complaints.complain(job, INVALID_COST, f"{problem}; it was replaced by {decision.cost}")
        written = self.jobs.cache.get(key)
        return written if isinstance(written, JobFacts) else None

    async def _report_model(self, job: JobFacts, problem: str) -> None:
        self._metrics.count_invalid(self.name, Origin.MODEL)
        self._metrics.count_error(self.name)
        kept = f"the cost stays {job.cost}" if job.cost is not None else "no cost is written"
        await self._complaints.complain(job, MODEL_FAILED, f"{problem}; {kept}")

    async def _fresh_job(self, job: JobFacts) -> JobFacts | None:
        """Read a Job again; None if it is gone or was replaced."""
        try:
            fresh = _read(job_facts, await self.jobs.resource.get(job.key))
        except NotFound:
            return None
        return fresh if fresh.uid == job.uid else None

    async def _fresh_workload(self, job: JobFacts, workload: WorkloadFacts | None) -> WorkloadFacts | None:
        if workload is None:
            return None
        try:
            raw = await self.workloads.resource.get(workload.key)
        except NotFound:
            return None
        fresh = _read(workload_facts, raw)
        return current_workload([fresh] if fresh.owner_uid == job.uid else [])

    def _workloads_of(self, job: JobFacts) -> Iterable[WorkloadFacts]:
        for key in self.workloads.cache.keys_in(_BY_OWNER, job.uid):
            workload = self.workloads.cache.get(key)
            if isinstance(workload, WorkloadFacts):
                yield workload

    def _failed(self, key: ObjectKey, error: ClusterError) -> None:
        if not is_outrun(error):
            self._metrics.count_error(self.name)
            get_log().warning("cost.unwritten", cluster=self.name, job=str(key), error=str(error))
        self.queue.add_after(key, self._failures.next_wait(key, error))

    def _unreadable(self, key: ObjectKey, problem: str) -> None:
        self._metrics.count_error(self.name)
        get_log().warning("cost.unreadable", cluster=self.name, job=str(key), problem=problem)

    def _forget(self, key: ObjectKey) -> None:
        self._failures.forget(key)
        uid = self._uids.pop(key, None)
        if uid is not None:
            self._complaints.forget(uid)
            self.propagator.forget(uid)


class _UnreadableError(Exception):
    """A fresh read returned a malformed object."""


def _read(project: Callable[[Obj], Facts], raw: Obj) -> Facts:
    try:
        return project(raw)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _UnreadableError(excerpt(f"{type(error).__name__}: {error}")) from error


def _owner_of(workload: WorkloadFacts) -> Iterable[Hashable]:
    return (workload.owner_uid,) if workload.owner_uid else ()
