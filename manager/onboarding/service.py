"""Takes a worker out of service and back: what Kueue's `spec.unschedulable` means, or our annotation in its place."""

from config.api.meta import Obj, ObjectKey
from gates.model.activity import is_cordoned
from gates.targets.rules import UNSCHEDULABLE
from manager.base.kinds import CLUSTERS
from manager.onboarding.changes import ClusterChanges
from manager.onboarding.errors import UnfitInputError
from workerclient.objects.resource import Precondition


async def find_worker(hub: ClusterChanges, name: str) -> Obj:
    """Return a worker's MultiKueueCluster; raises `UnfitInputError`."""
    stored = await hub.find(CLUSTERS, ObjectKey("", name))
    if stored is None:
        raise UnfitInputError(f"the hub has no MultiKueueCluster {name}; `turnstile worker list` names those it has")
    return stored


async def cordon(hub: ClusterChanges, name: str) -> None:
    """Send nothing new to a worker; what runs there stays."""
    stored = await find_worker(hub, name)
    if is_cordoned(stored):
        hub.tell(f"{name} is cordoned already")
        return
    if hub.is_rehearsal:
        hub.tell(f"would cordon {name}")
        return
    kept = await _patch(hub, stored, {"spec": {"unschedulable": True}})
    if not is_cordoned(kept):  # the hub's Kueue does not serve the field, so that its API server dropped it
        await _patch(hub, kept, {"metadata": {"annotations": {UNSCHEDULABLE: "true"}}})
    hub.tell(f"cordoned {name}: nothing new is sent there, what runs there stays")


async def uncordon(hub: ClusterChanges, name: str) -> None:
    """Use a worker again."""
    stored = await find_worker(hub, name)
    if not is_cordoned(stored):
        hub.tell(f"{name} is not cordoned")
        return
    if hub.is_rehearsal:
        hub.tell(f"would uncordon {name}")
        return
    change: Obj = {"metadata": {"annotations": {UNSCHEDULABLE: None}}}
    if "unschedulable" in stored["spec"]:
        change["spec"] = {"unschedulable": None}
    await _patch(hub, stored, change)
    hub.tell(f"uncordoned {name}")


async def _patch(hub: ClusterChanges, stored: Obj, change: Obj) -> Obj:
    metadata = stored["metadata"]
    fence = Precondition(metadata["uid"], metadata["resourceVersion"])
    return await hub.client.resource(CLUSTERS).merge_patch(ObjectKey("", metadata["name"]), change, fence)
