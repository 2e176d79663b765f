"""The rows of the decision table by name: what log lines, spans, journals and `turnstile replay` call a decision."""

from enum import StrEnum
from typing import Final


class Rule(StrEnum):
    """Which row of the decision table fired; docs/reconcile.md lists the rows in order.

    Journals that older versions wrote hold the codes in parentheses; they are read as the names that replaced them.
    """

    NO_CHECK = "no-admission-check"
    """The Workload has none of our admission checks (P5)."""
    CHECK_REJECTED = "check-rejected"
    """Our check is Rejected; the hub deactivates the Workload (P5)."""
    WORKLOAD_DELETED = "workload-deleted"
    """The hub Workload is deleted (P10)."""
    NO_JOB_INTEGRATION = "no-job-integration"
    """The owner's kind is not switched on, or there is no owner and ownerless Workloads are rejected (P6)."""
    JOB_NOT_DISPATCHABLE = "job-not-dispatchable"
    """The job names another manager, or asks for what cannot be had across clusters (P7)."""
    SLICE_REPLACED = "slice-replaced"
    """An elastic slice was replaced, or waits for quota to replace one (G1)."""
    FINISHED_OR_NO_QUOTA = "finished-or-no-quota"
    """The Workload is finished, or has no quota on the hub (G2)."""
    OUT_OF_SYNC_IGNORED = "out-of-sync-ignored"
    """The replica ended out of sync with its job, and the check is not Ready (G3a)."""
    OUT_OF_SYNC_RETRIED = "out-of-sync-retried"
    """The replica ended out of sync with its job, and the check is Ready (G3b)."""
    REPLICA_FINISHED = "replica-finished"
    """The replica finished; its end is mirrored to the hub (G3c)."""
    FINISH_WAITS_FOR_JOB = "finish-waits-for-job"
    """The replica finished, but the hub's job cannot be read yet (G3-owner)."""
    EVICTION_FOLLOWED = "eviction-followed"
    """Evicted on the hub and on the worker; the job's status is copied until the hub's job is down (G4a)."""
    WINNER_EVICTED = "winner-evicted"
    """Evicted on the winner alone (G4b)."""
    ABANDONED_JOB = "abandoned-job"
    """Evicted on the hub, and the worker that ran the job is gone or has lost its replica (G5)."""
    ABANDONED_JOB_NOT_SYNCED = "abandoned-job-not-synced"
    """The same, and the worker's caches are not complete (G5-unknown)."""
    WINNER_LOST = "winner-lost"
    """The check is Ready and the winner cannot be reached (G6a-1)."""
    WINNER_NOT_RECORDED = "winner-not-recorded"
    """The check is Ready and no cluster is recorded (G6a-2)."""
    WINNER_REPLICA_GONE = "winner-replica-gone"
    """The check is Ready and the winner no longer has a replica (G6a-3)."""
    WINNER_NOT_SYNCED = "winner-not-synced"
    """The check is Ready and the winner's caches are not complete (G6a-unknown)."""
    CHOSEN_WORKER_UNREADABLE = "chosen-worker-unreadable"
    """The check is Pending and the worker chosen in this attempt cannot be read (G6b-unseen)."""
    WINNER_FOLLOWED = "winner-followed"
    """A replica is admitted; its job is created or followed (G6b)."""
    WINNER_DEACTIVATED = "winner-deactivated"
    """A replica is admitted, and the hub evicted the Workload (G6b-evicted)."""
    JOB_OUTGREW_QUOTA = "job-outgrew-quota"
    """A replica is admitted, and the elastic job grew beyond the Workload's quota (G6b-outgrown)."""
    FOREIGN_JOB = "foreign-job"
    """A replica is admitted, and a job of that name on the worker is not ours (G6b-foreign)."""
    JOB_TERMINATING = "job-terminating"
    """A replica is admitted, and a job of an earlier attempt is still being deleted there (G6b-leaving)."""
    WAITS_FOR_LOSERS = "waits-for-losers"
    """A replica is admitted, and another worker still has a job that has to go first (G6b-losers)."""
    GIVEN_UP = "given-up"
    """Pending for longer than it may wait: no worker admitted it."""
    TARGETS_INVALID = "targets-invalid"
    """Pending, and an annotation that chooses workers cannot be read, or job and Workload disagree."""
    OPENINGS_UNREADABLE = "openings-unreadable"
    """The record of openings cannot be read (G7-unreadable)."""
    OPENINGS_LOST = "openings-lost"
    """The record misses an opening that this process made (G7-lost)."""
    OPENING_OBSERVED = "opening-observed"
    """A gate is open that this process did not open (G7-observed)."""
    WINDOW_RESTARTED = "window-restarted"
    """The start of a window is in doubt after a change of clock, machine or hub (G7-clock)."""
    OPENING_TOOK_EFFECT = "opening-took-effect"
    """An opening is seen to have taken effect (G7-effect)."""
    GATE_OPENED = "gate-opened"
    """A worker requests its gate and no window is open (G7)."""
    OPENING_MISSED = "opening-missed"
    """The gate is open and the worker's Kueue has overlooked it (G7-missed)."""
    NOT_PENDING = "not-pending"
    """The check is not Pending, or an eviction is under way (G8)."""
    CLUSTER_FORGOTTEN = "cluster-forgotten"
    """A cluster is still recorded from before an eviction (G8-forget)."""
    OWNER_UNREADABLE = "owner-unreadable"
    """Pending, and the job that owns the Workload cannot be read (G9-owner)."""
    WAITS_FOR_CHECKS = "waits-for-checks"
    """Pending, and another admission check is not Ready (G9-checks)."""
    FOLLOWS_SIBLINGS = "follows-siblings"
    """Pending, and one of several Workloads of a job that go to one cluster (G9-component)."""
    DISPATCHED = "dispatched"
    """Pending: replicas are created on nominated workers and removed from others (G9)."""

    @classmethod
    def _missing_(cls, value: object) -> "Rule | None":
        return FORMER_CODES.get(value) if isinstance(value, str) else None


