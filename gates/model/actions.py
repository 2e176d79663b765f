"""What a decision asks the shell to do. Every action is idempotent and carries its own precondition."""

from dataclasses import dataclass, field, replace

from config.api.identifiers import ReplicaUID, WorkerName
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import CheckState
from gates.model.job_plan import PlannedJob, RemovedJob
from gates.model.local_actions import LocalAction
from gates.model.openings import Opening, Winner
from gates.model.rules import Rule
from gates.model.view import OutOfSync


@dataclass(frozen=True, slots=True)
class RemoveRemote:
    """Delete these remote jobs, then the replica; each only if it still is the object that was decided on."""

    cluster: WorkerName
    replica_uid: ReplicaUID | None = None
    """None if only jobs are there."""
    jobs: tuple[RemovedJob, ...] = ()
    """Earlier versions did not record them: they were chosen when the action was carried out."""


@dataclass(frozen=True, slots=True)
class ProbeWorker:
    """Ask whether the worker answers, before a replica is recorded as its opening.

    A creation of which it is not known whether it was carried out would keep every gate closed for a whole window.
    """

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class CreateReplica:
    """Create the replica, born with the gate unless `gated` is False."""

    cluster: WorkerName
    gated: bool = True
    opened_ns: int | None = None
    """The start of the window, if the creation is an opening, as on a worker that ignores gates."""
    not_after_ns: int | None = None
    """Until when it may be sent, on the steady clock."""


@dataclass(frozen=True, slots=True)
class UpdateReplicaSpec:
    """Bring a replica's priority or pod set counts in line in place; its own gates stay."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    resource_version: str


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Set our gate to Open on exactly this version of the replica."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    resource_version: str
    opened_ns: int
    not_after_ns: int | None = None
    """Until when it may be sent, on the steady clock: what comes later could come into another worker's window."""


@dataclass(frozen=True, slots=True)
class CloseGate:
    """Set our gate to Closed on exactly this version of the replica, to be opened again in a moment."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    resource_version: str
    closed_ns: int


@dataclass(frozen=True, slots=True)
class DeactivateReplica:
    """Inform the worker that the hub evicted the Workload."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    message: str


@dataclass(frozen=True, slots=True)
class SyncJob:
    """Carry out the plan for the Workload's jobs on one worker.

    An object that has another version by then is left alone, and the action fails: that version was not decided on.
    """

    cluster: WorkerName
    final: bool = False
    """Read the remote jobs from the worker first, because the cache of jobs may be behind that of Workloads."""
    plan: tuple[PlannedJob, ...] = field(default=(), compare=False)
    """Not compared: the same operations on newer versions repeat a decision, and older recordings have no plan."""


@dataclass(frozen=True, slots=True)
class RecordOpenings:
    """Write the ledger of openings to the hub Workload's annotation, under its resourceVersion."""

    openings: tuple[Opening, ...]
    forecast: ForecastRecord | None = None
    """What the new opening is expected to lead to; written along."""


@dataclass(frozen=True, slots=True)
class PatchHubStatus:
    """One status patch of the hub Workload under its resourceVersion; None leaves a field alone, empty removes it."""

    check_state: CheckState | None = None
    check_message: str | None = None
    requeue_after_seconds: int | None = None
    cluster_name: WorkerName | None = None
    nominated: tuple[WorkerName, ...] | None = None
    finished: tuple[str, str] | None = None
    """Reason and message of Finished=True."""
    topology_ready: bool = False


@dataclass(frozen=True, slots=True)
class StopHubJob:
    """Give the hub's job the status of a stopped job, in place of a remote job that is gone or unreachable."""


@dataclass(frozen=True, slots=True)
class StartRound:
    """Remember on the hub Workload when the current round of the incremental dispatcher began."""

    started_ns: int


@dataclass(frozen=True, slots=True)
class RecordWinner:
    """Write the chosen replica to the hub Workload's annotation, under its resourceVersion."""

    winner: Winner
    openings: tuple[Opening, ...] | None = None
    """The ledger without openings that were none; written along."""


@dataclass(frozen=True, slots=True)
class RecordOutOfSync:
    """Remember on the hub Workload how often each worker found it out of sync with its job."""

    clusters: tuple[tuple[WorkerName, OutOfSync], ...]


@dataclass(frozen=True, slots=True)
class RecordForecast:
    """Write to the hub Workload's annotation what was forecast, and what became of it."""

    record: ForecastRecord


@dataclass(frozen=True, slots=True)
class EmitEvent:
    """An Event on the hub Workload; decided on transitions only."""

    reason: str
    message: str
    warning: bool = False


WorkerAction = (
    ProbeWorker | RemoveRemote | CreateReplica | UpdateReplicaSpec | OpenGate | CloseGate | DeactivateReplica | SyncJob
)
HubAction = (
    RecordOpenings
    | PatchHubStatus
    | StopHubJob
    | StartRound
    | RecordWinner
    | RecordOutOfSync
    | RecordForecast
    | EmitEvent
)
Action = WorkerAction | HubAction


@dataclass(frozen=True, slots=True)
class Step:
    """Independent actions. Unless it is best effort, a failure in it stops the steps behind it."""

    actions: tuple[Action, ...]
    best_effort: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about one Workload: steps in order, and when to reconcile again."""

    rule: Rule
    """The row of the decision table that fired, for logs, the journal and tests."""
    steps: tuple[Step, ...] = ()
    requeue_ns: int | None = None
    """Reconcile again after this long, even if nothing happens."""
    notes: tuple[str, ...] = field(default=())
    """One sentence each, for people."""
    awaits: tuple[WorkerName, ...] = ()
    """Workers whose job has to go before another worker's may begin; for how long that lasts is remembered."""
    local_actions: tuple[LocalAction, ...] = ()
    """What this process is to remember; carried out before the steps."""

    def after(self, *earlier: Step) -> "Decision":
        """Put steps before the others."""
        return replace(self, steps=(*earlier, *self.steps))

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return all actions in order."""
        return tuple(action for step in self.steps for action in step.actions)
