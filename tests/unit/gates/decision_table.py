"""The decision table: for each situation of a Workload the actions that follow."""

from dataclasses import replace

from config.api.identifiers import NO_WORKER, ReplicaUID, WorkerName
from gates.model.actions import (
    CreateReplica,
    DeactivateReplica,
    EmitEvent,
    OpenGate,
    PatchHubStatus,
    ProbeWorker,
    RecordOpenings,
    RecordOutOfSync,
    RecordWinner,
    RemoveRemote,
    StartRound,
    StopHubJob,
    SyncJob,
    UpdateReplicaSpec,
)
from gates.model.hub_workload import CheckState, Component, Ownership
from gates.model.openings import Opening, Winner
from gates.model.settings import MINUTE, SECOND, Dispatcher, Settings
from gates.model.texts import out_of_sync
from gates.model.view import Drift, GateSupport, JobSync, OutOfSync, Reach
from tests.support.worker_names import W1, W2, W3, W4
from tests.unit.gates.cases import Case, admitted, nominates, ready, retry
from tests.unit.gates.groups import (
    ATTEMPT,
    NOW,
    SETTINGS,
    L,
    T,
    condition,
    group,
    hub,
    replica,
    signalled,
    without_quota,
    worker,
)


def rejected(text: str) -> PatchHubStatus:
    return PatchHubStatus(check_state=CheckState.REJECTED, check_message=text)


def chosen(name: str, attempt: int = NOW - 60 * MINUTE) -> Winner:
    return Winner(WorkerName(name), ReplicaUID(f"{name}-uid"), attempt)


UNSEEN = 'Admitted on "w1", which cannot be reached: its job may be running, so others wait until 2027-01-15T08:14:00Z'


OWNERSHIP = {
    "1 no check of ours: nothing is written": Case(group(hub(check=None), worker("w1"), worker("w2"))),
    "1 no check of ours, but a replica left from before: it is removed": Case(
        group(hub(check=None), worker("w1", replica("w1"))), (RemoveRemote(W1, ReplicaUID("w1-uid")),)
    ),
    "2 no owner, and ownerless Workloads refused": Case(
        group(hub(ownership=Ownership.OWNERLESS), worker("w1")),
        (rejected('No multikueue adapter found, Previously: "Pending"'),),
        settings=Settings(reject_ownerless=True),
    ),
    "3 7 an owner kind without adapter": Case(
        group(hub(ownership=Ownership.NO_ADAPTER, owner_text="x/v1, Kind=Foo"), worker("w1")),
        (rejected('No multikueue adapter found for owner kind "x/v1, Kind=Foo", Previously: "Pending"'),),
    ),
    "4 8 a job that another controller manages": Case(
        group(hub(ownership=Ownership.NOT_MANAGED, owner_text=""), worker("w1")),
        (
            rejected(
                "The owner is not managed by Kueue: Expecting spec.managedBy to be "
                '"kueue.x-k8s.io/multikueue" not "", Previously: "Pending"'
            ),
        ),
    ),
    "5 already rejected: skipped": Case(group(hub(check=CheckState.REJECTED), worker("w1", replica("w1")))),
}


