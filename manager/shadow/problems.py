"""What a shadow cannot see now; the errors themselves name cluster, verb, resource and remedy."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from workerclient.objects.connection_report import ConnectionState

_ROLES: Final = "deploy/rbac/shadow.yaml is for the hub, deploy/rbac/shadow-worker.yaml for workers"


_LEASE_REMEDY: Final = (
    "ask the instance that holds it; if none does, apply deploy/rbac/shadow.yaml on the hub, "
    "and check shadow.leaseName and hub.namespace"
)


class ShadowProblemKind(StrEnum):
    """What is not seen."""

    LEASE = "Lease"
    """The shadow does not hold its Lease, so it observes nothing."""
    HUB = "Hub"
    WORKER = "Worker"
    FORECASTS = "Forecasts"
    """There are no forecasts for a worker, and its victims are not seen."""


@dataclass(frozen=True, slots=True)
class ShadowProblem:
    """One thing that cannot be read now."""

    kind: ShadowProblemKind
    cluster: str
    message: str
    remedy: str = ""

    def document(self) -> dict[str, str]:
        """Return the problem as the report shows it."""
        return {"kind": str(self.kind), "cluster": self.cluster, "message": self.message, "remedy": self.remedy}


def problems(hub: HubLink, fleet: Fleet, standby: str) -> list[ShadowProblem]:
    """Return each thing that cannot be read now; `standby` says why nothing is observed at all, if so."""
    found = []
    if standby:
        found.append(ShadowProblem(ShadowProblemKind.LEASE, "hub", standby, _LEASE_REMEDY))
    report = hub.client.report
    if report.connection is not ConnectionState.CONNECTED or report.message != "Connected":
        remedy = _remedy(is_forbidden=report.is_forbidden)
        found.append(ShadowProblem(ShadowProblemKind.HUB, "hub", report.message, remedy))
    for name, health in sorted(fleet.health().items()):
        if not health.is_active:
            remedy = _remedy(is_forbidden=health.is_forbidden)
            found.append(ShadowProblem(ShadowProblemKind.WORKER, name, health.message, remedy))
    for name, link in sorted(fleet.links.items()):
        observation = link.observation if link.is_connected else None
        if observation is not None and (silent := observation.why_silent()):
            remedy = _remedy(is_forbidden=observation.is_forbidden)
            found.append(ShadowProblem(ShadowProblemKind.FORECASTS, name, silent, remedy))
    return found


def _remedy(*, is_forbidden: bool) -> str:
    return _ROLES if is_forbidden else ""
