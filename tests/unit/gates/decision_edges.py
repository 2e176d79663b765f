"""Corners of the decision table."""

from dataclasses import replace

from config.api.identifiers import NO_WORKER, ReplicaUID, WorkerName
from gates.model.actions import (
    CreateReplica,
    DeactivateReplica,
    OpenGate,
    PatchHubStatus,
    RecordOpenings,
    RemoveRemote,
    StartRound,
)
from gates.model.hub_workload import CheckState, Component, Ownership
from gates.model.openings import Opening
from gates.model.settings import MINUTE, SECOND, Dispatcher, Settings, UngatedPolicy
from gates.model.texts import no_client
from gates.model.view import GateSupport, JobSync, OutOfSync, Reach
from tests.support.worker_names import W1, W2
from tests.unit.gates.cases import Case, admitted, nominates, ready, retry
from tests.unit.gates.groups import (
    ATTEMPT,
    NOW,
    L,
    T,
    condition,
    group,
    hub,
    opened,
    replica,
    signalled,
    without_quota,
    worker,
)

INCREMENTAL = Settings(dispatcher=Dispatcher.INCREMENTAL)


ONE_BY_ONE = Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1)


UNGATED_ALONE = Settings(gate_single_target=False)


EXCLUDE = {W2: UngatedPolicy.EXCLUDE}


def told(message: str) -> tuple[PatchHubStatus]:
    return (PatchHubStatus(check_message=message),)


def component(*clusters: str, complete: bool = True, primary: bool = False) -> Component:
    return Component(complete=complete, is_primary=primary, sibling_clusters=frozenset(map(WorkerName, clusters)))


WAITING = {
    "6 rejected, and then deactivated by the hub: everything goes": Case(
        group(without_quota(hub()), worker("w1", replica("w1")), worker("w2", replica("w2"))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), RemoveRemote(W2, ReplicaUID("w2-uid"))),
    ),
    "9 a job that cannot be read is neither rejected nor dispatched": Case(
        group(hub(ownership=Ownership.UNKNOWN), worker("w1")),
        want_notes=("the job that owns the Workload cannot be read",),
    ),
    "12 30 a creation that failed: nominations and the other replica stay, and the check says why": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", replica("w1")),
            worker("w2", busy=True, problem="cluster w2: no namespace"),
        ),
        told("Pending on w1; cluster w2: no namespace"),
    ),
    "17 an external nomination without a connection is told on the check too": Case(
        group(hub(nominated=("w1", "w9")), worker("w1", replica("w1"))),
        told(f"Pending on w1; {no_client('w9')}"),
        settings=Settings(dispatcher=Dispatcher.EXTERNAL),
        want_notes=(no_client("w9"),),
    ),
    "24 26 a worker that is new or back gets its replica": Case(
        group(hub(nominated=("w1",)), worker("w1", replica("w1")), worker("w2")),
        (nominates("w1", "w2"), CreateReplica(W2)),
    ),
    "13 a worker whose caches are not complete keeps its nomination": Case(
        group(hub(nominated=("w1", "w2")), worker("w1", replica("w1")), worker("w2", reach=Reach.UNREADABLE)),
        told("Pending on w1; not reachable: w2"),
    ),
    "13 but does not get a new one": Case(
        group(hub(nominated=("w1",)), worker("w1", replica("w1")), worker("w2", reach=Reach.UNREADABLE)),
        told("Pending on w1; not reachable: w2"),
    ),
    "29 a primary whose sibling is placed already follows it": Case(
        group(hub(component=component("w2", primary=True)), worker("w1"), worker("w2")),
        (PatchHubStatus(nominated=(W2,)), CreateReplica(W2, gated=False)),
    ),
    "29 a component waits for missing siblings although one is placed": Case(
        group(hub(component=component("w2", complete=False)), worker("w1"), worker("w2"))
    ),
    "29 who is not the primary waits for it": Case(group(hub(component=component()), worker("w1"), worker("w2"))),
    "29 the siblings' cluster is away": Case(
        group(hub(component=component("w2")), worker("w1"), worker("w2", reach=Reach.LOST)),
        told('assigned worker cluster "w2" is not available'),
        want_notes=('assigned worker cluster "w2" is not available',),
    ),
}