DISPATCH = {
    "10 both workers get a replica": Case(
        group(hub(), worker("w1"), worker("w2")),
        (nominates("w1", "w2"), CreateReplica(W1), CreateReplica(W2)),
    ),
    "11 only the missing one is created": Case(
        group(hub(nominated=("w1", "w2")), worker("w1", replica("w1")), worker("w2")), (CreateReplica(W2),)
    ),
    "13 a lost worker is not nominated": Case(
        group(hub(), worker("w1"), worker("w2", reach=Reach.LOST)),
        (nominates("w1", note="not reachable: w2"), CreateReplica(W1)),
    ),
    "14 the same set in another order is not written": Case(
        group(hub(nominated=("w2", "w1")), worker("w1"), worker("w2")), (CreateReplica(W1), CreateReplica(W2))
    ),
    "15 another check is not ready: nothing is dispatched": Case(
        group(hub(other_checks_ready=False), worker("w1"), worker("w2"))
    ),
    "16 external without nominations: nothing but the narrative": Case(
        group(hub(), worker("w1"), worker("w2")),
        (PatchHubStatus(check_message="No worker has a replica yet"),),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
    ),
    "16 external with w1 and w6: exactly those": Case(
        group(hub(nominated=("w1", "w6")), worker("w1"), worker("w2"), worker("w6")),
        (CreateReplica(W1), CreateReplica(WorkerName("w6"))),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
    ),
    "17 external nominates a lost cluster: the others go on": Case(
        group(hub(nominated=("w1", "w2")), worker("w1"), worker("w2", reach=Reach.LOST)),
        (CreateReplica(W1),),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
        want_notes=("cluster w2: no remote client for nominated cluster",),
    ),
    "18 external drops w1: its replica goes": Case(
        group(hub(nominated=("w2",)), worker("w1", replica("w1")), worker("w2", replica("w2"))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
    ),
    "19 incremental: the first three in configuration order": Case(
        group(hub(), *(worker(f"w{n}") for n in range(1, 16))),
        (
            nominates("w1", "w2", "w3"),
            StartRound(NOW),
            CreateReplica(W1),
            CreateReplica(W2),
            CreateReplica(W3),
        ),
        5 * MINUTE + 1,
        Settings(dispatcher=Dispatcher.INCREMENTAL),
    ),
    "20 incremental with a step of two": Case(
        group(
            hub(nominated=("w1", "w2"), round_started_ns=NOW - 6 * MINUTE),
            worker("w1", replica("w1")),
            worker("w2", replica("w2")),
            *(worker(f"w{n}") for n in (3, 4, 5)),
        ),
        (
            nominates("w1", "w2", "w3", "w4"),
            StartRound(NOW),
            CreateReplica(W3),
            CreateReplica(W4),
        ),
        5 * MINUTE + 1,
        Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=2),
    ),
    "27 an eviction is still in progress: no nomination": Case(
        group(hub(condition("Evicted"), cluster_name="w1"), worker("w1"))
    ),
    "27 a cluster is left over from before an eviction: forgotten first": Case(
        group(hub(cluster_name="w1"), worker("w1")), (PatchHubStatus(cluster_name=NO_WORKER),)
    ),
    "29 a component waits until all its siblings exist": Case(
        group(hub(component=Component(complete=False, is_primary=True)), worker("w1"))
    ),
    "29 94 a component follows its siblings, without a gate": Case(
        group(
            hub(component=Component(complete=True, is_primary=False, sibling_clusters=frozenset({W2}))),
            worker("w1"),
            worker("w2"),
        ),
        (PatchHubStatus(nominated=(W2,)), CreateReplica(W2, gated=False)),
    ),
    "29 siblings on two clusters": Case(
        group(
            hub(component=Component(complete=True, is_primary=False, sibling_clusters=frozenset({W1, W2}))),
            worker("w1"),
            worker("w2"),
        ),
        (PatchHubStatus(check_message="siblings are on several clusters"),),
        want_notes=("siblings are on several clusters",),
    ),
    "a foreign Workload of the same name stops only its own worker": Case(
        group(hub(), worker("w1", foreign_replica=True), worker("w2")),
        (
            nominates("w1", "w2", holding="w2", note="a foreign Workload with the same name exists on: w1"),
            CreateReplica(W2),
        ),
    ),
}


