"""What `turnstile explain` says about the state of a Workload and about what happens next."""

from typing import Final

from config.api.meta import Obj
from manager.cli.conventions.ages import age, left

ONLY_THE_DAEMON: Final = "only the daemon knows"


def state_sentence(body: Obj) -> str:
    """Say where a Workload is, by the hub's own object."""
    if body["problem"]:
        return f"cannot be read: {body['problem']}"
    state = body["state"]
    check = f"admission check {state['check']}"
    match state["reason"]:
        case "Finished":
            return f"finished{_ago(state, body)}"
        case "CheckRejected":
            return f"rejected by {check}"
        case "Deactivated":
            who = f" by {state['deactivatedBy']}" if state["deactivatedBy"] else ""
            return f"deactivated{who}{_ago(state, body)}: spec.active is false"
        case "BackOff":
            return f"evicted{_ago(state, body)}, waits before it is queued again"
        case "WaitsForChecks":
            return "has quota on the hub, waits for other admission checks"
        case "CheckRetry":
            return f"sent back to the queue by {check}"
        case "CheckReady":
            return f"{check} is Ready" + (f", runs on {body['cluster']}" if body["cluster"] else "")
        case "OnWorkers":
            return f"{check} is Pending, waits for a worker to admit it"
        case reason:
            return _STATES.get(reason, str(reason))


def state_message(body: Obj) -> str:
    """Return what Kueue or the check's controller says about the state; what workers do is told further below."""
    state = body["state"]
    return "" if state is None or state["reason"] in ("OnWorkers", "CheckReady") else str(state["message"])


def next_sentence(body: Obj) -> str:
    """Say what happens next."""
    step, now = body["next"], body["asOf"]
    match step["kind"]:
        case "JobFollowed":
            return f"the hub's job follows the one on {step['worker']} until it ends"
        case "FixNeeded":
            remedy = body["state"]["remedy"] if body["state"] is not None else "repair the object"
            return f"nothing, until this is done: {remedy}"
        case "Requeued":
            wait = f" in {left(step['at'], now)}" if step["at"] else ""
            return f"the hub queues it again{wait}"
        case "Other":
            return step["reason"] or _RULES.get(step["rule"], _ELSE)
        case kind:
            return _STEPS.get(kind) or _about_gates(step, now)


def _about_gates(step: Obj, now: str) -> str:
    worker, other, wait = step["worker"], step["otherWorker"], left(step["at"], now)
    match step["kind"]:
        case "GateOpens":
            return f"the gate of {worker} opens now"
        case "GateOpensAfterWindow":
            return f"the gate of {worker} opens in {wait}, when the window of {other} ends"
        case "GateOpensAfterGrace":
            return f"the gate of {worker} opens in {wait} (at {step['at']}), unless another worker has room"
        case "GateDeferred":
            return f"{worker} waits {wait} at most: {step['reason']}"
        case "GateHeld":
            return f"no gate opens while {other} has quota reserved"
        case "WindowOpen":
            return f"{worker} may preempt for another {wait}"
        case _:
            return _ELSE


def _ago(state: Obj, body: Obj) -> str:
    return f" {age(state['since'], body['asOf'])} ago" if state["since"] else ""


_ELSE: Final = "see the daemon's log"
"""For what only a newer daemon says."""
_STATES: Final = {
    "Terminating": "is being deleted",
    "QueueNotReady": "its queue on the hub admits nothing",
    "ExceedsQuota": "too large for its queue on the hub",
    "WaitsForQuota": "waits for quota on the hub",
    "Evicted": "evicted on the hub, its job is being stopped",
    "NoCheck": "has no MultiKueue admission check",
}
_STEPS: Final = {
    "NoRequest": "no worker asks to preempt; the first worker to admit wins",
    "HubReservesQuota": "it is sent to workers once the hub has reserved quota for it",
    "OtherChecks": "it is sent to workers once the other admission checks are Ready",
    "Removed": "its replicas are removed",
    "NotDispatched": "nothing: without that check it is not sent to workers",
    "Nothing": "nothing",
    "Unknown": ONLY_THE_DAEMON,
}
_RULES: Final = {
    "no-admission-check": "replicas of it are removed",
    "check-rejected": "nothing",
    "workload-deleted": "its replicas are removed",
    "no-job-integration": "the check rejects it",
    "job-not-dispatchable": "the check rejects it",
    "slice-replaced": "the Workload that replaces this slice is followed instead",
    "finished-or-no-quota": "its replicas are removed",
    "out-of-sync-ignored": "its replicas are created again",
    "out-of-sync-retried": "the check sends it back to the queue, because a worker found it out of sync with its job",
    "replica-finished": "its end is copied to the hub",
    "finish-waits-for-job": "its end is copied to the hub once the hub's job can be read",
    "eviction-followed": "it is queued again once its job has stopped",
    "winner-evicted": "the check sends it back to the queue, because its worker evicted it",
    "abandoned-job": "the hub's job is stopped, because its worker is gone or lost the replica",
    "abandoned-job-not-synced": "nothing, until the worker that ran it is synced",
    "winner-lost": "it is queued again if its worker stays unreachable",
    "winner-not-recorded": "the check sends it back to the queue, because no cluster is recorded",
    "winner-replica-gone": "the check sends it back to the queue, because its replica is gone",
    "winner-not-synced": "nothing, until its worker is synced",
    "chosen-worker-unreadable": "no other worker is tried until the chosen one can be read",
    "winner-followed": "its job is created on the worker that admitted it",
    "winner-deactivated": "the worker is told to stop it",
    "job-outgrew-quota": "its job starts when it fits its quota again",
    "foreign-job": "nothing, until the other job of that name is gone from the worker",
    "job-terminating": "its job starts when the earlier one is deleted",
    "waits-for-losers": "its job starts when the other workers' jobs are gone",
    "not-pending": "nothing, until the eviction is over",
    "cluster-forgotten": "the cluster of its last attempt is forgotten",
    "given-up": "the check gives it up, because no worker admitted it in time",
    "targets-invalid": "nothing, until the annotation that chooses workers is repaired",
    "openings-unreadable": "the record of openings is repaired",
    "openings-lost": "the record of openings is completed",
    "opening-observed": "the open gate is recorded",
    "window-restarted": "its windows begin again, because the clock changed",
    "opening-took-effect": "the effect of the opening is recorded",
    "gate-opened": "a gate opens",
    "opening-missed": "the open gate is closed and opened again",
    "owner-unreadable": "nothing, until its job can be read",
    "waits-for-checks": "nothing, until the other admission checks are Ready",
    "follows-siblings": "it goes where the job's other Workloads are",
    "dispatched": "its replicas are created",
}
"""What the row of the decision table does that matched, where nothing better is known; one for each rule."""
