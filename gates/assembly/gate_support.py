"""Whether a worker's Kueue honours preemption gates, judged by what it does with a gated replica.

An older Kueue prunes the gate out of the spec. A Kueue whose feature is off keeps it there and never gives it a
status entry. Either would preempt freely, so the policy for such workers has to know.
"""

from typing import Final

from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.decision.gate_evidence import NO_EVIDENCE, ReplicaEvidence
from gates.model import marks
from gates.model.dialect import gate_requested_ns, is_open
from gates.model.settings import SECOND, TIME_LIMIT_NS
from gates.model.view import GateSupport
from gates.wire.records import ReplicaRecord

GRACE_NS: Final = 30 * SECOND
"""How long a worker's Kueue may take to give a gate its first status entry."""
HANDLED_GRACE_NS: Final = 5 * SECOND
"""How long it may take once it has done anything else with the replica."""


def judge_replica(replica: ReplicaRecord, dialect: GateDialect, age_ns: int) -> GateSupport:
    """Judge by one replica; UNKNOWN says that it shows nothing yet."""
    return evidence_of(replica, dialect, age_ns).support


def evidence_of(
    replica: ReplicaRecord, dialect: GateDialect, age_ns: int, preempted_ns: int | None = None
) -> ReplicaEvidence:
    """Return what one replica shows of the worker's Kueue, and of which time.

    `preempted_ns` is when others were last preempted for it, if its gate was never opened.
    """
    handled_ns = _handled_ns(replica, dialect)
    if preempted_ns is not None and has_preempted_gated(replica, preempted_ns, dialect):
        return ReplicaEvidence(GateSupport.MISSING, preempted_ns, has_preempted=True)
    if handled_ns is not None:
        return ReplicaEvidence(GateSupport.HONOURED, handled_ns)
    if MULTIKUEUE_NAME not in replica.spec_gates:
        return ReplicaEvidence(GateSupport.MISSING, replica.created_ns) if replica.born_gated else NO_EVIDENCE
    handled_for_ns = replica.created_ns + age_ns - _first_reaction_ns(replica)
    if age_ns <= GRACE_NS and handled_for_ns <= HANDLED_GRACE_NS:
        return ReplicaEvidence(GateSupport.UNKNOWN, replica.created_ns, is_silence=True)
    return ReplicaEvidence(GateSupport.MISSING, replica.created_ns, is_silence=not replica.conditions)


def shows_gate(replica: ReplicaRecord, dialect: GateDialect) -> bool:
    """Return whether a Kueue has shown on the replica that it knows of our gate."""
    return _handled_ns(replica, dialect) is not None


def has_preempted_gated(replica: ReplicaRecord, preempted_ns: int, dialect: GateDialect) -> bool:
    """Return whether a replica preempted while its gate was closed; times have whole seconds."""
    ours = next((gate for gate in replica.gates if gate.name == MULTIKUEUE_NAME), None)
    if MULTIKUEUE_NAME not in replica.spec_gates or (ours is not None and is_open(ours, dialect)):
        return False
    if ours is None or ours.changed_ns is None:
        return preempted_ns >= replica.created_ns
    return preempted_ns > ours.changed_ns + SECOND


def _first_reaction_ns(replica: ReplicaRecord) -> int:
    """Return when the replica got the oldest of its conditions; without any it is still to come."""
    times = (condition.last_transition_ns for condition in replica.conditions.values())
    return min(times, default=TIME_LIMIT_NS)


def _handled_ns(replica: ReplicaRecord, dialect: GateDialect) -> int | None:
    """Return when a Kueue last did something about our gate. An open one was opened by us, at a time that we wrote."""
    times = [
        replica.created_ns if is_open(gate, dialect) or gate.changed_ns is None else gate.changed_ns
        for gate in replica.gates
        if gate.name == MULTIKUEUE_NAME
    ]
    signal_ns = gate_requested_ns(replica.conditions, dialect)
    return max([*times, *([] if signal_ns is None else [signal_ns])], default=None)


def is_concurrent(replica: ReplicaRecord) -> bool:
    """Return whether the worker's Kueue makes variants of our replicas, whose gates are not ours to open."""
    return replica.is_variant or replica.has_variants or marks.CONCURRENT_GATE in replica.spec_gates