FOLLOWING = {
    "31 reserved but not admitted: the other replica stays": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", replica("w1", condition("QuotaReserved"))),
            worker("w2", replica("w2")),
        ),
        (PatchHubStatus(check_message="Pending on w1, w2"),),
    ),
    "32 the winner: losers first, then the record of the choice, then the job, then the hub": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w2", replica("w2")),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")), RecordWinner(chosen("w1")), SyncJob(W1), *ready("w1")),
        L,
    ),
    "32 the choice is recorded once": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w2"),
        ),
        (SyncJob(W1), *ready("w1")),
        L,
    ),
    "60 90 the winner showed its gate: its opening was none, also should it be lost later": Case(
        group(
            hub(
                nominated=("w1", "w2"),
                openings=(Opening(W1, ReplicaUID(""), NOW - SECOND, ATTEMPT, until_shown=True),),
            ),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w2", gates=GateSupport.UNKNOWN),
        ),
        (RecordWinner(chosen("w1"), ()), SyncJob(W1), *ready("w1")),
        L,
    ),
    "60 90 the winner shows its gate after it was chosen": Case(
        group(
            hub(
                check=CheckState.READY,
                cluster_name="w1",
                winner=chosen("w1"),
                openings=(
                    Opening(W1, ReplicaUID(""), NOW - SECOND, ATTEMPT, until_shown=True),
                    Opening(W2, ReplicaUID(""), NOW - MINUTE, ATTEMPT),
                ),
            ),
            worker("w1", admitted("w1"), job_present=True),
            worker("w2", gates=GateSupport.MISSING),
        ),
        (RecordOpenings((Opening(W2, ReplicaUID(""), NOW - MINUTE, ATTEMPT),)),),
        L,
    ),
    "F11 a single worker is recorded too: a second may be added before a restart": Case(
        group(hub(nominated=("w1",)), worker("w1", admitted("w1"), job_sync=JobSync.CREATE)),
        (RecordWinner(chosen("w1")), SyncJob(W1), *ready("w1")),
        L,
    ),
    "34 the chosen replica stays although another admitted earlier": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1", admitted("w1"), job_present=True),
            worker("w2", admitted("w2", at=NOW - MINUTE)),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")), *ready("w1")),
        L,
    ),
    "34 a choice of an earlier attempt does not count": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1", attempt=NOW - 90 * MINUTE)),
            worker("w1", admitted("w1")),
            worker("w2", admitted("w2", at=NOW - MINUTE), job_present=True),
        ),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), *ready("w2")),
        L,
    ),
    "59 the chosen worker is out of sight: its job may be running, so no other worker wins": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - MINUTE),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        (PatchHubStatus(check_message=UNSEEN), EmitEvent("MultiKueue", UNSEEN, warning=True)),
        L - MINUTE,
    ),
    "60 the chosen worker counts as lost: others may win": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - L),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        (RecordWinner(chosen("w2")), SyncJob(W2), *ready("w2")),
        L,
    ),
    "58 the chosen worker cannot be read for the moment: look again": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1", reach=Reach.UNREADABLE),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        want_requeue=SETTINGS.deferred_sync_ns,
    ),
    "34 a chosen replica that is gone no longer counts": Case(
        group(
            hub(nominated=("w1", "w2"), winner=chosen("w1")),
            worker("w1"),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        (RecordWinner(chosen("w2")), SyncJob(W2), *ready("w2")),
        L,
    ),
    "28 33 the winner was never nominated: nominate first, because the hub refuses the name otherwise": Case(
        group(hub(), worker("w1", admitted("w1"))), (PatchHubStatus(nominated=(W1,)),), L
    ),
    "34 the recorded winner stays although another admitted earlier": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", admitted("w1")),
            worker("w2", admitted("w2", at=NOW - MINUTE)),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
        L,
    ),
    "35 both in the same second: configuration order": Case(
        group(hub(nominated=("w1", "w2")), worker("w2", admitted("w2")), worker("w1", admitted("w1"))),
        (RemoveRemote(W2, ReplicaUID("w2-uid")), *ready("w1")),
        L,
    ),
    "36 an out-of-date loser goes, the winner stays": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", admitted("w1")),
            worker("w2", replica("w2", drift=Drift.OTHER)),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
        L,
    ),
    "37 an out-of-date pending replica is removed": Case(
        group(hub(nominated=("w1",)), worker("w1", replica("w1", drift=Drift.OTHER))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
    ),
    "38 a priority change is made in place": Case(
        group(hub(nominated=("w1",)), worker("w1", replica("w1", drift=Drift.PRIORITY))),
        (UpdateReplicaSpec(W1, ReplicaUID("w1-uid"), "3"),),
    ),
    "40 a foreign remote job: the hub is not finished": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", replica("w1", condition("Finished", reason="Succeeded")), job_sync=JobSync.FOREIGN),
        ),
        (),
        L,
        want_notes=(
            'worker "w1" has a job of the same name that Turnstile did not create; '
            "rename one of them or delete the job on the worker",
        ),
    ),
    "41 a finished replica is mirrored": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker(
                "w1",
                replica("w1", condition("Finished", reason="Succeeded", message="done")),
                job_sync=JobSync.COPY_STATUS,
            ),
        ),
        (SyncJob(W1), PatchHubStatus(finished=("Succeeded", "done"))),
    ),
    "41 a finished replica whose job is known to be over needs no last word": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker(
                "w1",
                replica("w1", condition("Finished", reason="Succeeded", message="done")),
                job_present=True,
                job_ended=True,
            ),
        ),
        (PatchHubStatus(finished=("Succeeded", "done")),),
    ),
    "41 a finished replica's job has the last word, whatever the cache says of it": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", replica("w1", condition("Finished", reason="Succeeded", message="done")), job_present=True),
        ),
        (SyncJob(W1, final=True), PatchHubStatus(finished=("Succeeded", "done"))),
    ),
    "41 a finished replica whose hub job cannot be read waits for it": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1", job_readable=False),
            worker("w1", replica("w1", condition("Finished", reason="Succeeded"))),
        ),
        want_requeue=SETTINGS.deferred_sync_ns,
    ),
    "42 the hub is finished: everything goes": Case(
        group(hub(condition("Finished")), worker("w1", replica("w1"), job_present=True), worker("w2", replica("w2"))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), RemoveRemote(W2, ReplicaUID("w2-uid"))),
    ),
    "43 the worker's Kueue did not find the job: retry": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", replica("w1", condition("Finished", reason="OwnerNotFound"))),
        ),
        (
            RecordOutOfSync(((W1, OutOfSync(1, ReplicaUID("w1-uid"))),)),
            retry(f'{out_of_sync(W1)}, Previously: "Ready"', requeue_after_seconds=1),
            EmitEvent("MultiKueue", f'{out_of_sync(W1)}, Previously: "Ready"', warning=True),
        ),
    ),
    "43 out of sync while Ready: retry": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", replica("w1", condition("Finished", reason="OutOfSync"))),
        ),
        (
            RecordOutOfSync(((W1, OutOfSync(1, ReplicaUID("w1-uid"))),)),
            retry(
                'Remote workload on worker cluster "w1" is out of sync with its user job, '
                'resetting for re-dispatch, Previously: "Ready"',
                requeue_after_seconds=1,
            ),
            EmitEvent(
                "MultiKueue",
                'Remote workload on worker cluster "w1" is out of sync with its user job, '
                'resetting for re-dispatch, Previously: "Ready"',
                warning=True,
            ),
        ),
    ),
    "44 out of sync while Retry: nothing": Case(
        group(hub(check=CheckState.RETRY), worker("w1", replica("w1", condition("Finished", reason="OutOfSync"))))
    ),
    "45 a suspended job's status is deferred": Case(
        group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", admitted("w1"), job_sync=JobSync.DEFERRED)),
        (),
        2 * SECOND,
    ),
    "47 a topology assignment of the winner is acknowledged": Case(
        group(hub(check=CheckState.READY, cluster_name="w1", topology_due=True), worker("w1", admitted("w1"))),
        (PatchHubStatus(topology_ready=True),),
        L,
    ),
    "6.2-2 a stale outcome on a loser is removed, not mirrored": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", admitted("w1")),
            worker("w2", replica("w2", condition("Finished", reason="Succeeded"))),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
        L,
    ),
}


