"""What was deleted on a worker and is not gone yet, and losers that keep their job: row by row."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from gates.decision.decide import decide
from gates.model.actions import CreateReplica, EmitEvent, PatchHubStatus, RecordWinner, RemoveRemote, SyncJob
from gates.model.hub_workload import Check, CheckState, Component, HubWorkload
from gates.model.openings import Winner
from gates.model.rules import Rule
from gates.model.settings import MINUTE, SECOND
from gates.model.view import JobSync, WorkloadView
from tests.support.worker_names import W1, W2
from tests.unit.gates.cases import admitted, ready
from tests.unit.gates.groups import NOW, SETTINGS, L, condition, group, hub, replica, signalled, worker


def saying(message: str, **fields: Any) -> HubWorkload:
    return replace(hub(**fields), check=Check("mk", CheckState.PENDING, message))


LEAVING = {
    "deleted: what only leaves is waited for": (
        group(hub(deleted=True), worker("w1", replica("w1", leaving=True), job_present=True, job_leaving=True)),
        (),
    ),
    "deleted: Kueue's finalizer still has to go": (
        group(hub(deleted=True), worker("w1", replica("w1", leaving=True, in_use=True))),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
    ),
    "deleted: the replica leaves, its job was not told yet": (
        group(hub(deleted=True), worker("w1", replica("w1", leaving=True), job_present=True)),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
    ),
    "deleted: the job leaves, the replica was not told yet": (
        group(hub(deleted=True), worker("w1", replica("w1"), job_present=True, job_leaving=True)),
        (RemoveRemote(W1, ReplicaUID("w1-uid")),),
    ),
    "deleted: siblings run in the job": (
        group(hub(deleted=True), worker("w1", job_present=True, job_kept=True)),
        (),
    ),
    "pending: a stale copy that leaves blocks its place only": (
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", stale_uid="old", stale_leaving=True),
            worker("w2", replica("w2")),
        ),
        (PatchHubStatus(check_message="Pending on w2; an earlier replica is still being deleted on: w1"),),
    ),
    "pending: an unlisted worker's copy leaves": (
        group(
            saying(nominated=("w1",), message="Pending on w1"),
            worker("w1", replica("w1")),
            worker("w9", replica("w9", leaving=True), position=None),
        ),
        (),
    ),
    "pending: a leaving copy holds no gate closed although it has quota": (
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", replica("w1", condition("QuotaReserved"), leaving=True)),
            worker("w2", signalled("w2", at=NOW - SECOND)),
        ),
        None,
    ),
    "admitted, and leaving: it wins nothing": (
        group(
            hub(nominated=("w1", "w2")),
            worker("w1", replace(admitted("w1"), leaving=True)),
            worker("w2", admitted("w2"), job_sync=JobSync.CREATE, job_present=False),
        ),
        (RecordWinner(Winner(W2, ReplicaUID("w2-uid"), NOW - 60 * MINUTE)), SyncJob(W2), *ready("w2")),
    ),
    "admitted where its siblings are not: it wins nothing": (
        group(
            hub(component=Component(complete=True, is_primary=True, sibling_clusters=frozenset({W2}))),
            worker("w1", admitted("w1"), job_present=True),
            worker("w2"),
        ),
        (PatchHubStatus(nominated=(W2,)), RemoveRemote(W1, ReplicaUID("w1-uid")), CreateReplica(W2, gated=False)),
    ),
    "ready, and leaving: followed to its end": (
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", replace(admitted("w1"), leaving=True), job_present=True, job_sync=JobSync.COPY_STATUS),
        ),
        (SyncJob(W1),),
    ),
    "evicted on the hub: a leaving job may still run, so that the hub's is not stopped": (
        group(
            hub(condition("Evicted"), cluster_name="w1", job_to_stop=True),
            worker("w1", job_present=True, job_leaving=True),
        ),
        (),
    ),
    "evicted on the hub: a job that lost its replica goes first": (
        group(
            hub(condition("Evicted"), cluster_name="w1", job_to_stop=True),
            worker("w1", job_present=True),
        ),
        (RemoveRemote(W1),),
    ),
    "a loser's leaving job keeps the winner waiting": (
        group(
            saying(nominated=("w1", "w2"), message='Admitted on "w1"; its job starts when the job on "w2" is gone'),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w2", job_present=True, job_leaving=True),
        ),
        (),
    ),
    "a loser that is removed in the same look keeps the winner waiting, too": (
        group(
            saying(nominated=("w1", "w2"), message='Admitted on "w1"; its job starts when the job on "w9" is gone'),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w9", replica("w9"), job_present=True, position=None),
        ),
        (RemoveRemote(WorkerName("w9"), ReplicaUID("w9-uid")),),
    ),
    "a loser's job in which siblings run is never given up": (
        group(
            saying(nominated=("w1", "w2"), message='Admitted on "w1"; its job starts when the job on "w2" is gone'),
            worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
            worker("w2", job_present=True, job_kept=True, removal_tried_ns=10 * L),
        ),
        (),
    ),
    "a winner that runs is followed whatever a loser does": (
        group(
            hub(check=CheckState.READY, cluster_name="w1"),
            worker("w1", admitted("w1"), job_sync=JobSync.COPY_STATUS, job_present=True),
            worker("w2", replica("w2"), job_present=True, removal_tried_ns=L),
        ),
        (RemoveRemote(W2, ReplicaUID("w2-uid")), SyncJob(W1)),
    ),
}


@pytest.mark.parametrize(("state", "want"), LEAVING.values(), ids=LEAVING.keys())
def test_F2_what_leaves(state: WorkloadView, want: tuple[object, ...] | None) -> None:
    got = decide(state, NOW, SETTINGS, {})
    if want is None:
        assert got.rule == Rule.GATE_OPENED
        assert [type(action).__name__ for action in got.actions] == ["RecordOpenings", "OpenGate"]
    else:
        assert got.actions == want


def test_F8_a_loser_that_keeps_its_job_for_too_long_is_given_up() -> None:
    loser = worker("w2", job_present=True, problem="w2 does not answer", removal_tried_ns=L - SECOND)
    winner = worker("w1", admitted("w1"), job_sync=JobSync.CREATE)
    waiting = decide(group(hub(nominated=("w1", "w2")), winner, loser), NOW, SETTINGS, {})
    assert (waiting.rule, waiting.awaits, waiting.requeue_ns) == (Rule.WAITS_FOR_LOSERS, ("w2",), SECOND)
    assert waiting.actions[1:] == (
        PatchHubStatus(
            check_message='Admitted on "w1"; its job starts when the job on "w2" is gone; w2 does not answer'
        ),
    )
    late = replace(loser, removal_tried_ns=L)
    begun = decide(group(hub(nominated=("w1", "w2")), winner, late), NOW, SETTINGS, {})
    text = 'The job starts on "w1" although the job on "w2" was not removed in time and may still run'
    assert (begun.rule, begun.awaits, begun.notes) == (Rule.WINNER_FOLLOWED, ("w2",), (text,))
    assert begun.actions[0] == RemoveRemote(W2)
    assert SyncJob(W1) in begun.actions
    assert begun.actions[-1] == EmitEvent("MultiKueue", text, warning=True)
