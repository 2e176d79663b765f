"""Whether a worker's Kueue honours preemption gates, judged by what it does with a gated replica.

An older Kueue prunes the gate out of the spec. A Kueue whose feature is off keeps it there and never gives it a
status entry. Either would preempt freely, so the policy for such workers has to know.
"""

from collections.abc import Mapping
from typing import Final

from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.decision.gate_evidence import NO_EVIDENCE, ReplicaEvidence
from gates.model import marks
from gates.model.dialect import gate_requested_ns, is_open
from gates.model.settings import SECOND
from gates.model.view import GateSupport
from gates.wire.records import ReplicaRecord

GRACE_NS: Final = 30 * SECOND
"""How long a worker's Kueue may take to give a gate its first status entry."""


def judge_replica(replica: ReplicaRecord, dialect: GateDialect, age_ns: int) -> GateSupport:
    """Judge by one replica; UNKNOWN says that it shows nothing yet."""
    return evidence_of(replica, dialect, age_ns).support


def evidence_of(replica: ReplicaRecord, dialect: GateDialect, age_ns: int) -> ReplicaEvidence:
    """Return what one replica shows of the worker's Kueue, and of which time."""
    handled_ns = _handled_ns(replica, dialect)
    if handled_ns is not None:
        return ReplicaEvidence(GateSupport.HONOURED, handled_ns)
    if MULTIKUEUE_NAME not in replica.spec_gates:
        return ReplicaEvidence(GateSupport.MISSING, replica.created_ns) if replica.born_gated else NO_EVIDENCE
    if age_ns <= GRACE_NS:
        return ReplicaEvidence(GateSupport.UNKNOWN, replica.created_ns, is_silence=True)
    return ReplicaEvidence(GateSupport.MISSING, replica.created_ns, is_silence=not replica.conditions)


def _handled_ns(replica: ReplicaRecord, dialect: GateDialect) -> int | None:
    """Return when a Kueue last did something about our gate. An open one was opened by us, at a time of ours."""
    times = [
        replica.created_ns if is_open(gate, dialect) or gate.changed_ns is None else gate.changed_ns
        for gate in replica.gates
        if gate.name == MULTIKUEUE_NAME
    ]
    signal_ns = gate_requested_ns(replica.conditions, dialect)
    return max([*times, *([] if signal_ns is None else [signal_ns])], default=None)


def is_concurrent(replica: ReplicaRecord) -> bool:
    """Tell whether the worker's Kueue makes variants of our replicas, whose gates are not ours to open."""
    return replica.is_variant or replica.has_variants or marks.CONCURRENT_GATE in replica.spec_gates


def dialect_served(openapi: object) -> tuple[GateDialect | None, bool]:
    """Read from a cluster's OpenAPI document how it spells gates, and whether it knows them at all.

    None with True says that the document does not tell, as one of odd shape does not.
    """
    workload = _schema_of_workloads(openapi)
    spec = _within(workload, "properties", "spec", "properties")
    if not spec:
        return None, True
    if "preemptionGates" not in spec:
        return None, False
    status = ("properties", "status", "properties", "preemptionGates", "items", "properties")
    fields = _within(workload, *status)
    found = next((dialect for dialect in GateDialect if dialect.state_field in fields), None)
    return found, True


def describes_workloads(openapi: object) -> bool:
    """Tell whether a cluster's OpenAPI document has anything to say about Workloads."""
    return bool(_within(_schema_of_workloads(openapi), "properties", "spec", "properties"))


def _schema_of_workloads(openapi: object) -> object:
    schemas = _within(openapi, "components", "schemas")
    return next((schema for name, schema in schemas.items() if name.endswith(".Workload")), None)


def _within(document: object, *path: str) -> Mapping[str, object]:
    """Return the object at a path of names; an empty one where there is none."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}
