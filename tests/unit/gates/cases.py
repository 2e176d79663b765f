"""Cases of the decision table, and the actions that they expect."""

from dataclasses import dataclass

from config.api.identifiers import WorkerName
from gates.model.actions import (
    Action,
    EmitEvent,
    PatchHubStatus,
)
from gates.model.hub_workload import CheckState
from gates.model.settings import Settings, UngatedPolicy
from gates.model.view import Replica, WorkloadView
from tests.support.worker_names import W2, W3
from tests.unit.gates.groups import (
    NOW,
    SETTINGS,
    condition,
    replica,
)

SEQUENTIAL = {W2: UngatedPolicy.SEQUENTIAL, W3: UngatedPolicy.SEQUENTIAL}


@dataclass(frozen=True)
class Case:
    group: WorkloadView
    want: tuple[Action, ...] = ()
    want_requeue: int | None = None
    settings: Settings = SETTINGS
    want_notes: tuple[str, ...] = ()


def retry(text: str, requeue_after_seconds: int | None = None) -> PatchHubStatus:
    return PatchHubStatus(check_state=CheckState.RETRY, check_message=text, requeue_after_seconds=requeue_after_seconds)


def nominates(*clusters: str, holding: str = "", note: str = "") -> PatchHubStatus:
    """Nominate clusters, and tell in the same write who will hold a copy (by default all of them)."""
    text = f"Pending on {holding or ', '.join(clusters)}{note and '; '}{note}"
    return PatchHubStatus(nominated=tuple(map(WorkerName, clusters)), check_message=text)


def ready(cluster: str) -> tuple[PatchHubStatus, EmitEvent]:
    text = f'The workload was admitted on "{cluster}"'
    patch = PatchHubStatus(
        check_state=CheckState.READY, check_message=text, cluster_name=WorkerName(cluster), nominated=()
    )
    return patch, EmitEvent("MultiKueue", text)


def admitted(name: str, at: int = NOW) -> Replica:
    return replica(name, condition("QuotaReserved", at=at), condition("Admitted", at=at))
