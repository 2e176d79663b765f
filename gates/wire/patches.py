"""Actions spelled as JSON patches that touch our own fields only.

A merge patch would replace whole lists, and with them what others wrote there. A JSON patch names one entry by its
index, which is exact because every patch travels with the resourceVersion that the index was read from.
"""

import json
from typing import assert_never

from config.api.meta import Condition, Obj, format_time
from engine.vocabulary.gate_dialect import GateDialect
from gates.model import marks
from gates.model.actions import (
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    RecordOutOfSync,
    RecordWinner,
    StartRound,
)
from gates.model.dialect import closed_entry, open_entry
from gates.model.forecasts import format_record
from gates.model.texts import MESSAGE_LIMIT, cut
from gates.wire.annotations import format_openings, format_winner
from gates.wire.records import HubRecord, ReplicaRecord

Operations = list[Obj]


def hub_status_patch(hub: HubRecord, check: str, action: PatchHubStatus, now_ns: int) -> Operations:
    """Return the patch of a hub Workload's status."""
    operations = _check_patch(hub, check, action, now_ns)
    if action.cluster_name:
        if not hub.cluster_name:  # once set it cannot be changed: a worker that was renamed keeps its recorded name
            operations.append(_set("/status/clusterName", action.cluster_name))
    elif action.cluster_name is not None and hub.cluster_name:
        operations.append({"op": "remove", "path": "/status/clusterName"})
    if action.nominated:
        operations.append(_set("/status/nominatedClusterNames", list(action.nominated)))
    elif action.nominated is not None and hub.nominated:
        operations.append({"op": "remove", "path": "/status/nominatedClusterNames"})
    if action.finished is not None:
        reason, message = action.finished
        finished = Condition("Finished", "True", reason, message, now_ns, hub.generation)
        operations += condition_patch(hub.condition_order, finished)
    if action.topology_ready:
        operations += [
            _set(f"/status/admission/podSetAssignments/{index}/delayedTopologyRequest", "Ready")
            for index, assignment in enumerate(hub.assignments)
            if assignment.delayed
        ]
    return operations


def _check_patch(hub: HubRecord, check: str, action: PatchHubStatus, now_ns: int) -> Operations:
    """Change Turnstile's own entry; its transition time moves only with its state."""
    found = next(((i, entry) for i, entry in enumerate(hub.checks) if entry.name == check), None)
    if found is None:
        return []
    index, entry = found
    path = f"/status/admissionChecks/{index}"
    operations: Operations = []
    if action.check_state is not None and action.check_state is not entry.state:
        operations.append(_set(f"{path}/state", str(action.check_state)))
        operations.append(_set(f"{path}/lastTransitionTime", format_time(now_ns)))
    if action.check_message is not None and action.check_message != entry.message:
        operations.append(_set(f"{path}/message", cut(action.check_message, MESSAGE_LIMIT)))
    if action.requeue_after_seconds is not None:
        operations.append(_set(f"{path}/requeueAfterSeconds", action.requeue_after_seconds))
    return operations


def hub_annotation(
    action: RecordOpenings | StartRound | RecordWinner | RecordOutOfSync | RecordForecast,
) -> dict[str, str]:
    """Return the annotation that a record is kept in."""
    match action:
        case RecordOpenings(openings=openings, forecast=forecast):
            along = {} if forecast is None else {marks.FORECAST: format_record(forecast)}
            return {marks.GATE_OPENINGS: format_openings(openings), **along}
        case RecordForecast(record=record):
            return {marks.FORECAST: format_record(record)}
        case StartRound(started_ns=started):
            return {marks.ROUND_STARTED: str(started)}
        case RecordWinner(winner=winner, openings=ledger):
            with_ledger = {} if ledger is None else {marks.GATE_OPENINGS: format_openings(ledger)}
            return {marks.WINNER: format_winner(winner), **with_ledger}
        case RecordOutOfSync(clusters=clusters):
            entries = {name: {"count": found.count, "replicaUID": found.replica_uid} for name, found in clusters}
            return {marks.OUT_OF_SYNC: json.dumps(entries, separators=(",", ":"), sort_keys=True)}
        case _:
            assert_never(action)


def gate_opening_patch(replica: ReplicaRecord, dialect: GateDialect, opened_ns: int) -> Operations:
    """Return the patch of a replica's status that opens our gate; other gates stay as they are."""
    return _gate_patch(replica, open_entry(opened_ns, dialect))


def gate_closing_patch(replica: ReplicaRecord, dialect: GateDialect, closed_ns: int) -> Operations:
    """Return the patch of a replica's status that closes our gate; other gates stay as they are."""
    return _gate_patch(replica, closed_entry(closed_ns, dialect))


def _gate_patch(replica: ReplicaRecord, entry: Obj) -> Operations:
    for index, present in enumerate(replica.gates):
        if present.name == entry["name"]:
            return [_set(f"/status/preemptionGates/{index}", entry, op="replace")]
    if replica.gates:
        return [_set("/status/preemptionGates/-", entry)]
    return [_set("/status/preemptionGates", [entry])]


def deactivation_patch(replica: ReplicaRecord, message: str, now_ns: int) -> Operations:
    """Return the patch of a replica's status by which the worker learns that the hub evicted the Workload."""
    target = Condition("DeactivationTarget", "True", "EvictedOnManagerCluster", message, now_ns, replica.generation)
    return condition_patch(replica.condition_order, target)


def finalizer_patch(replica: ReplicaRecord) -> Operations:
    """Return the patch of a replica that lets it go."""
    index = replica.finalizers.index(marks.FINALIZER)
    return [{"op": "remove", "path": f"/metadata/finalizers/{index}"}]


def condition_patch(order: tuple[str, ...], condition: Condition) -> Operations:
    """Return the patch that sets one condition among others."""
    value = condition_entry(condition)
    if condition.type in order:
        return [_set(f"/status/conditions/{order.index(condition.type)}", value, op="replace")]
    return [_set("/status/conditions/-", value)] if order else [_set("/status/conditions", [value])]


def condition_entry(condition: Condition) -> Obj:
    """Write a condition as an entry of `status.conditions`."""
    entry = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": cut(condition.message, MESSAGE_LIMIT),
        "lastTransitionTime": format_time(condition.last_transition_ns),
    }
    return {**entry, "observedGeneration": condition.observed_generation} if condition.observed_generation else entry


def _set(path: str, value: object, op: str = "add") -> Obj:
    return {"op": op, "path": path, "value": value}