LEAVING = {
    "48 without quota everything goes": Case(
        group(without_quota(hub()), worker("w1", replica("w1")), worker("w2", replica("w2"))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), RemoveRemote(W2, ReplicaUID("w2-uid"))),
    ),
    "48 without quota what the status says of clusters is taken back": Case(
        group(without_quota(hub(cluster_name="w1", nominated=("w1",))), worker("w1")),
        (PatchHubStatus(cluster_name=NO_WORKER, nominated=()),),
    ),
    "48 without quota another dispatcher's nominations stay": Case(
        group(without_quota(hub(nominated=("w1",))), worker("w1")),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
    ),
    "42 a finished Workload still says where it ran": Case(
        group(hub(condition("Finished"), cluster_name="w1", check=CheckState.READY), worker("w1"))
    ),
    "49 without quota and w2 lost: w1 is cleaned, look again later": Case(
        group(without_quota(hub()), worker("w1", replica("w1")), worker("w2", reach=Reach.LOST)),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
        L,
    ),
    "50 evicted on the hub: the winner is deactivated": Case(
        group(hub(condition("Evicted", message="preempted")), worker("w1", admitted("w1"))),
        (DeactivateReplica(W1, ReplicaUID("w1-uid"), "Evicted on manager: preempted"),),
    ),
    "60 evicted, and the winner is out of reach for too long: the hub's job is stopped": Case(
        group(
            hub(condition("Evicted"), cluster_name="w1", job_to_stop=True),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - L),
        ),
        (StopHubJob(),),
    ),
    "59 evicted, and the winner is out of reach: wait for the rest of the grace": Case(
        group(
            hub(condition("Evicted"), cluster_name="w1", job_to_stop=True),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - MINUTE),
        ),
        want_requeue=L - MINUTE,
    ),
    "62 evicted, and nothing is left on the winner: the hub's job is stopped": Case(
        group(hub(condition("Evicted"), cluster_name="w1", job_to_stop=True), worker("w1")), (StopHubJob(),)
    ),
    "62 evicted, and the winner was restored to before the job was created: the hub's job is stopped": Case(
        group(hub(condition("Evicted"), cluster_name="w1", job_to_stop=True), worker("w1", replica("w1"))),
        (StopHubJob(),),
    ),
    "62 evicted on both sides, and the winner has no job any more: the hub's job is stopped": Case(
        group(
            hub(condition("Evicted"), cluster_name="w1", job_to_stop=True),
            worker("w1", replica("w1", condition("Evicted"))),
        ),
        (StopHubJob(),),
    ),
    "62 evicted, and the winner's cache is not complete: look again": Case(
        group(hub(condition("Evicted"), cluster_name="w1", job_to_stop=True), worker("w1", reach=Reach.UNREADABLE)),
        want_requeue=SETTINGS.deferred_sync_ns,
    ),
    "66 evicted, and the winner left the list: the hub's job is stopped": Case(
        group(hub(condition("Evicted"), cluster_name="w1", job_to_stop=True), worker("w2")), (StopHubJob(),)
    ),
    "50 evicted, and the winner runs on: its end is waited for": Case(
        group(
            hub(condition("Evicted", message="why"), cluster_name="w1", job_to_stop=True),
            worker("w1", admitted("w1"), job_present=True),
        ),
        (DeactivateReplica(W1, ReplicaUID("w1-uid"), "Evicted on manager: why"),),
    ),
    "51 evicted on both sides: only the job is synchronised": Case(
        group(
            hub(condition("Evicted")),
            worker("w1", replica("w1", condition("Evicted")), job_sync=JobSync.COPY_STATUS),
        ),
        (SyncJob(W1),),
    ),
    "52 evicted on the winner: retry": Case(
        group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", replica("w1", condition("Evicted")))),
        (
            retry('Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"'),
            EmitEvent(
                "MultiKueue",
                'Workload evicted on worker cluster: "w1", resetting for re-admission. Previously: "Ready"',
            ),
        ),
    ),
    "53 55 deleted: everything goes, a job without replica too": Case(
        group(hub(deleted=True), worker("w1", replica("w1")), worker("w2", job_present=True)),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), RemoveRemote(W2)),
    ),
    "58 an unreadable worker is unknown, the others go on": Case(
        group(hub(nominated=("w1", "w2")), worker("w1", reach=Reach.UNREADABLE), worker("w2")),
        (CreateReplica(W2),),
    ),
    "59 the winner is lost for less than the grace": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - 10 * MINUTE),
        ),
        (),
        5 * MINUTE,
    ),
    "60 the winner is lost for the whole grace": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - 15 * MINUTE),
        ),
        (retry('Admitting remote lost, Previously: "Ready"'),),
    ),
    "62 the winner's replica is gone": Case(
        group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1")),
        (retry('Admitting remote no longer exists, Previously: "Ready"'),),
    ),
    "63 Ready without a recorded cluster": Case(
        group(hub(check=CheckState.READY), worker("w1")),
        (
            retry(
                "Admission check is Ready but no admitting cluster is recorded; "
                'this is unexpected, please report it, Previously: "Ready"'
            ),
        ),
    ),
    "64 w2 drifted while w1 is lost: w2 is cleaned, the grace goes on": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW),
            worker("w2", replica("w2", drift=Drift.OTHER)),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
        L,
    ),
    "6.2-9 a cluster taken off the list keeps nothing": Case(
        group(hub(nominated=("w1",)), worker("w1", replica("w1")), worker("w9", replica("w9"), position=None)),
        (RemoveRemote(WorkerName("w9"), ReplicaUID("w9-uid")),),
    ),
    "112 a replaced slice is left alone": Case(
        group(
            hub(condition("Finished", reason="WorkloadSliceReplaced"), elastic=True),
            worker("w1", replica("w1"), job_present=True),
        )
    ),
    "112 a scale-up slice without quota is left alone": Case(
        group(without_quota(hub(elastic=True, replaces_slice=True)), worker("w1", replica("w1")))
    ),
    "112 a scale-down is made in place": Case(
        group(
            hub(elastic=True, cluster_name="w1", check=CheckState.READY),
            worker("w1", replace(admitted("w1"), drift=Drift.SCALE_DOWN)),
        ),
        (UpdateReplicaSpec(W1, ReplicaUID("w1-uid"), "3"),),
        L,
    ),
}


