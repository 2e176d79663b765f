"""What a worker's objects say of a copy: who was preempted for it and why, and which flavors it holds.

It shares no code with Turnstile, so that it can be held against what Turnstile says of itself.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.conformance.client import Obj
from tests.e2e.scene import condition_of

_PREEMPTOR = re.compile(r"\(UID: ([^,)\s]+)")
_REASONS = {
    "prioritization in the ClusterQueue": "InClusterQueue",
    "reclamation within the cohort": "InCohortReclamation",
    "reclamation within the cohort while borrowing": "InCohortReclaimWhileBorrowing",
    "Fair Sharing within the cohort": "InCohortFairSharing",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to see of one copy."""

    has_quota: bool
    flavors: frozenset[tuple[str, str]]
    """Resource and flavor."""
    victims: frozenset[tuple[str, str]]
    """Namespace/name and reason."""


class Preemptions:
    """Who was preempted for whom, whatever became of them since: a condition tells only the last time."""

    def __init__(self) -> None:
        self._victims: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)

    def note(self, workload: Obj) -> None:
        """Take one version of a Workload."""
        if preemptor := _preemptor(workload):
            self._victims[preemptor].add(_preempted(workload))

    def made_for(self, uid: str) -> frozenset[tuple[str, str]]:
        """Return who made way for a Workload."""
        return frozenset(self._victims.get(uid, ()))


def seen(workloads: Iterable[Obj], uid: str, preemptions: Preemptions) -> Seen | None:
    """Read what became of the copy with this UID; None if it is gone."""
    found = {each["metadata"]["uid"]: each for each in workloads}
    if uid not in found:
        return None
    for each in found.values():
        preemptions.note(each)
    assigned = ((found[uid].get("status") or {}).get("admission") or {}).get("podSetAssignments") or ()
    return Seen(
        has_quota=has_quota(found[uid]),
        flavors=frozenset(pair for each in assigned for pair in (each.get("flavors") or {}).items()),
        victims=preemptions.made_for(uid),
    )


def has_quota(workload: Obj) -> bool:
    """Return whether a Workload has quota."""
    return condition_of(workload, "QuotaReserved").get("status") == "True"


def is_gate_open(workload: Obj) -> bool:
    """Return whether the gate of a Workload was opened."""
    gates = (workload.get("status") or {}).get("preemptionGates") or ()
    return any(gate.get("position") == "Open" for gate in gates)


def is_parked_as_gated(workload: Obj) -> bool:
    """Return whether Kueue says that a Workload waits for its gate."""
    return condition_of(workload, "QuotaReserved").get("message") == "Workload requires preemption, but it's gated"


def is_turned_down(workload: Obj) -> bool:
    """Return whether Kueue has looked at a Workload and neither admits it nor asks for its gate."""
    asks = condition_of(workload, "BlockedOnPreemptionGates").get("status") == "True"
    return condition_of(workload, "QuotaReserved").get("status") == "False" and not asks


def _preemptor(workload: Obj) -> str:
    found = _PREEMPTOR.search(condition_of(workload, "Preempted").get("message") or "")
    return found.group(1) if found else ""


def _preempted(workload: Obj) -> tuple[str, str]:
    """Return who was preempted, and why, also of one that has got in again since."""
    metadata, condition = workload["metadata"], condition_of(workload, "Preempted")
    text = condition["message"].partition(" due to ")[2].partition(";")[0]
    reason = condition["reason"] if condition["status"] == "True" else _REASONS.get(text, text)
    return f"{metadata['namespace']}/{metadata['name']}", reason
