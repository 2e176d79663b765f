"""The rows that follow a replica's outcome: finished, evicted, lost, admitted."""

from config.api.meta import format_time
from gates.actions import (
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
from gates.cleaning import remove_losers
from gates.settings import Settings
from gates.texts import (
    EVENT_LIMIT,
    GONE,
    LOST,
    NO_CLUSTER,
    admitted,
    chosen_out_of_sight,
    cut,
    evicted_on_manager,
    evicted_on_worker,
    out_of_sync,
    previously,
)
from gates.view import CheckState, Group, JobSync, OutOfSync, Reach, Worker
from gates.winner import admitting, choice, evicted, finished, out_of_sight

MULTIKUEUE_EVENT = "MultiKueue"
_FIRST_RETRY_SECONDS = 1
_LONGEST_RETRY_SECONDS = 300


def finished_remote(group: Group, _now_ns: int, settings: Settings) -> Decision | None:
    """Mirror the end of the remote Workload, unless it ended only because the worker found it out of sync."""
    worker = finished(group)
    if worker is None or worker.replica is None:
        return None
    condition = worker.replica.conditions["Finished"]
    if condition.reason == "OutOfSync" and not group.workload.elastic:
        return _out_of_sync(group, worker)
    if worker.job_sync is JobSync.FOREIGN:
        return Decision("G3c", notes=(_foreign_job(worker),), requeue_ns=settings.worker_lost_ns)
    if not group.workload.job_readable:
        # The remote job goes once the hub's Workload is finished, and with it the last word on how it ended.
        return Decision("G3-owner", requeue_ns=settings.deferred_sync_ns)
    finish = PatchHubStatus(finished=(condition.reason, condition.message))
    asked = worker.job_present and not worker.job_ended
    last_word = (Step((SyncJob(worker.name, final=True),)),) if asked else _sync_steps(worker)
    return Decision("G3c", (*last_word, Step((finish,))))


def _out_of_sync(group: Group, worker: Worker) -> Decision:
    """Retry with a growing delay: a permanent mismatch must not become a busy loop."""
    check = group.workload.check
    if check is None or check.state is not CheckState.READY:
        return Decision("G3a")
    text = previously(out_of_sync(worker.name), check.state)
    found, records = _counted(group, worker)
    delay = min(_FIRST_RETRY_SECONDS << min(found.count - 1, 16), _LONGEST_RETRY_SECONDS)
    retry = PatchHubStatus(check_state=CheckState.RETRY, check_message=text, requeue_after_seconds=delay)
    event = EmitEvent(MULTIKUEUE_EVENT, text, warning=True)
    return Decision("G3b", (*records, Step((retry,)), Step((event,))))


def _counted(group: Group, worker: Worker) -> tuple[OutOfSync, tuple[Step, ...]]:
    """Count this replica once, however often it is looked at."""
    uid = worker.replica.uid if worker.replica is not None else ""
    if worker.out_of_sync.replica_uid == uid:
        return worker.out_of_sync, ()
    found = OutOfSync(worker.out_of_sync.count + 1, uid)
    counts = {w.name: w.out_of_sync for w in group.workers if w.out_of_sync.count}
    record = RecordOutOfSync(tuple(sorted({**counts, worker.name: found}.items(), key=lambda item: item[0])))
    return found, (Step((record,)),)


def evicted_remote(group: Group, _now_ns: int, settings: Settings) -> Decision | None:
    """Follow an eviction on the winner; on any other replica it changes nothing."""
    worker = evicted(group)
    workload = group.workload
    if worker is None or workload.check is None:
        return None
    if workload.is_true("Evicted"):
        if _another_runs(group, worker):
            return None
        deferred = worker.job_sync is JobSync.DEFERRED
        return Decision("G4a", _sync_steps(worker), settings.deferred_sync_ns if deferred else None)
    if workload.check.state is not CheckState.READY or not workload.cluster_name:
        return None
    text = evicted_on_worker(workload.cluster_name, workload.check.state)
    retry = PatchHubStatus(check_state=CheckState.RETRY, check_message=text)
    return Decision("G4b", (Step((retry,)), Step((EmitEvent(MULTIKUEUE_EVENT, text),))))


def _another_runs(group: Group, worker: Worker) -> bool:
    """Tell whether a copy is admitted that nobody has told yet to end: a loser's old eviction must not hide it."""
    running = admitting(group)
    return running is not None and running.name != worker.name and not _is_evicted(running)


def _is_evicted(worker: Worker) -> bool:
    return worker.replica is not None and worker.replica.is_true("Evicted")


def abandoned_job(group: Group, now_ns: int, settings: Settings) -> Decision | None:
    """Stop the hub's job for a copy that is gone, or out of reach for too long.

    Before Kueue queues an evicted Workload again it waits for the job to stop, and nobody else will say that it did.
    """
    workload = group.workload
    if not (workload.is_true("Evicted") and workload.job_to_stop):
        return None
    worker = group.worker(workload.cluster_name)
    if worker is not None and worker.listed:
        if worker.reach is Reach.UNREADABLE:
            return Decision("G5-unknown", requeue_ns=settings.deferred_sync_ns)
        if worker.reach is Reach.SYNCED and (worker.replica is not None or worker.job_present):
            return None
        if worker.reach is Reach.LOST and (remaining := _grace(worker, now_ns, settings)) > 0:
            return Decision("G5", requeue_ns=remaining)
    return Decision("G5", (Step((StopHubJob(),)),))


def lost_remote(group: Group, now_ns: int, settings: Settings) -> Decision | None:
    """Decide when nobody is admitted although the check says Ready."""
    workload = group.workload
    if workload.check is None or workload.check.state is not CheckState.READY or admitting(group) is not None:
        return None
    if not workload.cluster_name:
        return _retry("G6a-2", NO_CLUSTER)
    worker = group.worker(workload.cluster_name)
    if worker is not None and worker.listed and worker.reach is Reach.UNREADABLE:
        return Decision("G6a-unknown", requeue_ns=settings.deferred_sync_ns)
    if worker is None or worker.reach is Reach.SYNCED or not worker.listed:
        return _retry("G6a-3", GONE)
    remaining = _grace(worker, now_ns, settings)
    return Decision("G6a-1", requeue_ns=remaining) if remaining > 0 else _retry("G6a-1", LOST)


def chosen_remote(group: Group, now_ns: int, settings: Settings) -> Decision | None:
    """Let nobody else win while the chosen worker cannot be read and does not count as lost yet."""
    worker = out_of_sight(group)
    workload = group.workload
    pending = workload.check is not None and workload.check.state is CheckState.PENDING
    if worker is None or not pending or workload.is_true("Evicted"):
        return None
    remaining = _grace(worker, now_ns, settings)
    if remaining <= 0:
        return None
    if worker.reach is Reach.UNREADABLE:
        return Decision("G6b-unseen", _tell(group, worker.problem), settings.deferred_sync_ns)
    text = chosen_out_of_sight(worker.name, format_time(now_ns + remaining))
    return Decision("G6b-unseen", _tell(group, text), remaining)


def _grace(worker: Worker, now_ns: int, settings: Settings) -> int:
    """Return how long a worker that cannot be reached still counts as there."""
    lost_since = worker.lost_since_ns if worker.lost_since_ns is not None else now_ns
    return settings.worker_lost_ns - max(now_ns - lost_since, 0)


def admitting_remote(group: Group, _now_ns: int, settings: Settings) -> Decision | None:
    """Follow the winner: losers go first, then the choice is recorded, then come the job and the hub's status."""
    worker = admitting(group)
    workload = group.workload
    if worker is None or worker.replica is None or workload.check is None:
        return None
    steps = remove_losers(group, worker.name)
    evicted_condition = workload.conditions.get("Evicted")
    if evicted_condition is not None and evicted_condition.status == "True":
        return Decision("G6b-evicted", (*steps, *_deactivate(worker, evicted_condition.message)))
    if worker.job_sync is JobSync.FOREIGN:
        text = _foreign_job(worker)
        return Decision("G6b-foreign", (*steps, *_tell(group, text)), settings.worker_lost_ns, (text,))
    steps = (*steps, *_tell(group, worker.problem))
    wait = settings.deferred_sync_ns if worker.job_sync is JobSync.DEFERRED else settings.worker_lost_ns
    return Decision("G6b", (*steps, *_choose(group, worker), *_sync_steps(worker), *_mirror(group, worker)), wait)


def _choose(group: Group, worker: Worker) -> tuple[Step, ...]:
    winner = choice(group, worker) if worker.job_sync is JobSync.CREATE else None
    return (Step((RecordWinner(winner),)),) if winner is not None else ()


def _tell(group: Group, trouble: str) -> tuple[Step, ...]:
    """Say on a check that is still pending what keeps the winner from running; the Event comes with the change."""
    check = group.workload.check
    text = cut(trouble, EVENT_LIMIT)
    if check is None or check.state is not CheckState.PENDING or text in ("", check.message):
        return ()
    event = EmitEvent(MULTIKUEUE_EVENT, text, warning=True)
    return (Step((PatchHubStatus(check_message=text),)), Step((event,)))


def _mirror(group: Group, worker: Worker) -> tuple[Step, ...]:
    """Write Ready once; the Event belongs to that transition alone."""
    workload = group.workload
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


def _deactivate(worker: Worker, hub_message: str) -> tuple[Step, ...]:
    replica = worker.replica
    if replica is None or replica.is_true("DeactivationTarget"):
        return ()
    return (Step((DeactivateReplica(worker.name, replica.uid, evicted_on_manager(hub_message)),)),)


def _retry(rule: str, text: str) -> Decision:
    message = previously(text, CheckState.READY)
    return Decision(rule, (Step((PatchHubStatus(check_state=CheckState.RETRY, check_message=message),)),))


def _sync_steps(worker: Worker) -> tuple[Step, ...]:
    needed = worker.job_sync in (JobSync.CREATE, JobSync.VERIFY, JobSync.COPY_STATUS, JobSync.FORWARD)
    return (Step((SyncJob(worker.name),)),) if needed else ()


def _foreign_job(worker: Worker) -> str:
    return (
        f'worker "{worker.name}" has a job of the same name that is not ours; '
        "rename one of them or delete the worker's job"
    )
