"""The rows that follow a replica's outcome: finished, evicted, lost, admitted."""

from config.api.identifiers import NO_REPLICA
from config.api.meta import format_time
from gates.decision.cleaning import is_given_up, remove_from, remove_losers, unfinished
from gates.decision.sequential import ledger_without_shown, struck
from gates.decision.winner import admitting, choice, evicted, finished, out_of_sight
from gates.model.actions import (
    DeactivateReplica,
    Decision,
    EmitEvent,
    PatchHubStatus,
    RecordOutOfSync,
    RecordWinner,
    Step,
    StopHubJob,
    SyncJob,
)
from gates.model.hub_workload import CheckState
from gates.model.rules import Rule
from gates.model.settings import Settings
from gates.model.texts import (
    EVENT_LIMIT,
    GONE,
    LOST,
    MESSAGE_LIMIT,
    MULTIKUEUE_EVENT,
    NO_CLUSTER,
    OUTGROWN,
    admitted,
    chosen_unreachable,
    cut,
    evicted_on_manager,
    evicted_on_worker,
    foreign_job,
    given_up,
    job_leaving,
    losers_unfinished,
    out_of_sync,
    previously,
)
from gates.model.view import JobSync, OutOfSync, Reach, WorkerView, WorkloadView

_SENT_AGAIN = frozenset({"OutOfSync", "OwnerNotFound"})
"""Why a worker's Kueue finishes a replica that did not run to its end: its job differs, or is gone."""
_FIRST_RETRY_SECONDS = 1
_LONGEST_RETRY_SECONDS = 300


def finished_remote(view: WorkloadView, _now_ns: int, settings: Settings) -> Decision | None:
    """Mirror the end of the remote Workload, unless it ended only because the worker found it out of sync."""
    worker = finished(view)
    if worker is None or worker.replica is None:
        return None
    condition = worker.replica.conditions["Finished"]
    if condition.reason in _SENT_AGAIN and not view.workload.elastic:
        return _out_of_sync(view, worker)
    if worker.job_sync is JobSync.FOREIGN:
        return Decision(Rule.REPLICA_FINISHED, notes=(foreign_job(worker.name),), requeue_ns=settings.worker_lost_ns)
    if not view.workload.job_readable:
        # The remote job goes once the hub's Workload is finished, and with it the last word on how it ended.
        return Decision(Rule.FINISH_WAITS_FOR_JOB, requeue_ns=settings.deferred_sync_ns)
    finish = PatchHubStatus(finished=(condition.reason, condition.message))
    asked = worker.job_present and not worker.job_ended
    final = SyncJob(worker.name, final=True, plan=worker.job_plan)
    last_word = (Step((final,)),) if asked else _sync_steps(worker)
    return Decision(Rule.REPLICA_FINISHED, (*last_word, Step((finish,))))


def _out_of_sync(view: WorkloadView, worker: WorkerView) -> Decision:
    """Retry with a growing delay: a permanent mismatch must not become a busy loop."""
    check = view.workload.check
    if check is None or check.state is not CheckState.READY:
        return Decision(Rule.OUT_OF_SYNC_IGNORED)
    text = previously(out_of_sync(worker.name), check.state)
    found, records = _counted(view, worker)
    delay = min(_FIRST_RETRY_SECONDS << min(found.count - 1, 16), _LONGEST_RETRY_SECONDS)
    retry = PatchHubStatus(check_state=CheckState.RETRY, check_message=text, requeue_after_seconds=delay)
    event = EmitEvent(MULTIKUEUE_EVENT, text, warning=True)
    return Decision(Rule.OUT_OF_SYNC_RETRIED, (*records, Step((retry,)), Step((event,))))


def _counted(view: WorkloadView, worker: WorkerView) -> tuple[OutOfSync, tuple[Step, ...]]:
    """Count this replica once, however often it is reconciled."""
    uid = worker.replica.uid if worker.replica is not None else NO_REPLICA
    if worker.out_of_sync.replica_uid == uid:
        return worker.out_of_sync, ()
    found = OutOfSync(worker.out_of_sync.count + 1, uid)
    counts = {w.name: w.out_of_sync for w in view.workers if w.out_of_sync.count}
    record = RecordOutOfSync(tuple(sorted({**counts, worker.name: found}.items(), key=lambda item: item[0])))
    return found, (Step((record,)),)


def evicted_remote(view: WorkloadView, _now_ns: int, settings: Settings) -> Decision | None:
    """Follow an eviction on the winner; on any other replica it changes nothing."""
    worker = evicted(view)
    workload = view.workload
    if worker is None or workload.check is None:
        return None
    if workload.is_true("Evicted"):
        if _another_runs(view, worker) or (workload.job_to_stop and not worker.job_present):
            return None  # without a job over there, nothing would ever say that the hub's has stopped
        deferred = worker.job_sync is JobSync.DEFERRED
        return Decision(Rule.EVICTION_FOLLOWED, _sync_steps(worker), settings.deferred_sync_ns if deferred else None)
    if workload.check.state is not CheckState.READY or not workload.cluster_name:
        return None
    text = evicted_on_worker(workload.cluster_name, workload.check.state)
    retry = PatchHubStatus(check_state=CheckState.RETRY, check_message=text)
    return Decision(Rule.WINNER_EVICTED, (Step((retry,)), Step((EmitEvent(MULTIKUEUE_EVENT, text),))))


