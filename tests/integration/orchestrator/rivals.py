"""Other controllers that write the hub's Workloads."""

from typing import Any

from config.names import MULTIKUEUE_NAME
from localcluster.store.write_options import WriteOptions
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.world import CHECK, SYSTEM, World

Obj = dict[str, Any]


def hub(controller_name: str) -> Obj:
    return {"origin": "hub-under-test", "namespace": SYSTEM, "controller_name": controller_name}


def kueue_writes_as_itself(world: World, name: str) -> None:
    """Let Kueue's own MultiKueue controller write the check of a Workload, under its field manager."""
    entry = {"name": CHECK, "state": "Pending", "message": "Kueue", "lastTransitionTime": world.hub.now()}
    document = {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "status": {"admissionChecks": [entry]},
    }
    options = WriteOptions(manager=MULTIKUEUE_NAME, force=True)
    kind = world.hub.store.kind("workloads", KUEUE)
    world.hub.store.apply(kind, document, name, NAMESPACE, subresource="status", options=options)
