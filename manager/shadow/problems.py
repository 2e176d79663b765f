"""What a shadow cannot see, in sentences; the errors themselves name cluster, verb, resource and remedy."""

from manager.fleet import Fleet
from manager.hub import HubLink
from workerclient.cluster import Connection

_ROLES = "deploy/rbac/shadow.yaml is for the hub, deploy/rbac/shadow-worker.yaml for workers"
_FORBIDDEN = "forbidden"


def problems(hub: HubLink, fleet: Fleet) -> list[str]:
    """Return one sentence for each thing that cannot be read now."""
    found = []
    report = hub.client.report
    if report.connection is not Connection.CONNECTED or report.message != "Connected":
        found.append(f"hub: {report.message}")
    for name, health in sorted(fleet.health().items()):
        if not health.is_active:
            found.append(f"worker {name}: {health.message}")
    for name, link in sorted(fleet.links.items()):
        silent = link.observation.why_silent() if link.is_connected and link.observation is not None else ""
        if silent:
            found.append(f"worker {name}: no forecasts, and victims are not seen: {silent}")
    return [_with_remedy(each) for each in found]


def _with_remedy(problem: str) -> str:
    return f"{problem} ({_ROLES})" if _FORBIDDEN in problem else problem
