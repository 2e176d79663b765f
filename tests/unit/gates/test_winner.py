"""The record of the winner on the hub Workload, and whose outcome counts."""

from collections.abc import Callable

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import Condition
from gates.decision.winner import evicted, finished
from gates.model.openings import Winner
from gates.model.settings import MINUTE
from gates.model.view import WorkerView, WorkloadView
from gates.wire.annotations import format_winner, parse_winner
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW, condition, group, hub, replica, worker


def test_the_record_is_read_back_as_it_was_written() -> None:
    winner = Winner(W1, ReplicaUID("uid"), 1_800_000_000_000_000_001)
    assert parse_winner(format_winner(winner)) == winner


def test_without_a_record_there_is_no_winner() -> None:
    assert parse_winner(None) is None


@pytest.mark.parametrize(
    "text", ["w1", "[]", "{}", '{"cluster":"w1","replicaUID":"u","quotaReservedAtUnixNano":"soon"}']
)
def test_a_record_that_we_did_not_write_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"the record of the winner is .* expected \{cluster, replicaUID"):
        parse_winner(text)


FINISHED = condition("Finished", at=NOW, reason="Succeeded")


@pytest.mark.parametrize(
    ("winner", "cluster_name", "want"),
    [
        (None, "", "w1"),
        (Winner(W2, ReplicaUID("w2-uid"), NOW - 60 * MINUTE), "", None),
        (Winner(W1, ReplicaUID("w1-uid"), NOW - 60 * MINUTE), "", "w1"),
        (Winner(W2, ReplicaUID("w2-uid"), NOW - 90 * MINUTE), "", "w1"),
        (Winner(WorkerName("w9"), ReplicaUID("w9-uid"), NOW - 60 * MINUTE), "", "w1"),
        (Winner(W2, ReplicaUID("w2-uid"), NOW - 60 * MINUTE), "w1", "w1"),
        (None, "w2", None),
    ],
    ids=[
        "no worker was chosen",
        "another was chosen",
        "it was chosen",
        "another was chosen in an earlier attempt",
        "one was chosen that has left the list",
        "the hub has the last word",
        "the hub names another",
    ],
)
@pytest.mark.parametrize(("outcome", "speaks"), [(FINISHED, finished), (condition("Evicted"), evicted)])
def test_F13_an_outcome_counts_only_from_the_worker_that_was_chosen(
    winner: Winner | None,
    cluster_name: str,
    want: str | None,
    outcome: Condition,
    speaks: Callable[[WorkloadView], WorkerView | None],
) -> None:
    running = worker("w2", replica("w2", condition("Admitted")))
    seen = group(hub(winner=winner, cluster_name=cluster_name), worker("w1", replica("w1", outcome)), running)
    found = speaks(seen)
    assert (found.name if found is not None else None) == want
