"""The decision table of one hub Workload, row by row; numbers are those of the MultiKueue specification."""

import pytest

from config.api.identifiers import ReplicaUID
from gates.decision.decide import decide
from gates.model.actions import (
    PatchHubStatus,
    RemoveRemote,
)
from gates.model.rules import Rule
from gates.model.settings import MINUTE, Dispatcher, Settings
from gates.model.view import (
    JobSync,
)
from tests.support.worker_names import W2
from tests.unit.gates.cases import SEQUENTIAL, Case, admitted
from tests.unit.gates.decision_table import DISPATCH, FOLLOWING, GATES, LEAVING, OWNERSHIP
from tests.unit.gates.groups import (
    NOW,
    SETTINGS,
    L,
    group,
    hub,
    replica,
    worker,
)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name)
        for table in (OWNERSHIP, DISPATCH, FOLLOWING, LEAVING, GATES)
        for name, case in table.items()
    ],
)
def test_decide(case: Case) -> None:
    got = decide(case.group, NOW, case.settings, SEQUENTIAL)
    assert got.actions == case.want
    assert got.requeue_ns == case.want_requeue
    assert got.notes == case.want_notes


def test_a_loser_with_a_job_of_this_hub_stops_the_winner_until_it_is_gone() -> None:
    state = group(
        hub(nominated=("w1", "w2")),
        worker("w1", admitted("w1"), job_sync=JobSync.CREATE),
        worker("w2", replica("w2"), job_present=True),
    )
    got = decide(state, NOW, SETTINGS, {})
    text = 'Admitted on "w1"; its job starts when the job on "w2" is gone'
    assert got.actions == (RemoveRemote(W2, ReplicaUID("w2-uid")), PatchHubStatus(check_message=text))
    assert (got.rule, got.awaits, got.requeue_ns) == (Rule.WAITS_FOR_LOSERS, ("w2",), L)


@pytest.mark.parametrize("elapsed", [0, 5 * MINUTE])
def test_19_21_23_inside_a_round_nothing_is_added(elapsed: int) -> None:
    state = group(hub(nominated=("w1",), round_started_ns=NOW - elapsed), worker("w1", replica("w1")), worker("w2"))
    got = decide(state, NOW, Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1), {})
    assert got.actions == (PatchHubStatus(check_message="Pending on w1"),)
    assert got.requeue_ns == 5 * MINUTE - elapsed + 1


def test_21_incremental_with_everybody_nominated_is_idle() -> None:
    state = group(hub(nominated=("w1",), round_started_ns=NOW - 60 * MINUTE), worker("w1", replica("w1")))
    got = decide(state, NOW, Settings(dispatcher=Dispatcher.INCREMENTAL), {})
    assert got.actions == (PatchHubStatus(check_message="Pending on w1"),)
    assert got.requeue_ns is None
