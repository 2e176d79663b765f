"""What to do about a Workload that the hub will not admit as it is, one imperative sentence each."""

import re
from typing import Final

from gates.wire.records import HubRecord

_EXPECTED_MANAGER: Final = re.compile(r'The owner is not managed by Kueue: Expecting (\S+) to be "([^"]*)"')
_NO_ADAPTER: Final = "No multikueue adapter found"
AS_THE_MESSAGE_ASKS: Final = "do what the message asks for, then activate the Workload"
_UNSUPPORTED: Final = "Not supported with MultiKueue"


def after_rejection(record: HubRecord, message: str) -> str:
    """Say what to do after a check rejected a Workload with this message, which has the same words as Kueue's own."""
    kind = record.owner.kind if record.owner is not None else "job"
    if (expected := _EXPECTED_MANAGER.match(message)) is not None:
        return f"delete the {kind} and create it again with {expected[1]}: {expected[2]}"
    if message.startswith(_NO_ADAPTER):
        return f"add the kind {kind} to jobs.integrations of Turnstile, or use a LocalQueue without this check"
    if message.startswith(_UNSUPPORTED):
        return f"delete the {kind} and create it again without that, or use a LocalQueue without this check"
    return f"{AS_THE_MESSAGE_ASKS}: {_activate(record)}"


def reactivation(record: HubRecord) -> str:
    """Say how a Workload becomes active again."""
    return f"activate it: {_activate(record)}"


def smaller_or_more_quota(record: HubRecord) -> str:
    """Say what to do about a request that is larger than the hub's queue could ever serve."""
    return f"request less, or raise the quota of the ClusterQueue behind LocalQueue {record.queue} on the hub"


def for_queue(record: HubRecord, message: str) -> str:
    """Say what to do about a queue that admits nothing; Kueue's message says which queue it is."""
    namespace, queue = record.namespace, record.queue
    if message.startswith("LocalQueue ") and message.endswith("doesn't exist"):
        return f"create LocalQueue {queue} in namespace {namespace} of the hub, or name another one on the job"
    if message.startswith("LocalQueue "):
        return f"see why it is not active: kubectl -n {namespace} describe localqueue {queue}"
    if message.startswith("ClusterQueue "):
        name = message.split()[1]
        return see_why_closed(name)
    return "change on the hub what the message names"


def _activate(record: HubRecord) -> str:
    patch = """'{"spec":{"active":true}}'"""
    return f"kubectl -n {record.namespace} patch workload {record.name} --type merge -p {patch}"


def see_why_closed(cluster_queue: str) -> str:
    """Say how to find out why a ClusterQueue admits nothing."""
    return f"see why it admits nothing, such as a stopPolicy: kubectl describe clusterqueue {cluster_queue}"
