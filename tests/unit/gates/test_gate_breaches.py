"""Others were preempted for a replica: whether that shows that its closed gate did not hold."""

from dataclasses import replace

import pytest

from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import evidence_of, has_preempted_gated
from gates.diagnosis.auditing import preempted_through_gates
from gates.model.dialect import GateEntry
from gates.model.settings import SECOND
from gates.model.view import GateSupport
from gates.wire.record_readers import replica_record
from gates.wire.records import ReplicaRecord
from tests.unit.gates.groups import NOW, group, hub, replica, worker

CREATED = 1_800_000_000 * SECOND
CLOSED = GateEntry(MULTIKUEUE_NAME, position="Closed", changed_ns=CREATED + 2 * SECOND)
OPEN = replace(CLOSED, position="Open")
UNDATED = replace(CLOSED, changed_ns=None)
OTHER = GateEntry("example.com/other", position="Open", changed_ns=CREATED)


def record(*gates: GateEntry, is_gated: bool = True) -> ReplicaRecord:
    raw = {
        "metadata": {
            "name": "wl",
            "namespace": "ns",
            "uid": "u",
            "resourceVersion": "1",
            "creationTimestamp": "2027-01-15T08:00:00Z",
        },
        "spec": {"preemptionGates": [{"name": MULTIKUEUE_NAME}] if is_gated else []},
    }
    return replace(replica_record(raw), gates=gates)


BREACHES: dict[str, tuple[ReplicaRecord, int, bool]] = {
    "the gate has no status yet": (record(), 0, True),
    "before the replica was created": (record(), -1, False),
    "the gate is closed": (record(CLOSED), 4, True),
    "within the second in which the gate was closed": (record(CLOSED), 3, False),
    "before the gate was closed, when it may have been open": (record(CLOSED), 1, False),
    "the gate is closed, and does not say since when": (record(UNDATED), 0, True),
    "the gate is open": (record(OPEN), 4, False),
    "only another gate is open": (record(OTHER), 4, True),
    "it has no gate": (record(is_gated=False), 4, False),
}


@pytest.mark.parametrize(("shown", "after", "want"), BREACHES.values(), ids=BREACHES.keys())
def test_90_a_preemption_counts_as_evidence_only_if_the_gate_was_closed(
    shown: ReplicaRecord, after: int, want: bool
) -> None:
    preempted_ns = CREATED + after * SECOND
    assert shown.created_ns == CREATED
    assert has_preempted_gated(shown, preempted_ns, GateDialect.KUEUE) is want
    evidence = evidence_of(shown, GateDialect.KUEUE, 5 * SECOND, preempted_ns)
    assert evidence.has_preempted is want
    assert not want or (evidence.support, evidence.at_ns) == (GateSupport.MISSING, preempted_ns)


VIOLATIONS: dict[str, tuple[dict[str, int | None], set[str]]] = {
    "no one was preempted": ({"w1": None, "w2": None}, set()),
    "one worker preempted": ({"w1": NOW, "w2": None}, {"w1"}),
    "both did": ({"w1": NOW, "w2": NOW}, {"w1", "w2"}),
}


@pytest.mark.parametrize(("preempted", "want"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_closed_gate_holds_is_violated_once_for_each_replica_that_preempted(
    preempted: dict[str, int | None], want: set[str]
) -> None:
    copies = {name: replace(replica(name), preempted_ns=at_ns) for name, at_ns in preempted.items()}
    view = group(hub(), *(worker(name, copy) for name, copy in copies.items()), worker("w3"))
    assert preempted_through_gates(view) == {copies[name].uid for name in want}
