"""What a worker that is drained loses: which Workloads move, in which order, and where they would go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import Obj, ObjectKey
from config.names import KUEUE_API_VERSION
from gates.model.actions import PatchHubStatus
from gates.model.hub_workload import CheckState
from gates.model.texts import drained_from_worker
from gates.targets.rules import CLUSTER_NAMES
from gates.wire.records import HubRecord


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """One Workload that is to leave, and what a plan says about it."""

    key: ObjectKey
    owner: str
    priority: int
    to: WorkerName = NO_WORKER
    """No name if no worker would admit it now."""
    why: str = ""
    victims: tuple[str, ...] = ()
    """The workloads that would be preempted for it there."""

    def document(self) -> Obj:
        """Return it as plain data."""
        return {
            "namespace": self.key.namespace,
            "name": self.key.name,
            "owner": self.owner,
            "priority": self.priority,
            "to": self.to,
            "why": self.why,
            "victims": list(self.victims),
        }


def leaving(records: Iterable[HubRecord], worker: WorkerName, checks: frozenset[str]) -> list[HubRecord]:
    """Return the Workloads that run on a worker, the most important first: what moves early finds the most room."""
    found = (record for record in records if _runs_on(record, worker, checks))
    return sorted(found, key=lambda record: (-record.priority, record.created_ns, record.key))


def _runs_on(record: HubRecord, worker: WorkerName, checks: frozenset[str]) -> bool:
    entry = record.check(checks)
    is_ready = entry is not None and entry.state is CheckState.READY
    return record.cluster_name == worker and is_ready and not record.is_true("Finished") and not record.deleted


def elsewhere(raw: Obj, worker: WorkerName, workers: Sequence[WorkerName]) -> Obj:
    """Return a Workload as a manifest that may go to any of these workers but the one that it leaves."""
    metadata = raw["metadata"]
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    named = annotations.get(CLUSTER_NAMES)
    allowed = [name for name in workers if named is None or name in [each.strip() for each in named.split(",")]]
    others = ",".join(name for name in allowed if name != worker)
    kept = {key: metadata[key] for key in ("name", "namespace", "labels") if key in metadata}
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": {**kept, "annotations": {**annotations, **({CLUSTER_NAMES: others} if others else {})}},
        "spec": raw["spec"],
    }


def move_of(record: HubRecord, plan: Obj) -> PlannedMove:
    """Return what a plan says about a Workload that leaves."""
    chosen = WorkerName(plan["chosen"]["worker"])
    worker = next((each for each in plan["workers"] if each["name"] == chosen), None)
    victims = tuple(str(victim["workload"]) for victim in worker["victims"]) if worker is not None else ()
    return PlannedMove(record.key, _owner(record), record.priority, chosen, str(plan["chosen"]["why"]), victims)


def unplanned(record: HubRecord, why: str) -> PlannedMove:
    """Return a Workload about which no plan could be made."""
    return PlannedMove(record.key, _owner(record), record.priority, why=why)


def eviction(worker: WorkerName) -> PatchHubStatus:
    """Return what sends a Workload back to the hub's queue."""
    return PatchHubStatus(check_state=CheckState.RETRY, check_message=drained_from_worker(worker))


def _owner(record: HubRecord) -> str:
    return f"{record.owner.kind} {record.owner.name}" if record.owner is not None else ""