ROUNDS = {
    "19 exactly at the end of a round nothing is added": Case(
        group(hub(nominated=("w1",), round_started_ns=NOW - 5 * MINUTE), worker("w1", replica("w1")), worker("w2")),
        told("Pending on w1"),
        1,
        ONE_BY_ONE,
    ),
    "20 five workers in steps of two: the last round has what is left": Case(
        group(
            hub(nominated=("w1", "w2", "w3", "w4"), round_started_ns=NOW - 6 * MINUTE),
            *(worker(f"w{n}", replica(f"w{n}")) for n in range(1, 5)),
            worker("w5"),
        ),
        (nominates("w1", "w2", "w3", "w4", "w5"), StartRound(NOW), CreateReplica(WorkerName("w5"))),
        settings=Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=2),
    ),
    "22 deleted": Case(group(hub(deleted=True), worker("w1")), settings=INCREMENTAL),
    "22 no check": Case(group(hub(check=None), worker("w1")), settings=INCREMENTAL),
    "22 Rejected": Case(group(hub(check=CheckState.REJECTED), worker("w1")), settings=INCREMENTAL),
    "22 Ready": Case(
        group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", admitted("w1")), worker("w2")),
        (),
        L,
        INCREMENTAL,
    ),
    "22 a cluster is recorded: forgotten first, nobody is nominated beside it": Case(
        group(hub(cluster_name="w1"), worker("w1")), (PatchHubStatus(cluster_name=NO_WORKER),), settings=INCREMENTAL
    ),
    "22 finished": Case(group(hub(condition("Finished")), worker("w1")), settings=INCREMENTAL),
    "22 no quota": Case(group(without_quota(hub()), worker("w1")), settings=INCREMENTAL),
    "fault-13 a lost worker takes no place in a round": Case(
        group(hub(), worker("w1", reach=Reach.LOST), worker("w2"), worker("w3")),
        (nominates("w2", note="not reachable: w1"), StartRound(NOW), CreateReplica(W2)),
        5 * MINUTE + 1,
        ONE_BY_ONE,
    ),
    "fault-13 a worker that is still connecting takes no place in a round": Case(
        group(hub(), worker("w1", reach=Reach.UNREADABLE), worker("w2")),
        (nominates("w2", note="not reachable: w1"), StartRound(NOW), CreateReplica(W2)),
        settings=ONE_BY_ONE,
    ),
    "a worker that turns out to ignore gates loses its nomination also in rounds": Case(
        group(
            hub(nominated=("w1", "w2"), round_started_ns=NOW - MINUTE),
            worker("w1", replica("w1")),
            worker("w2", replica("w2"), gates=GateSupport.MISSING),
        ),
        (nominates("w1"), RemoveRemote(W2, ReplicaUID("w2-uid"))),
        settings=INCREMENTAL,
    ),
    "a clock that was set back does not make a round longer": Case(
        group(hub(nominated=("w1",), round_started_ns=NOW + 60 * MINUTE), worker("w1", replica("w1")), worker("w2")),
        (StartRound(NOW),),
        5 * MINUTE + 1,
        ONE_BY_ONE,
    ),
}


TARGETS = {
    "68 every replica is gated, the only one too": Case(
        group(hub(), worker("w1")), (nominates("w1"), CreateReplica(W1))
    ),
    "68 unless the operator wants otherwise for the only one": Case(
        group(hub(), worker("w1")),
        (nominates("w1"), CreateReplica(W1, gated=False)),
        settings=UNGATED_ALONE,
    ),
    "68 a worker that is away may come back, so the other one is not alone": Case(
        group(hub(), worker("w1"), worker("w2", reach=Reach.LOST)),
        (nominates("w1", note="not reachable: w2"), CreateReplica(W1)),
        settings=UNGATED_ALONE,
    ),
    "68 the first of several rounds is not the only one": Case(
        group(hub(), worker("w1"), worker("w2")),
        (nominates("w1"), StartRound(NOW), CreateReplica(W1)),
        5 * MINUTE + 1,
        replace(ONE_BY_ONE, gate_single_target=False),
    ),
    "fault-16 a worker that found it out of sync three times is left out": Case(
        group(
            hub(),
            worker("w1", out_of_sync=OutOfSync(3, ReplicaUID("x"))),
            worker("w2", out_of_sync=OutOfSync(2, ReplicaUID("y"))),
        ),
        (nominates("w2"), CreateReplica(W2)),
    ),
}