AWAITING_ADMISSION: Final = frozenset(
    {
        Rule.OPENINGS_UNREADABLE,
        Rule.OPENINGS_LOST,
        Rule.OPENING_OBSERVED,
        Rule.WINDOW_RESTARTED,
        Rule.OPENING_TOOK_EFFECT,
        Rule.GATE_OPENED,
        Rule.OPENING_MISSED,
        Rule.OWNER_UNREADABLE,
        Rule.WAITS_FOR_CHECKS,
        Rule.FOLLOWS_SIBLINGS,
        Rule.DISPATCHED,
    }
)
"""The Workload is pending and no replica is admitted, so the next gate is what happens next."""

FORMER_CODES: Final = {
    "P5": Rule.NO_CHECK,
    "P6": Rule.NO_JOB_INTEGRATION,
    "P7": Rule.JOB_NOT_DISPATCHABLE,
    "P10": Rule.WORKLOAD_DELETED,
    "G1": Rule.SLICE_REPLACED,
    "G2": Rule.FINISHED_OR_NO_QUOTA,
    "G3a": Rule.OUT_OF_SYNC_IGNORED,
    "G3b": Rule.OUT_OF_SYNC_RETRIED,
    "G3c": Rule.REPLICA_FINISHED,
    "G3-owner": Rule.FINISH_WAITS_FOR_JOB,
    "G4a": Rule.EVICTION_FOLLOWED,
    "G4b": Rule.WINNER_EVICTED,
    "G5": Rule.ABANDONED_JOB,
    "G5-unknown": Rule.ABANDONED_JOB_NOT_SYNCED,
    "G6a-1": Rule.WINNER_LOST,
    "G6a-2": Rule.WINNER_NOT_RECORDED,
    "G6a-3": Rule.WINNER_REPLICA_GONE,
    "G6a-unknown": Rule.WINNER_NOT_SYNCED,
    "G6b": Rule.WINNER_FOLLOWED,
    "G6b-unseen": Rule.CHOSEN_WORKER_UNREADABLE,
    "G6b-evicted": Rule.WINNER_DEACTIVATED,
    "G6b-outgrown": Rule.JOB_OUTGREW_QUOTA,
    "G6b-foreign": Rule.FOREIGN_JOB,
    "G6b-leaving": Rule.JOB_TERMINATING,
    "G6b-losers": Rule.WAITS_FOR_LOSERS,
    "G7": Rule.GATE_OPENED,
    "G7-unreadable": Rule.OPENINGS_UNREADABLE,
    "G7-lost": Rule.OPENINGS_LOST,
    "G7-observed": Rule.OPENING_OBSERVED,
    "G7-clock": Rule.WINDOW_RESTARTED,
    "G7-effect": Rule.OPENING_TOOK_EFFECT,
    "G7-missed": Rule.OPENING_MISSED,
    "G8": Rule.NOT_PENDING,
    "G8-forget": Rule.CLUSTER_FORGOTTEN,
    "G9": Rule.DISPATCHED,
    "G9-owner": Rule.OWNER_UNREADABLE,
    "G9-checks": Rule.WAITS_FOR_CHECKS,
    "G9-component": Rule.FOLLOWS_SIBLINGS,
}
"""What journals of older versions call the rules. P5 meant two rows; the Workload beside it shows which one."""
