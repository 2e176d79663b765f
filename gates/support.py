"""Whether a worker's Kueue honours preemption gates, judged by what it does with a gated replica.

An older Kueue prunes the gate out of the spec. A Kueue whose feature is off keeps it there and never gives it a
status entry. Either would preempt freely, so the policy for such workers has to know.
"""

from typing import Final

from config.names import MULTIKUEUE_NAME
from gates import marks
from gates.dialect import KEP_8303, KUEUE, Dialect
from gates.records import Obj, ReplicaRecord
from gates.settings import SECOND
from gates.view import GateSupport

GRACE_NS: Final = 30 * SECOND
"""How long a worker's Kueue may take to give a gate its first status entry."""


def judge_replica(replica: ReplicaRecord, dialect: Dialect, age_ns: int) -> GateSupport:
    """Judge by one replica; UNKNOWN says that it shows nothing yet."""
    if any(entry.get("name") == MULTIKUEUE_NAME for entry in replica.gate_entries):
        return GateSupport.HONOURED
    if dialect.signal_ns(replica.conditions) is not None:
        return GateSupport.HONOURED
    if MULTIKUEUE_NAME not in replica.spec_gates:
        return GateSupport.MISSING if replica.born_gated else GateSupport.UNKNOWN
    return GateSupport.MISSING if age_ns > GRACE_NS else GateSupport.UNKNOWN


def is_concurrent(replica: ReplicaRecord) -> bool:
    """Tell whether the worker's Kueue makes variants of our replicas, whose gates are not ours to open."""
    return replica.is_variant or replica.has_variants or marks.CONCURRENT_GATE in replica.spec_gates


def dialect_served(openapi: Obj) -> tuple[Dialect | None, bool]:
    """Read from a cluster's OpenAPI document how it spells gates, and whether it knows them at all.

    None with True says that the document does not tell.
    """
    schemas = (openapi.get("components") or {}).get("schemas") or {}
    workload = next((schema for name, schema in schemas.items() if name.endswith(".Workload")), None)
    if not isinstance(workload, dict):
        return None, True
    properties = workload.get("properties") or {}
    spec = (properties.get("spec") or {}).get("properties")
    if not spec:
        return None, True
    if "preemptionGates" not in spec:
        return None, False
    gates = (((properties.get("status") or {}).get("properties") or {}).get("preemptionGates") or {}).get("items") or {}
    fields = gates.get("properties") or {}
    found = next((dialect for dialect in (KUEUE, KEP_8303) if dialect.position in fields), None)
    return found, True
