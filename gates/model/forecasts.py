"""The forecast that a gate was opened on, and what became of it, as a record on the hub Workload.

The record is written with the opening, so that a restart does not lose what was promised. It is for people and for the
verification alone: no gate ever depends on it, and an invalid record is treated as missing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import Obj
from engine.forecasting.forecast import Cost, Flavors, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult, Replay
from gates.model.pod_records import PodRecord, pod_entry, read_pod_entry
from gates.model.record_entries import moment_entry, read_moment

MAX_VICTIMS: Final = 50
"""A record names no more victims than this; one that would is not verified after a restart."""


@dataclass(frozen=True, slots=True)
class ForecastRecord:
    """One forecast that was acted on."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    opened_ns: int
    """The start of the window, which tells the openings of one replica apart."""
    forecast: Forecast
    result: ForecastResult = ForecastResult.PENDING
    message: str = ""
    verified_ns: int | None = None
    pods: PodRecord | None = None
    """The same about the pods that the Workload brings; None where they are not forecast."""

    def is_about(self, cluster: WorkerName, replica_uid: ReplicaUID, opened_ns: int) -> bool:
        """Tell whether this is the record of an opening."""
        return (self.cluster, self.replica_uid, self.opened_ns) == (cluster, replica_uid, opened_ns)


@dataclass(frozen=True, slots=True)
class Witness:
    """What the model of a worker saw of a replica whose gate was opened; complete up to the replica's own version."""

    flavors: Flavors = ()
    evicted: tuple[Evicted, ...] = ()
    replays: tuple[Replay, ...] = ()
    missed: str = ""
    """Why not all replays are there, where that is so."""


def format_record(record: ForecastRecord) -> str:
    """Write the annotation."""
    forecast = record.forecast
    kept = forecast.victims[:MAX_VICTIMS]
    entry: Obj = {
        "cluster": record.cluster,
        "replicaUID": record.replica_uid,
        "openedAtUnixNano": str(record.opened_ns),
        "madeAtUnixNano": str(forecast.made_ns),
        "verdict": str(forecast.verdict),
        "message": forecast.message,
        "clusterQueue": forecast.cluster_queue,
        "flavors": _flavor_entries(forecast.flavors),
        **(
            {"otherFlavors": [_flavor_entries(each) for each in forecast.other_flavors]}
            if forecast.other_flavors
            else {}
        ),
        "borrowing": forecast.borrowing,
        "victims": [_victim_entry(victim) for victim in kept],
        "victimsLeftOut": len(forecast.victims) - len(kept),
        "cost": _cost_entry(forecast.cost),
        "result": str(record.result),
        "resultMessage": record.message,
        **moment_entry("verifiedAt", record.verified_ns),
    }
    if record.pods is not None:
        entry["pods"] = pod_entry(record.pods)
    return json.dumps(entry, separators=(",", ":"))


def parse_record(text: str | None) -> ForecastRecord | None:
    """Read the annotation; None for a missing one, and for one that says nothing useful."""
    if not text:
        return None
    try:
        entry = json.loads(text)
        if entry["victimsLeftOut"]:
            return None
        return ForecastRecord(
            cluster=WorkerName(str(entry["cluster"])),
            replica_uid=ReplicaUID(str(entry["replicaUID"])),
            opened_ns=int(entry["openedAtUnixNano"]),
            forecast=_forecast(entry),
            result=ForecastResult(entry["result"]),
            message=str(entry["resultMessage"]),
            verified_ns=read_moment(entry, "verifiedAt"),
            pods=read_pod_entry(entry.get("pods")),
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        return None


def _forecast(entry: Mapping[str, Any]) -> Forecast:
    borrowing = entry["borrowing"]
    cost = entry["cost"]
    return Forecast(
        verdict=ForecastVerdict(entry["verdict"]),
        made_ns=int(entry["madeAtUnixNano"]),
        message=str(entry["message"]),
        cluster_queue=str(entry["clusterQueue"]),
        flavors=_flavors(entry["flavors"]),
        other_flavors=tuple(_flavors(each) for each in entry.get("otherFlavors", ())),
        borrowing=int(borrowing) if borrowing is not None else None,
        victims=tuple(_victim(victim) for victim in entry["victims"]),
        cost=Cost(
            preemption_cost=int(cost["preemptionCost"]),
            victims=int(cost["victims"]),
            pods=int(cost["pods"]),
            accelerator_seconds=int(cost["acceleratorSeconds"]),
            cpu_seconds=int(cost["cpuSeconds"]),
        ),
    )


def _flavor_entries(flavors: Flavors) -> Obj:
    """Name the flavor of each resource; a list where pod sets differ."""
    found: dict[str, list[str]] = {}
    for resource, flavor in flavors:
        found.setdefault(resource, []).append(flavor)
    return {resource: names[0] if len(names) == 1 else names for resource, names in found.items()}


def _flavors(entry: Mapping[str, Any]) -> Flavors:
    lists = {resource: names if isinstance(names, list) else [names] for resource, names in entry.items()}
    return tuple(sorted((str(resource), str(name)) for resource, names in lists.items() for name in names))


def _victim_entry(victim: ForecastVictim) -> Obj:
    return {
        "workload": f"{victim.namespace}/{victim.name}",
        "uid": victim.uid,
        "clusterQueue": victim.cluster_queue,
        "reason": victim.reason,
        "priority": victim.priority,
        "owner": victim.owner,
        "pods": victim.pods,
        "preemptionCost": victim.preemption_cost,
        "inFlight": victim.in_flight,
        **moment_entry("runningSince", victim.running_since_ns),
    }


def _victim(entry: Mapping[str, Any]) -> ForecastVictim:
    namespace, _, name = str(entry["workload"]).partition("/")
    return ForecastVictim(
        namespace=namespace,
        name=name,
        uid=str(entry["uid"]),
        cluster_queue=str(entry["clusterQueue"]),
        reason=str(entry["reason"]),
        priority=int(entry["priority"]),
        owner=str(entry["owner"]),
        pods=int(entry["pods"]),
        running_since_ns=read_moment(entry, "runningSince"),
        preemption_cost=int(entry["preemptionCost"]),
        in_flight=bool(entry["inFlight"]),
    )


def _cost_entry(cost: Cost) -> Obj:
    return {
        "preemptionCost": cost.preemption_cost,
        "victims": cost.victims,
        "pods": cost.pods,
        "acceleratorSeconds": cost.accelerator_seconds,
        "cpuSeconds": cost.cpu_seconds,
    }
