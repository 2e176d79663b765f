"""Whether the hub keeps what it is sent: a webhook or an older CustomResourceDefinition may remove it again.

What is not kept would be written again at every decision, and whatever relies on it must not follow.
"""

from collections.abc import Mapping

from gates.model.actions import PatchHubStatus
from gates.model.texts import MESSAGE_LIMIT, cut
from gates.wire.records import HubRecord


def missing_annotation(wanted: Mapping[str, str], stored: Mapping[str, str]) -> str:
    """Name the first annotation that an object does not have as it was written; empty if it has them all."""
    return next((name for name, value in wanted.items() if stored.get(name) != value), "")


def missing_status(hub: HubRecord, check: str, action: PatchHubStatus) -> str:
    """Name the first field of a status that is not as it was written; empty if all are."""
    entry = next((each for each in hub.checks if each.name == check), None)
    if entry is not None and action.check_state not in (None, entry.state):
        return "status.admissionChecks[].state"
    message = None if action.check_message is None else cut(action.check_message, MESSAGE_LIMIT)
    if entry is not None and message not in (None, entry.message):
        return "status.admissionChecks[].message"
    # A name that was recorded before stays, because it cannot be changed.
    if action.cluster_name is not None and bool(action.cluster_name) is not bool(hub.cluster_name):
        return "status.clusterName"
    if action.nominated is not None and action.nominated != hub.nominated:
        return "status.nominatedClusterNames"
    if action.finished is not None and not hub.is_true("Finished"):
        return "status.conditions"
    if action.topology_ready and any(assignment.delayed for assignment in hub.assignments):
        return "status.admission.podSetAssignments[].delayedTopologyRequest"
    return ""