GATES = {
    "69 87 the record is written before the gate is opened, under the version that was looked at": Case(
        group(hub(nominated=("w1",)), worker("w1", signalled("w1", at=NOW))),
        (
            RecordOpenings((Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, entry_ns=NOW),)),
            OpenGate(W1, ReplicaUID("w1-uid"), "3", NOW),
        ),
        T,
    ),
    "88 a reverted gate needs no new record": Case(
        group(
            hub(nominated=("w1",), openings=(Opening(W1, ReplicaUID("w1-uid"), NOW - SECOND, entry_ns=NOW - SECOND),)),
            worker("w1", signalled("w1", at=NOW - MINUTE), opening_confirmed=True),
        ),
        (OpenGate(W1, ReplicaUID("w1-uid"), "3", NOW - SECOND),),
        T,
    ),
    "no gate opens while the hub evicts": Case(group(hub(condition("Evicted")), worker("w1", signalled("w1", at=NOW)))),
    "90 sequential: a worker that ignores gates gets its replica as its opening, one per window": Case(
        group(
            hub(nominated=("w1", "w2", "w3")),
            worker("w1", replica("w1")),
            worker("w2", gates=GateSupport.MISSING),
            worker("w3", gates=GateSupport.MISSING),
        ),
        (
            RecordOpenings((Opening(W2, ReplicaUID(""), NOW, ATTEMPT, entry_ns=NOW),)),
            CreateReplica(W2, gated=False, opened_ns=NOW),
        ),
        T,
    ),
    "90 a worker of which it is not known gets a gated replica as its opening, the next one waits": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", gates=GateSupport.UNKNOWN),
            worker("w2", gates=GateSupport.UNKNOWN),
        ),
        (
            RecordOpenings((Opening(W1, ReplicaUID(""), NOW, ATTEMPT, entry_ns=NOW, until_shown=True),)),
            CreateReplica(W1, opened_ns=NOW),
        ),
        T,
    ),
    "90 before a replica is recorded as an opening, its worker is asked whether it answers": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", gates=GateSupport.UNKNOWN, answers=False),
            worker("w2", gates=GateSupport.UNKNOWN, answers=False),
        ),
        (ProbeWorker(W1),),
        T,
    ),
    "90 while one worker is asked, the next one is": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", gates=GateSupport.UNKNOWN, answers=False, busy=True),
            worker("w2", gates=GateSupport.UNKNOWN, answers=False),
        ),
        (ProbeWorker(W2),),
        T,
    ),
    "90 no gate opens while a worker that may have room is asked": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", signalled("w1", at=NOW - SECOND)),
            worker("w2", gates=GateSupport.UNKNOWN, answers=False, busy=True),
        ),
        (),
        SECOND,
    ),
    "90 when the gate shows, the opening was none and the next one follows": Case(
        group(
            hub(
                nominated=("w1", "w2"),
                openings=(Opening(W1, ReplicaUID(""), NOW - SECOND, ATTEMPT, until_shown=True),),
            ),
            worker("w1", replica("w1")),
            worker("w2", gates=GateSupport.UNKNOWN),
        ),
        (
            RecordOpenings((Opening(W2, ReplicaUID(""), NOW, ATTEMPT, entry_ns=NOW, until_shown=True),)),
            CreateReplica(W2, opened_ns=NOW),
        ),
        T,
    ),
    "90 a worker that may have room gets its replica before another's gate opens": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", signalled("w1", at=NOW - SECOND)),
            worker("w2", gates=GateSupport.UNKNOWN),
        ),
        (
            RecordOpenings((Opening(W2, ReplicaUID(""), NOW, ATTEMPT, entry_ns=NOW, until_shown=True),)),
            CreateReplica(W2, opened_ns=NOW),
        ),
        SECOND,
    ),
    "90 no gate opens while another worker has not shown its own": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", signalled("w1", at=NOW - SECOND)),
            worker("w2", replica("w2", gate_shown=False)),
        ),
        (),
        SECOND,
    ),
    "90 of replicas whose gates were dropped one may stay": Case(
        group(
            hub(nominated=("w1", "w2"), check=CheckState.PENDING),
            worker("w1", replica("w1", has_gate=False, gate_shown=False), gates=GateSupport.MISSING),
            worker("w2", replica("w2", has_gate=False, gate_shown=False), gates=GateSupport.MISSING),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
    ),
    "90 a worker whose Kueue does not react gets nothing": Case(
        group(
            hub(nominated=("w1", "w2"), check=CheckState.PENDING),
            worker("w1", replica("w1")),
            worker("w2", gates=GateSupport.UNKNOWN, is_silent=True),
        ),
        (PatchHubStatus(check_message="Pending on w1"),),
    ),
    "90 sequential: the next one waits for the window": Case(
        group(
            hub(
                nominated=("w1", "w2", "w3"),
                openings=(Opening(W2, ReplicaUID(""), NOW - MINUTE),),
                check=CheckState.PENDING,
            ),
            worker("w1", replica("w1")),
            worker("w2", replica("w2", has_gate=False), gates=GateSupport.MISSING),
            worker("w3", gates=GateSupport.MISSING),
        ),
        (
            PatchHubStatus(
                check_message="Pending on w1, w2; gate open: w2 since 2027-01-15T07:59:00Z; "
                "the window of w2 ends at 2027-01-15T08:04:00Z"
            ),
        ),
        T - MINUTE,
    ),
}