def _another_runs(view: WorkloadView, worker: WorkerView) -> bool:
    """Return whether an admitted replica has not been told to stop yet: a loser's old eviction must not hide it."""
    running = admitting(view)
    return running is not None and running.name != worker.name and not _is_evicted(running)


def _is_evicted(worker: WorkerView) -> bool:
    return worker.replica is not None and worker.replica.is_true("Evicted")


def abandoned_job(view: WorkloadView, now_ns: int, settings: Settings) -> Decision | None:
    """Stop the hub's job for a replica that is gone, or unreachable for too long.

    Before Kueue queues an evicted Workload again it waits for the job to stop, and no other component reports that it
    did.
    """
    workload = view.workload
    if not (workload.is_true("Evicted") and workload.job_to_stop):
        return None
    worker = view.worker(workload.cluster_name)
    if worker is not None and worker.listed:
        if worker.reach is Reach.UNREADABLE:
            return Decision(Rule.ABANDONED_JOB_NOT_SYNCED, requeue_ns=settings.deferred_sync_ns)
        if worker.reach is Reach.SYNCED and worker.replica is not None and worker.job_present:
            return None
        if worker.reach is Reach.SYNCED and worker.job_present:
            # Without its replica its status is no longer followed, so it has to go before the hub's job can stop.
            return Decision(
                Rule.ABANDONED_JOB, (Step((remove_from(worker),), best_effort=True),) if worker.removable else ()
            )
    if worker is not None and worker.reach is not Reach.SYNCED and (left := _grace(worker, now_ns, settings)) > 0:
        return Decision(Rule.ABANDONED_JOB, requeue_ns=left)
    return Decision(Rule.ABANDONED_JOB, (Step((StopHubJob(),)),))


def lost_remote(view: WorkloadView, now_ns: int, settings: Settings) -> Decision | None:
    """Decide when no replica is admitted although the check says Ready."""
    workload = view.workload
    if workload.check is None or workload.check.state is not CheckState.READY or admitting(view) is not None:
        return None
    if not workload.cluster_name:
        return _retry(Rule.WINNER_NOT_RECORDED, NO_CLUSTER)
    worker = view.worker(workload.cluster_name)
    if worker is not None and worker.listed and worker.reach is Reach.UNREADABLE:
        return Decision(Rule.WINNER_NOT_SYNCED, requeue_ns=settings.deferred_sync_ns)
    if worker is None or worker.reach is Reach.SYNCED:
        return _retry(Rule.WINNER_REPLICA_GONE, GONE)
    remaining = _grace(worker, now_ns, settings)
    return Decision(Rule.WINNER_LOST, requeue_ns=remaining) if remaining > 0 else _retry(Rule.WINNER_LOST, LOST)


def chosen_remote(view: WorkloadView, now_ns: int, settings: Settings) -> Decision | None:
    """Let no other worker win while the chosen one cannot be read and does not count as lost yet."""
    unseen = out_of_sight(view)
    workload = view.workload
    pending = workload.check is not None and workload.check.state is CheckState.PENDING
    if not unseen or not pending or workload.is_true("Evicted"):
        return None
    worker = max(unseen, key=lambda each: (_grace(each, now_ns, settings), each.order))
    remaining = _grace(worker, now_ns, settings)
    if remaining <= 0:
        return None
    if worker.reach is Reach.UNREADABLE and worker.listed:
        return Decision(Rule.CHOSEN_WORKER_UNREADABLE, _tell(view, worker.problem), settings.deferred_sync_ns)
    text = chosen_unreachable(worker.name, format_time(now_ns + remaining))
    return Decision(Rule.CHOSEN_WORKER_UNREADABLE, _tell(view, text), remaining)


def _grace(worker: WorkerView, now_ns: int, settings: Settings) -> int:
    """Return how long a worker that cannot be reached still counts as there."""
    if worker.lost_for_ns is not None:
        return settings.worker_lost_ns - worker.lost_for_ns
    lost_since = worker.lost_since_ns if worker.lost_since_ns is not None else now_ns
    return settings.worker_lost_ns - max(now_ns - lost_since, 0)


