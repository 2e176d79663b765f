"""The condition `Active` of clusters and checks, as tests look at it."""

from config.names import KUEUE_GROUP
from tests.integration.orchestrator.world import CHECK, World


def active(world: World, plural: str, name: str) -> tuple[str, str, str] | None:
    """Return status, reason and message."""
    conditions = world.hub.get(plural, name, KUEUE_GROUP, "").get("status", {}).get("conditions", [])
    found = next((c for c in conditions if c["type"] == "Active"), None)
    return (found["status"], found["reason"], found["message"]) if found else None


def cluster(world: World, name: str) -> tuple[str, str, str] | None:
    """Return the words of a MultiKueueCluster."""
    return active(world, "multikueueclusters", name)


def check(world: World) -> tuple[str, str, str] | None:
    """Return the words of the check."""
    return active(world, "admissionchecks", CHECK)
