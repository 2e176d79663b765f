"""The corners of the decision table: what waits, what is left alone, and what an earlier row must not hide."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import ClusterUID, ReplicaUID
from config.names import MULTIKUEUE_NAME
from gates.decision.decide import decide
from gates.model.actions import (
    CreateReplica,
    OpenGate,
)
from gates.model.marks import HubIdentity
from gates.model.openings import Opening
from gates.model.settings import Settings
from gates.model.shape import drift_between, spec_shape
from gates.model.view import Drift
from gates.wire.record_readers import hub_record
from gates.wire.replicas import replica_of
from tests.support.simulated_group import SimulatedGroup
from tests.support.worker_names import W1
from tests.unit.gates.cases import Case
from tests.unit.gates.decision_edges import ENDINGS, EXCLUDE, OPENINGS, ROUNDS, TARGETS, WAITING
from tests.unit.gates.groups import (
    NOW,
    group,
    hub,
    opened,
    signalled,
    worker,
)


def cases(*tables: dict[str, Case]) -> Any:
    return [pytest.param(case, id=name) for table in tables for name, case in table.items()]


@pytest.mark.parametrize("case", cases(WAITING, ROUNDS, TARGETS, ENDINGS, OPENINGS))
def test_decide(case: Case) -> None:
    got = decide(case.group, NOW, case.settings, EXCLUDE)
    assert got.actions == case.want
    assert got.requeue_ns == case.want_requeue
    assert got.notes == case.want_notes


@pytest.mark.parametrize(
    "case", cases({name: c for name, c in ROUNDS.items() if any(isinstance(a, CreateReplica) for a in c.want)})
)
def test_what_is_told_with_a_nomination_is_true_once_the_replicas_are_there(case: Case) -> None:
    simulated = SimulatedGroup(case.group, NOW)
    simulated.carry_out(decide(case.group, NOW, case.settings, EXCLUDE))
    assert decide(simulated.seen(), NOW, case.settings, EXCLUDE).actions == ()


def test_93_each_workload_has_its_own_window() -> None:
    first = group(
        hub(nominated=("w1",), openings=(Opening(W1, ReplicaUID("w1-uid"), NOW),)), worker("w1", opened("w1", at=NOW))
    )
    second = group(replace(hub(nominated=("w1",)), name="other"), worker("w1", signalled("w1", at=NOW)))
    assert not [a for a in decide(first, NOW, Settings(), {}).actions if isinstance(a, OpenGate)]
    assert [a for a in decide(second, NOW, Settings(), {}).actions if isinstance(a, OpenGate)]


def test_39_gates_of_the_hub_are_neither_copied_nor_a_drift() -> None:
    raw = {
        "metadata": {"name": "wl", "namespace": "ns", "uid": "u", "resourceVersion": "1"},
        "spec": {"podSets": [{"name": "main", "count": 1}], "preemptionGates": [{"name": "example.com/hub-only"}]},
        "status": {"admissionChecks": [{"name": "mk", "state": "Pending"}]},
    }
    record = hub_record(raw)
    made = replica_of(record, HubIdentity("origin", ClusterUID("hub")), gated=True)["spec"]
    assert made["preemptionGates"] == [{"name": MULTIKUEUE_NAME}]
    assert record.shape is not None
    assert drift_between(record.shape, spec_shape(made), elastic=False) is Drift.NONE
