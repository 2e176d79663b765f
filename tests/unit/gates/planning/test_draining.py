"""What a worker that is drained loses, in which order, and that it is not planned to come back."""

from typing import Any

import pytest

from config.api.meta import Obj
from gates.planning.draining import elsewhere, leaving, move_of
from gates.targets.rules import CLUSTER_NAMES
from gates.wire.record_readers import hub_record
from tests.support.worker_names import W1, W2, W3

OURS = frozenset({"mk"})


def workload(name: str, *, priority: int = 0, cluster: str = "w1", state: str = "Ready", **metadata: Any) -> Obj:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1", **metadata},
        "spec": {"priority": priority},
        "status": {"clusterName": cluster, "admissionChecks": [{"name": "mk", "state": state}]},
    }


def test_the_most_important_leave_first() -> None:
    raws = [workload("a"), workload("b", priority=5), workload("c", priority=5)]
    assert [record.name for record in leaving(map(hub_record, raws), W1, OURS)] == ["b", "c", "a"]


STAYS = {
    "on another worker": workload("a", cluster="w2"),
    "on its way back already": workload("a", state="Retry"),
    "being deleted": workload("a", deletionTimestamp="2027-01-15T08:00:00Z"),
    "of another check": {**workload("a"), "status": {"clusterName": "w1", "admissionChecks": []}},
}


@pytest.mark.parametrize("raw", STAYS.values(), ids=STAYS)
def test_what_does_not_run_there_is_left_alone(raw: Obj) -> None:
    assert leaving([hub_record(raw)], W1, OURS) == []


def test_it_is_planned_for_the_other_workers_within_its_own_rules() -> None:
    free = elsewhere(workload("a"), W1, [W1, W2, W3])
    assert free["metadata"]["annotations"] == {CLUSTER_NAMES: "w2,w3"}
    bound = elsewhere(workload("a", annotations={CLUSTER_NAMES: "w1, w3"}), W1, [W1, W2, W3])
    assert bound["metadata"]["annotations"] == {CLUSTER_NAMES: "w3"}


def test_a_move_names_what_would_be_preempted_there() -> None:
    workers = [{"name": "w2", "victims": [{"workload": "ns/low"}]}, {"name": "w3", "victims": []}]
    move = move_of(hub_record(workload("a")), {"chosen": {"worker": "w2", "why": "it is free"}, "workers": workers})
    assert (move.to, move.victims, move.why) == ("w2", ("ns/low",), "it is free")
    none = move_of(hub_record(workload("a")), {"chosen": {"worker": "", "why": "full"}, "workers": workers})
    assert (none.to, none.victims) == ("", ())
