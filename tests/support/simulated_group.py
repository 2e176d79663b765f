"""A hub Workload and its workers that take actions as the real ones do: fenced, refused, late, or without effect.

What stands here is the truth. `seen` is what the caches would show of it: nothing of a worker that cannot be read.
True time is `passed`; the clocks that the code under test reads may be set to anything.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from config.api.identifiers import NO_WORKER, ReplicaUID, WorkerName
from config.api.meta import Condition
from gates.decision.ledger import is_between_attempts, lost, observed_openings
from gates.model.actions import (
    Action,
    CloseGate,
    CreateReplica,
    DeactivateReplica,
    Decision,
    EmitEvent,
    HubAction,
    OpenGate,
    PatchHubStatus,
    ProbeWorker,
    RecordForecast,
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
from gates.model.hub_workload import CheckState
from gates.model.openings import Opening, Steady
from gates.model.view import Drift, JobSync, Reach, Replica, WorkerView, WorkloadView
from manager.reconcile.windows import first_recorded


class RefusedError(Exception):
    """The other side does not take the write."""


@dataclass
class Opened:
    """A gate that really was opened, or a replica without one that was made."""

    cluster: str
    uid: str
    at: int
    """In true time."""
    attempt: int


@dataclass
class Memory:
    """What the process remembers and a restart loses."""

    openings: tuple[Opening, ...] = ()
    effects: dict[tuple[str, str, int], int] = field(default_factory=dict)
    tries: dict[tuple[str, str, int], int] = field(default_factory=dict)
    own: set[tuple[str, str, int]] = field(default_factory=set)
    """Openings that this process recorded, so that no other can have sent them."""


class SimulatedGroup:
    """The world around one hub Workload."""

    def __init__(self, view: WorkloadView, now_ns: int, *, measured: bool = False) -> None:
        """With `measured` the daemon has a steady clock."""
        self.passed = 0
        self.attempt = 0
        """How many times the hub has reserved quota, which no clock and no record can hide."""
        self.boot: Steady | None = Steady("boot 1", 0) if measured else None
        """What the steady clock showed when no time had passed."""
        self.memory = Memory()
        self.on_the_way: frozenset[str] = frozenset()
        """Where an opening is on its way."""
        self.reverted: set[str] = set()
        """Replicas whose open gate was closed by a status write of the worker: that is only written again."""
        self.workload = view.workload
        self.workers = {worker.name: worker for worker in view.workers}
        self.now = now_ns
        self.foreign_workloads: set[str] = set()
        self.failing: set[str] = set()
        self.terminating_slowly: set[str] = set()
        """Where a deleted object stays until it is let go."""
        self.awaited_since: dict[str, int] = {}
        self.openings: list[Opened] = []
        self.jobs_made: list[str] = []
        self.events = 0
        self._versions = 1000

    def seen(self) -> WorkloadView:
        """Show what can be read."""
        self._notice()
        if self.boot is not None and is_between_attempts(self.workload):
            group = WorkloadView(
                self.workload, tuple(self._seen(worker) for worker in self.workers.values()), self.steady
            )
            found = (o for o in observed_openings(group) if o not in self.memory.openings)
            self.memory.openings = (*self.memory.openings, *found)
        workload = self.workload
        if self.boot is not None:
            missing = lost(self.memory.openings, workload.openings)
            workload = replace(workload, lost_openings=missing)
        return WorkloadView(workload, tuple(self._seen(worker) for worker in self.workers.values()), self.steady)

    @property
    def steady(self) -> Steady | None:
        """Read the daemon's steady clock."""
        return None if self.boot is None else Steady(self.boot.clock, self.boot.at_ns + self.passed)

    def _notice(self) -> None:
        """Remember what the record says, and which openings are seen to have taken effect."""
        record, memory = self.workload.openings, self.memory
        memory.openings = (*memory.openings, *(o for o in record if o not in memory.openings))
        for opening in record:
            worker = self.workers.get(opening.cluster)
            replica = worker.replica if worker is not None and worker.reach is Reach.SYNCED else None
            if replica is None:
                continue
            is_open = replica.gate_open if opening.replica_uid == replica.uid else not replica.has_gate
            if is_open and opening.replica_uid in ("", replica.uid):
                self.note_effect(opening.cluster, opening.replica_uid, opening.opened_ns)

    def note_effect(self, cluster: str, uid: str, opened_ns: int) -> None:
        """Let the process see that an opening took effect."""
        if self.steady is not None:
            self.memory.effects.setdefault((cluster, uid, opened_ns), self.steady.at_ns)

    def _known(self, worker: WorkerView) -> WorkerView:
        """Add what only the process knows."""
        starts = [(o.cluster, o.replica_uid, o.opened_ns) for o in self.workload.openings if o.cluster == worker.name]
        is_opening = worker.name in self.on_the_way
        return replace(
            worker,
            opening_on_its_way=is_opening,
            busy=worker.busy or is_opening,
            effect_ns=max((self.memory.effects[s] for s in starts if s in self.memory.effects), default=None),
            tried_ns=max((self.memory.tries[s] for s in starts if s in self.memory.tries), default=None),
        )

    def _seen(self, worker: WorkerView) -> WorkerView:
        worker = self._known(worker)
        if worker.reach is Reach.SYNCED:
            tried = self.passed - self.awaited_since.get(worker.name, self.passed)
            return replace(worker, job_sync=self.job_sync(worker), removal_tried_ns=tried)
        return replace(worker, replica=None, job_present=False, job_sync=JobSync.NONE)

    def job_sync(self, worker: WorkerView) -> JobSync:
        """Return what the adapter would do; a job that is there is up to date unless the test says otherwise."""
        replica = worker.replica
        if replica is not None and worker.job_leaving and self._may_begin(replica):
            return JobSync.LEAVING
        if replica is None or worker.job_present or worker.job_sync is not JobSync.NONE:
            return worker.job_sync if replica is not None else JobSync.NONE
        return JobSync.CREATE if self._may_begin(replica) and not replica.leaving else JobSync.NONE

    def _may_begin(self, replica: Replica) -> bool:
        return replica.is_true("Admitted") and not (replica.is_true("Finished") or replica.is_true("Evicted"))

    # --- carrying out

    def carry_out(self, decision: Decision, cut_after: int | None = None) -> None:
        """Carry out a decision as the shell does; `cut_after` so many actions the process dies."""
        left = cut_after
        for name in decision.awaits:
            self.awaited_since.setdefault(name, self.passed)
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
            case RecordOpenings() | PatchHubStatus() | StopHubJob() | StartRound() | RecordWinner():
                self._apply_hub(action)
            case RecordOutOfSync() | RecordForecast() | EmitEvent():
                self._apply_hub(action)
            case _:
                self._apply_remote(action)

    def _apply_hub(self, action: HubAction) -> None:
        match action:
            case RecordOpenings(openings=openings):
                self.workload = replace(self.workload, openings=openings, openings_unreadable=False)
                self.memory.own |= first_recorded(openings, self.memory.openings)
                self.memory.openings = openings
            case RecordForecast(record=record):
                self.workload = replace(self.workload, forecast=record)
            case StartRound(started_ns=started):
                self.workload = replace(self.workload, round_started_ns=started)
            case RecordOutOfSync(clusters=clusters):
                for name, found in clusters:
                    self.workers[name] = replace(self.workers[name], out_of_sync=found)
            case EmitEvent():
                self.events += 1
            case RecordWinner(winner=winner, openings=None):
                self.workload = replace(self.workload, winner=winner)
            case RecordWinner(winner=winner, openings=tuple(openings)):
                self.workload = replace(self.workload, winner=winner, openings=openings)
                self.memory.openings = openings
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
            case ProbeWorker():
                self.workers[worker.name] = replace(worker, answers=True)
            case CreateReplica():
                self._create(worker, action)
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
            case CloseGate(replica_uid=uid, resource_version=version):
                self._fenced(worker, uid, version)
                self.change(worker.name, gate_open=False, gate_opened_ns=None)

    def _fenced(self, worker: WorkerView, uid: str, version: str | None) -> None:
        replica = worker.replica
        if replica is None or replica.uid != uid or (version is not None and replica.resource_version != version):
            raise RefusedError

    def _create(self, worker: WorkerView, action: CreateReplica) -> None:
        if worker.name in self.foreign_workloads:
            self.workers[worker.name] = replace(worker, foreign_replica=True)
            return
        if worker.replica is not None or worker.stale_uid:
            raise RefusedError
        version = self._version()
        made = Replica(
            ReplicaUID(f"{worker.name}-{version}"), version, {}, has_gate=action.gated, made_ungated=not action.gated
        )
        self.workers[worker.name] = replace(worker, replica=made, opening_confirmed=False)
        if action.opened_ns is not None:
            self.opens(worker.name, made.uid)
            self.note_effect(worker.name, "", action.opened_ns)

    def _remove(self, worker: WorkerView, uid: str | None) -> None:
        """Remove job and replica; an empty UID removes nothing."""
        if worker.name in self.terminating_slowly:
            self._mark(worker, uid)
            return
        kept = worker.replica if worker.replica is not None and worker.replica.uid != uid else None
        stale = "" if worker.stale_uid == uid else worker.stale_uid
        self.workers[worker.name] = replace(
            worker, replica=kept, stale_uid=ReplicaUID(stale), job_present=False, job_leaving=False
        )
        self.awaited_since.pop(worker.name, None)

    def _mark(self, worker: WorkerView, uid: str | None) -> None:
        """Delete job and replica, which stay until they are let go."""
        replica = worker.replica
        if replica is not None and replica.uid == uid:
            replica = replace(replica, leaving=True, signal_ns=None, drift=Drift.NONE, resource_version=self._version())
        self.workers[worker.name] = replace(worker, replica=replica, job_leaving=worker.job_present)

    def let_go(self, name: str) -> None:
        """Let what was deleted on a worker go at last."""
        worker = self.workers[WorkerName(name)]
        self.terminating_slowly.discard(name)
        replica = None if worker.replica is not None and worker.replica.leaving else worker.replica
        present = worker.job_present and not worker.job_leaving
        self.workers[WorkerName(name)] = replace(worker, replica=replica, job_present=present, job_leaving=False)
        if not present:
            self.awaited_since.pop(name, None)

    def _sync(self, worker: WorkerView) -> None:
        if self.job_sync(worker) is JobSync.CREATE:
            self.jobs_made.append(worker.name)
            worker = replace(worker, job_present=True)
        self.workers[worker.name] = replace(worker, job_sync=JobSync.NONE)

    def _open(self, worker: WorkerView, opened_ns: int) -> None:
        replica = worker.replica
        assert replica is not None
        if replica.uid not in self.reverted:
            self.opens(worker.name, replica.uid)
        self.reverted.discard(replica.uid)
        self.change(worker.name, gate_open=True, gate_opened_ns=opened_ns)
        self.workers[worker.name] = replace(self.workers[worker.name], opening_confirmed=True)
        self.note_effect(worker.name, replica.uid, opened_ns)

    def opens(self, cluster: str, uid: str) -> None:
        """Take note that a worker may preempt from now on."""
        self.openings.append(Opened(cluster, uid, self.passed, self.attempt))

    def opened_by_hand(self, name: str) -> None:
        """Take note of a gate that somebody else opened, who may do so at any time."""
        replica = self.workers[WorkerName(name)].replica
        assert replica is not None
        self.openings.append(Opened(name, replica.uid, self.passed, self.attempt))

    # --- what workers do

    def change(self, name: str, **fields: object) -> None:
        """Change a replica; its version moves."""
        worker = self.workers[WorkerName(name)]
        if worker.replica is not None:
            changed = replace(worker.replica, resource_version=self._version(), **fields)  # type: ignore[arg-type]
            self.workers[WorkerName(name)] = replace(worker, replica=changed)

    def conclude(self, name: str, *types: str, status: str = "True", reason: str = "Test", message: str = "") -> None:
        """Set conditions of a replica."""
        replica = self.workers[WorkerName(name)].replica
        if replica is not None:
            new = {t: Condition(t, status, reason, message, self.worker_now(name)) for t in types}
            self.change(name, conditions={**replica.conditions, **new})

    def worker_now(self, name: str) -> int:
        """Return what a worker's clock shows."""
        return self.now + self.workers[WorkerName(name)].clock_skew_ns

    def _version(self) -> str:
        self._versions += 1
        return str(self._versions)

    # --- what the hub's Kueue does

    def conclude_on_hub(self, *conditions: Condition, without: Iterable[str] = ()) -> None:
        """Set and drop conditions of the hub's Workload."""
        kept = {name: c for name, c in self.workload.conditions.items() if name not in without}
        self.workload = replace(self.workload, conditions={**kept, **{c.type: c for c in conditions}})

    def evict_on_hub(self, *, counted: bool = True) -> None:
        """Evict as Kueue does: the check goes back to Pending, cluster and nominations are forgotten."""
        self.workload = replace(self.workload, evictions=self.workload.evictions + counted)
        check = self.workload.check
        assert check is not None
        self.conclude_on_hub(Condition("Evicted", "True", "Preempted", "Preempted", self.now))
        pending = replace(check, state=CheckState.PENDING, message="Reset to Pending after eviction")
        self.workload = replace(self.workload, check=pending, cluster_name=NO_WORKER, nominated=())