def admitting_remote(view: WorkloadView, _now_ns: int, settings: Settings) -> Decision | None:
    """Follow the winner: losers go first, then the choice is recorded, then come the job and the hub's status."""
    worker = admitting(view)
    workload = view.workload
    if worker is None or worker.replica is None or workload.check is None:
        return None
    steps = remove_losers(view, worker.name)
    evicted_condition = workload.conditions.get("Evicted")
    if evicted_condition is not None and evicted_condition.status == "True":
        return Decision(Rule.WINNER_DEACTIVATED, (*steps, *_deactivate(worker, evicted_condition.message)))
    if worker.job_sync is JobSync.FOREIGN:
        text = foreign_job(worker.name)
        return Decision(Rule.FOREIGN_JOB, (*steps, *_tell(view, text)), settings.worker_lost_ns, (text,))
    if worker.job_sync is JobSync.LEAVING:
        return Decision(Rule.JOB_TERMINATING, (*steps, *_say(view, job_leaving(worker.name))), settings.worker_lost_ns)
    if worker.job_sync is JobSync.OUTGROWN:
        return Decision(Rule.JOB_OUTGREW_QUOTA, (*steps, *_tell(view, OUTGROWN)), settings.worker_lost_ns, (OUTGROWN,))
    # Only a job that is yet to begin could run the work a second time; one that runs is followed whatever losers do.
    losers = unfinished(view, worker.name) if worker.job_sync is JobSync.CREATE else ()
    awaits = tuple(loser.name for loser in losers)
    awaited = [loser for loser in losers if not is_given_up(loser, settings)]
    if awaited:
        waits = (settings.worker_lost_ns - loser.removal_tried_ns for loser in awaited if not loser.job_kept)
        text = losers_unfinished(worker.name, [loser.name for loser in awaited], [loser.problem for loser in awaited])
        wait = min(waits, default=settings.worker_lost_ns)
        return Decision(Rule.WAITS_FOR_LOSERS, (*steps, *_say(view, text)), wait, awaits=awaits)
    notes = (given_up(worker.name, list(awaits)),) if awaits else ()
    warnings = tuple(Step((EmitEvent(MULTIKUEUE_EVENT, note, warning=True),)) for note in notes)
    steps = (*steps, *_tell(view, worker.problem), *_choose(view, worker))
    steps = (*steps, *_sync_steps(worker), *_mirror(view, worker), *warnings)
    wait = settings.deferred_sync_ns if worker.job_sync is JobSync.DEFERRED else settings.worker_lost_ns
    return Decision(Rule.WINNER_FOLLOWED, steps, wait, notes, awaits)


def _choose(view: WorkloadView, worker: WorkerView) -> tuple[Step, ...]:
    """Record the choice, and that the winner's creation opened nothing if its gate has shown.

    While its worker cannot be read, a recorded opening would make the next attempt wait.
    """
    winner = choice(view, worker) if worker.job_sync is JobSync.CREATE else None
    return (Step((RecordWinner(winner, ledger_without_shown(view)),)),) if winner is not None else struck(view)


def _tell(view: WorkloadView, trouble: str) -> tuple[Step, ...]:
    """Say on a check that is still pending what keeps the winner from running; the Event comes with the change."""
    check = view.workload.check
    text = cut(trouble, EVENT_LIMIT)
    if check is None or check.state is not CheckState.PENDING or text in ("", check.message):
        return ()
    event = EmitEvent(MULTIKUEUE_EVENT, text, warning=True)
    return (Step((PatchHubStatus(check_message=text),)), Step((event,)))


def _say(view: WorkloadView, text: str) -> tuple[Step, ...]:
    """Say on a check that is still pending what is waited for; as long as nothing is wrong, there is no Event."""
    check = view.workload.check
    text = cut(text, MESSAGE_LIMIT)
    if check is None or check.state is not CheckState.PENDING or text == check.message:
        return ()
    return (Step((PatchHubStatus(check_message=text),)),)


def _mirror(view: WorkloadView, worker: WorkerView) -> tuple[Step, ...]:
    """Write Ready once; the Event belongs to that transition alone."""
    workload = view.workload
    state = workload.check.state if workload.check is not None else None
    if state is CheckState.READY and workload.cluster_name == worker.name and not workload.nominated:
        return (Step((PatchHubStatus(topology_ready=True),)),) if workload.topology_due else ()
    if state is not CheckState.PENDING and state is not CheckState.READY:
        return (Step((PatchHubStatus(topology_ready=True),)),) if workload.topology_due else ()
    if not workload.cluster_name and worker.name not in workload.nominated:
        # The hub accepts a winner only from the nominations it already stores.
        return (Step((PatchHubStatus(nominated=(*workload.nominated, worker.name)),)),)
    text = admitted(worker.name)
    patch = PatchHubStatus(
        check_state=CheckState.READY,
        check_message=text,
        cluster_name=worker.name,
        nominated=(),
        topology_ready=workload.topology_due,
    )
    return (Step((patch,)), Step((EmitEvent(MULTIKUEUE_EVENT, text),)))


def _deactivate(worker: WorkerView, hub_message: str) -> tuple[Step, ...]:
    replica = worker.replica
    if replica is None or replica.is_true("DeactivationTarget"):
        return ()
    return (Step((DeactivateReplica(worker.name, replica.uid, evicted_on_manager(hub_message)),)),)


def _retry(rule: Rule, text: str) -> Decision:
    message = previously(text, CheckState.READY)
    return Decision(rule, (Step((PatchHubStatus(check_state=CheckState.RETRY, check_message=message),)),))


def _sync_steps(worker: WorkerView) -> tuple[Step, ...]:
    needed = worker.job_sync in (JobSync.CREATE, JobSync.VERIFY, JobSync.COPY_STATUS, JobSync.FORWARD)
    return (Step((SyncJob(worker.name, plan=worker.job_plan),)),) if needed else ()
