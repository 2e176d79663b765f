"""A hub Workload and its workers that take actions as the real ones do: fenced, refused, or without effect.

What stands here is the truth. `seen` is what the caches would show of it: nothing of a worker that cannot be read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from config.api.meta import Condition
from gates.actions import (
    Action,
    CreateReplica,
    DeactivateReplica,
    Decision,
    EmitEvent,
    HubAction,
    OpenGate,
    PatchHubStatus,
    RecordOpenings,
    RecordOutOfSync,
    RecordWinner,
    RemoveRemote,
    StartRound,
    StopHubJob,
    SyncJob,
    UpdateReplicaSpec,
    WorkerAction,
)
from gates.view import CheckState, Drift, Group, JobSync, Reach, Replica, Worker


class RefusedError(Exception):
    """The other side does not take the write."""


@dataclass
class Opened:
    """A gate that really was opened."""

    cluster: str
    uid: str
    at: int


class SimulatedGroup:
    """The world around one hub Workload."""

    def __init__(self, group: Group, now_ns: int) -> None:
        self.workload = group.workload
        self.workers = {worker.name: worker for worker in group.workers}
        self.now = now_ns
        self.foreign_workloads: set[str] = set()
        self.failing: set[str] = set()
        self.openings: list[Opened] = []
        self.jobs_made: list[str] = []
        self.events = 0
        self._versions = 1000

    def seen(self) -> Group:
        """Show what can be read."""
        return Group(self.workload, tuple(self._seen(worker) for worker in self.workers.values()))

    def _seen(self, worker: Worker) -> Worker:
        if worker.reach is Reach.SYNCED:
            return replace(worker, job_sync=self.job_sync(worker))
        return replace(worker, replica=None, job_present=False, job_sync=JobSync.NONE)

    def job_sync(self, worker: Worker) -> JobSync:
        """Return what the adapter would do; a job that is there is up to date unless the test says otherwise."""
        replica = worker.replica
        if replica is None or worker.job_present or worker.job_sync is not JobSync.NONE:
            return worker.job_sync if replica is not None else JobSync.NONE
        if replica.is_true("Finished") or replica.is_true("Evicted") or not replica.is_true("Admitted"):
            return JobSync.NONE
        return JobSync.CREATE

    # --- carrying out

    def carry_out(self, decision: Decision, cut_after: int | None = None) -> None:
        """Carry out a decision as the shell does; `cut_after` so many actions the process dies."""
        left = cut_after
        for step in decision.steps:
            for action in step.actions:
                if left == 0:
                    return
                left = None if left is None else left - 1
                try:
                    self.apply(action)
                except RefusedError:
                    if not step.best_effort:
                        return

    def apply(self, action: Action) -> None:
        """Take one action, or refuse it."""
        match action:
            case RemoveRemote() | CreateReplica() | UpdateReplicaSpec() | OpenGate() | DeactivateReplica() | SyncJob():
                self._apply_remote(action)
            case _:
                self._apply_hub(action)

    def _apply_hub(self, action: HubAction) -> None:
        match action:
            case RecordOpenings(openings=openings):
                self.workload = replace(self.workload, openings=openings)
            case StartRound(started_ns=started):
                self.workload = replace(self.workload, round_started_ns=started)
            case RecordOutOfSync(clusters=clusters):
                for name, found in clusters:
                    self.workers[name] = replace(self.workers[name], out_of_sync=found)
            case EmitEvent():
                self.events += 1
            case RecordWinner(winner=winner):
                self.workload = replace(self.workload, winner=winner)
            case StopHubJob():
                self.workload = replace(self.workload, job_to_stop=False)
            case PatchHubStatus():
                self._patch(action)

    def _patch(self, patch: PatchHubStatus) -> None:
        """Change the status by the rules of Kueue's webhook."""
        workload = self.workload
        if patch.cluster_name is not None and patch.cluster_name != workload.cluster_name:
            if patch.cluster_name and (workload.cluster_name or patch.cluster_name not in workload.nominated):
                raise RefusedError
            workload = replace(workload, cluster_name=patch.cluster_name)
        if patch.nominated is not None:
            workload = replace(workload, nominated=patch.nominated)
        if workload.check is not None:
            state, message = patch.check_state or workload.check.state, patch.check_message
            message = workload.check.message if message is None else message
            workload = replace(workload, check=replace(workload.check, state=state, message=message))
        if patch.finished is not None:
            finished = Condition("Finished", "True", *patch.finished, self.now)
            workload = replace(workload, conditions={**workload.conditions, "Finished": finished})
        if patch.topology_ready:
            workload = replace(workload, topology_due=False)
        self.workload = workload

    def _apply_remote(self, action: WorkerAction) -> None:
        worker = self.workers[action.cluster]
        if worker.reach is Reach.LOST or worker.name in self.failing:
            self.workers[worker.name] = replace(worker, problem=f"cluster {worker.name} does not answer")
            raise RefusedError
        self.workers[worker.name] = worker = replace(worker, problem="")
        match action:
            case CreateReplica(gated=gated):
                self._create(worker, gated=gated)
            case RemoveRemote(replica_uid=uid):
                self._remove(worker, uid)
            case SyncJob():
                self._sync(worker)
            case UpdateReplicaSpec(replica_uid=uid, resource_version=version):
                self._fenced(worker, uid, version)
                self.change(worker.name, drift=Drift.NONE)
            case DeactivateReplica(replica_uid=uid, message=message):
                self._fenced(worker, uid, None)
                self.conclude(worker.name, "DeactivationTarget", message=message)
            case OpenGate(replica_uid=uid, resource_version=version, opened_ns=opened):
                self._fenced(worker, uid, version)
                self._open(worker, opened)

    def _fenced(self, worker: Worker, uid: str, version: str | None) -> None:
        replica = worker.replica
        if replica is None or replica.uid != uid or (version is not None and replica.resource_version != version):
            raise RefusedError

    def _create(self, worker: Worker, *, gated: bool) -> None:
        if worker.name in self.foreign_workloads:
            self.workers[worker.name] = replace(worker, foreign_replica=True)
            return
        if worker.replica is not None or worker.stale_uid:
            raise RefusedError
        version = self._version()
        made = Replica(f"{worker.name}-{version}", version, {}, has_gate=gated)
        self.workers[worker.name] = replace(worker, replica=made, opening_confirmed=False)

    def _remove(self, worker: Worker, uid: str | None) -> None:
        """Remove job and replica; a UID that is none of ours removes nothing."""
        kept = worker.replica if worker.replica is not None and worker.replica.uid != uid else None
        stale = "" if worker.stale_uid == uid else worker.stale_uid
        self.workers[worker.name] = replace(worker, replica=kept, stale_uid=stale, job_present=False)

    def _sync(self, worker: Worker) -> None:
        if self.job_sync(worker) is JobSync.CREATE:
            self.jobs_made.append(worker.name)
            worker = replace(worker, job_present=True)
        self.workers[worker.name] = replace(worker, job_sync=JobSync.NONE)

    def _open(self, worker: Worker, opened_ns: int) -> None:
        replica = worker.replica
        assert replica is not None
        if not worker.opening_confirmed:
            self.openings.append(Opened(worker.name, replica.uid, self.now))
        self.change(worker.name, gate_open=True, gate_opened_ns=opened_ns)
        self.workers[worker.name] = replace(self.workers[worker.name], opening_confirmed=True)

    # --- what workers do

    def change(self, name: str, **fields: object) -> None:
        """Change a replica; its version moves."""
        worker = self.workers[name]
        if worker.replica is not None:
            changed = replace(worker.replica, resource_version=self._version(), **fields)  # type: ignore[arg-type]
            self.workers[name] = replace(worker, replica=changed)

    def conclude(self, name: str, *types: str, status: str = "True", reason: str = "Test", message: str = "") -> None:
        """Set conditions of a replica."""
        replica = self.workers[name].replica
        if replica is not None:
            new = {t: Condition(t, status, reason, message, self.worker_now(name)) for t in types}
            self.change(name, conditions={**replica.conditions, **new})

    def worker_now(self, name: str) -> int:
        """Return what a worker's clock shows."""
        return self.now + self.workers[name].clock_skew_ns

    def _version(self) -> str:
        self._versions += 1
        return str(self._versions)

    # --- what the hub's Kueue does

    def conclude_on_hub(self, *conditions: Condition, without: Iterable[str] = ()) -> None:
        """Set and drop conditions of the hub's Workload."""
        kept = {name: c for name, c in self.workload.conditions.items() if name not in without}
        self.workload = replace(self.workload, conditions={**kept, **{c.type: c for c in conditions}})

    def evict_on_hub(self) -> None:
        """Evict as Kueue does: the check goes back to Pending, cluster and nominations are forgotten."""
        check = self.workload.check
        assert check is not None
        self.conclude_on_hub(Condition("Evicted", "True", "Preempted", "Preempted", self.now))
        pending = replace(check, state=CheckState.PENDING, message="Reset to Pending after eviction")
        self.workload = replace(self.workload, check=pending, cluster_name="", nominated=())