ENDINGS = {
    "54 56 deleted while w2 is away: w1 is cleaned, the garbage collector does the rest": Case(
        group(hub(deleted=True), worker("w1", replica("w1"), job_present=True), worker("w2", reach=Reach.LOST)),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
    ),
    "57 finished while the loser was away: it is cleaned when it is back": Case(
        group(hub(condition("Finished")), worker("w1"), worker("w2", replica("w2"))),
        (RemoveRemote(W2, ReplicaUID("w2-uid")),),
    ),
    "61 the grace is counted from the loss, however old the check is": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - SECOND),
        ),
        (),
        L - SECOND,
    ),
    "65 66 a loss that was not noted begins now, and ends": Case(
        group(hub(check=CheckState.READY, cluster_name="w1"), worker("w1", reach=Reach.LOST)), (), L
    ),
    "67 a stale copy with its job goes before anything else": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w2"),
            worker("w1", replica("w1", condition("Evicted")), job_present=True),
            worker("w2", admitted("w2")),
        ),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
        L,
    ),
    "fault-2 an old eviction on a loser does not hide the winner that the hub evicts": Case(
        group(
            hub(condition("Evicted", message="preempted")),
            worker("w1", admitted("w1")),
            worker("w2", replica("w2", condition("Evicted", at=NOW - MINUTE)), job_sync=JobSync.COPY_STATUS),
        ),
        (
            RemoveRemote(W2, ReplicaUID("w2-uid")),
            DeactivateReplica(W1, ReplicaUID("w1-uid"), "Evicted on manager: preempted"),
        ),
    ),
    "51 a winner that winds down is still admitted: its job is followed": Case(
        group(
            hub(condition("Evicted")),
            worker(
                "w1",
                replica("w1", condition("Admitted"), condition("Evicted")),
                job_sync=JobSync.DEFERRED,
            ),
        ),
        (),
        2 * SECOND,
    ),
    "fault-2 an eviction on a worker means nothing before a worker won": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", replica("w1", condition("Evicted"))),
            worker("w2", admitted("w2")),
        ),
        (RemoveRemote(W1, ReplicaUID("w1-uid")), *ready("w2")),
        L,
    ),
    "34 59 another admitted worker does not win while the recorded one is away": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", reach=Reach.LOST, lost_since_ns=NOW - MINUTE),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        (),
        L - MINUTE,
    ),
    "62 nor when the recorded one has lost its replica": Case(
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1"),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE),
        ),
        (retry('Admitting remote no longer exists, Previously: "Ready"'),),
    ),
    "52 an eviction counts only with a recorded cluster": Case(
        group(hub(check=CheckState.READY), worker("w1", replica("w1", condition("Evicted")))),
        (
            retry(
                "Admission check is Ready but no admitting cluster is recorded; "
                'this is unexpected, please report it, Previously: "Ready"'
            ),
        ),
    ),
}


OPENINGS = {
    "3.7 what an operator opened is written down, so that its window outlasts the connection": Case(
        group(hub(nominated=("w1", "w2")), worker("w1", opened("w1", at=NOW - MINUTE)), worker("w2", replica("w2"))),
        (
            RecordOpenings(
                (Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, took_effect=True, entry_ns=NOW - MINUTE, by_others=1),)
            ),
        ),
    ),
    "F6 what another client opened begins its window when it is seen, whatever time its entry says": Case(
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", opened("w1", at=NOW - T)),
            worker("w2", signalled("w2", at=NOW)),
        ),
        (
            RecordOpenings(
                (Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, took_effect=True, entry_ns=NOW - T, by_others=1),)
            ),
        ),
    ),
    "3.7 with a grace the first gate waits for a worker with room": Case(
        group(hub(nominated=("w1", "w2")), worker("w1", signalled("w1", at=NOW - SECOND)), worker("w2", replica("w2"))),
        told(
            "Pending on w1, w2; asked to preempt: w1; "
            "the gate of w1 opens at 2027-01-15T08:00:09Z unless another worker has room"
        ),
        9 * SECOND,
        Settings(non_preempting_grace_ns=10 * SECOND),
    ),
    "3.7 and opens when that has passed": Case(
        group(hub(nominated=("w1",)), worker("w1", signalled("w1", at=NOW - 10 * SECOND))),
        (
            RecordOpenings((Opening(W1, ReplicaUID("w1-uid"), NOW, ATTEMPT, entry_ns=NOW),)),
            OpenGate(W1, ReplicaUID("w1-uid"), "3", NOW),
        ),
        T,
        Settings(non_preempting_grace_ns=10 * SECOND),
    ),
    "3.7 the grace is for the first gate only": Case(
        group(
            hub(nominated=("w1", "w2"), openings=(Opening(W1, ReplicaUID("w1-uid"), NOW - T),)),
            worker("w1", opened("w1", at=NOW - T)),
            worker("w2", signalled("w2", at=NOW)),
        ),
        (
            RecordOpenings(
                (
                    Opening(W1, ReplicaUID("w1-uid"), NOW - T),
                    Opening(W2, ReplicaUID("w2-uid"), NOW, ATTEMPT, entry_ns=NOW),
                )
            ),
            OpenGate(W2, ReplicaUID("w2-uid"), "3", NOW),
        ),
        T,
        Settings(non_preempting_grace_ns=10 * SECOND),
    ),
}
