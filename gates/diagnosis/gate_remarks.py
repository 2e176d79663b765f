"""Whether a worker honours preemption gates, in words for conditions, screens and the log."""

from collections.abc import Mapping
from typing import Final

from config.api.meta import Obj
from gates.decision.gate_evidence import Findings
from gates.detection.gate_switch import FEATURE_GATE
from gates.model.settings import UngatedPolicy
from gates.model.texts import GATES_NOT_HONOURED, GATES_NOT_KNOWN_YET
from gates.model.view import GateSupport

_STATES: Final[Mapping[GateSupport, str]] = {
    GateSupport.HONOURED: "Honoured",
    GateSupport.UNKNOWN: "Unknown",
    GateSupport.MISSING: "NotHonoured",
}
_CONSEQUENCES: Final[Mapping[UngatedPolicy, str]] = {
    UngatedPolicy.ALLOW: "it is used all the same and may preempt at any time",
    UngatedPolicy.EXCLUDE: "it gets no Workloads",
    UngatedPolicy.SEQUENTIAL: "no Workload is sent to two such workers at once",
}


def gates_document(support: GateSupport, policy: UngatedPolicy) -> Obj:
    """Return whether gates are honoured and what happens if not, for programs."""
    return {"state": _STATES[support], "gatesUnsupported": str(policy)}


def gates_remark(findings: Findings, policy: UngatedPolicy) -> str:
    """Return what is worth knowing, nothing if gates are honoured."""
    verdict = findings.verdict
    if verdict is GateSupport.HONOURED:
        return ""
    consequence = f"{_CONSEQUENCES[policy]} (gatesUnsupported: {policy})"
    if verdict is GateSupport.UNKNOWN:
        # A worker that is excluded when it ignores gates has to be tried to find out.
        tried = UngatedPolicy.SEQUENTIAL if policy is UngatedPolicy.EXCLUDE else policy
        return f"{GATES_NOT_KNOWN_YET}: {_CONSEQUENCES[tried]} (gatesUnsupported: {policy})"
    return f"{GATES_NOT_HONOURED}{_how(findings)}: {consequence}"


def _how(findings: Findings) -> str:
    if not findings.knows_gates:
        return ", which it does not know"
    if findings.support is GateSupport.UNKNOWN:
        return f", because its Configuration leaves {FEATURE_GATE} off"
    honoured_ns = findings.honoured_ns or 0
    if findings.preempted_ns is not None and findings.preempted_ns > honoured_ns:
        return " and preempted through a closed one"
    return ""
