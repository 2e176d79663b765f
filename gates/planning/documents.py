"""A plan as plain data, for the socket and for `-o json|yaml`; the tables are made from it, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, Obj, format_time
from config.api.quantity import format_amount
from engine.forecasting.forecast import ForecastVerdict, ForecastVictim
from engine.planning.prospect import Outlook, Shortfall
from engine.planning.sizes import MAX_SIZE, Sizes
from engine.pod_outlook.values import PodOutlook
from gates.model.forecast_documents import (
    cost_document,
    flavors_document,
    pod_outlook_document,
    pod_victim_document,
    topology_document,
    victim_document,
)
from gates.model.texts import GATES_NOT_HONOURED, GATES_NOT_KNOWN_YET
from gates.model.view import GateSupport
from gates.planning.choosing import PlannedWorker, Prospect
from gates.planning.wanted import Wanted
from gates.targets.matching import not_listed, unknown_names

UNREACHABLE: Final = "Unreachable"
FITS_BORROWING: Final = "FitsWithBorrowing"
RULED_OUT: Final = "RuledOut"


_NOTHING: Final[Obj] = {
    "victims": [],
    "missing": [],
    "largest": None,
    "pods": None,
    "notes": [],
    "places": [],
    "fragmented": [],
}


@dataclass(frozen=True, slots=True)
class Route:
    """The way from a LocalQueue on the hub to its workers."""

    cluster_queue: str
    check: str
    config: str
    clusters: tuple[WorkerName, ...]


def plan_document(
    wanted: Wanted,
    route: Route,
    priority: int,
    pod_set: str,
    prospects: Sequence[Prospect],
    choice: PlannedWorker,
    now_ns: int,
) -> Obj:
    """Return everything that a plan says."""
    return {
        "asOf": format_time(now_ns),
        "job": {
            "kind": wanted.kind,
            "namespace": wanted.namespace,
            "name": wanted.name,
            "queue": wanted.queue,
            "clusterQueue": route.cluster_queue,
            "check": route.check,
            "config": route.config,
            "priority": priority,
            "podSets": [
                {"name": each.get("name", "main"), "count": each.get("count", 1)} for each in wanted.spec["podSets"]
            ],
        },
        "takes": any(prospect.takes for prospect in prospects),
        "reachable": any(each.outlook is not None or each.exclusion is not None for each in prospects),
        "chosen": {"worker": choice.worker, "why": choice.why, "others": list(choice.others)},
        "largest": {"podSet": pod_set, "atMost": MAX_SIZE, **_largest(prospects)},
        "workers": [_worker(prospect, now_ns) for prospect in prospects],
        "remarks": [
            *wanted.remarks,
            *_named_in_vain(wanted, route),
            f"assumes that ClusterQueue {route.cluster_queue} on the hub has quota for it",
        ],
    }


def _named_in_vain(wanted: Wanted, route: Route) -> list[str]:
    names = unknown_names(wanted.targets, route.clusters)
    return [not_listed(names)] if names else []


def _largest(prospects: Sequence[Prospect]) -> Obj:
    eligible = (prospect for prospect in prospects if prospect.exclusion is None)
    known = [(prospect.sizes, prospect.name) for prospect in eligible if prospect.sizes is not None]
    if not known:
        return {"withoutPreemption": None, "withPreemption": None}
    # The first of equals; with preemption first one that needs none.
    without, name = max(known, key=lambda entry: entry[0].without_preemption)
    preempting, other = max(known, key=lambda entry: (entry[0].with_preemption, entry[0].without_preemption))
    return {
        "withoutPreemption": _size_on(without.without_preemption, name),
        "withPreemption": _size_on(preempting.with_preemption, other),
    }


def _size_on(size: int, worker: WorkerName) -> Obj:
    return {"size": size, "worker": worker if size else ""}


def _worker(prospect: Prospect, now_ns: int) -> Obj:
    entry: Obj = {"name": prospect.name, "verdict": _verdict(prospect), "reliable": prospect.reliable}
    if prospect.exclusion is not None:
        return {**entry, **_NOTHING, "message": prospect.exclusion.text, "ruledOutBy": str(prospect.exclusion.rule)}
    outlook = prospect.outlook
    if outlook is None:
        return {**entry, **_NOTHING, "message": prospect.problem}
    forecast = outlook.forecast
    notes = [*outlook.notes, *(forecast.labels), *_gate_notes(prospect)]
    if outlook.reduced:
        notes += [f"pod set {name} would run with {count} pods" for name, count in outlook.reduced.items()]
    return {
        **entry,
        "message": forecast.message,
        "clusterQueue": forecast.cluster_queue,
        "flavors": flavors_document(forecast.flavors),
        "borrowing": forecast.borrowing,
        "victims": [_victim(victim, outlook, now_ns) for victim in forecast.victims],
        "cost": cost_document(forecast.cost),
        "missing": [_shortfall(each) for each in outlook.shortfalls]
        if forecast.verdict is ForecastVerdict.CANNOT
        else [],
        "reducedCounts": dict(outlook.reduced or {}),
        "unsuitable": list(outlook.unsuitable) if forecast.verdict is ForecastVerdict.CANNOT else [],
        "largest": _sizes(prospect.sizes),
        "pods": _pods(outlook.pods),
        **topology_document(forecast),
        "notes": notes,
    }


def _verdict(prospect: Prospect) -> str:
    if prospect.exclusion is not None:
        return RULED_OUT
    if prospect.outlook is None:
        return UNREACHABLE
    forecast = prospect.outlook.forecast
    return FITS_BORROWING if forecast.verdict is ForecastVerdict.FITS and forecast.borrowing else str(forecast.verdict)


def _gate_notes(prospect: Prospect) -> list[str]:
    if prospect.gates is GateSupport.MISSING and prospect.verdict is ForecastVerdict.PREEMPTS:
        return [f"{GATES_NOT_HONOURED}: it would preempt as soon as it has a replica"]
    if prospect.gates is GateSupport.UNKNOWN and prospect.verdict is ForecastVerdict.PREEMPTS:
        return [GATES_NOT_KNOWN_YET]
    return []


def _victim(victim: ForecastVictim, outlook: Outlook, now_ns: int) -> Obj:
    costs = outlook.decided_costs
    return {
        **victim_document(victim),
        "runningSeconds": _running_seconds(victim.running_since_ns, now_ns),
        "costInDecision": None if costs is None else costs.get(victim.key, 0),
    }


def _pods(outlook: PodOutlook | None) -> Obj | None:
    """Return what would become of the pods; None where they are not followed, or would not come."""
    if outlook is None:
        return None
    victims = [
        {
            **pod_victim_document(victim),
            "runningSeconds": _running_seconds(victim.running_since_ns, outlook.made_ns),
        }
        for victim in outlook.victims
    ]
    return {**pod_outlook_document(outlook), "victims": victims}


def _running_seconds(since_ns: int | None, now_ns: int) -> int | None:
    return None if since_ns is None else max(0, now_ns - since_ns) // NANOSECONDS


def _shortfall(each: Shortfall) -> Obj:
    return {
        "podSet": each.pod_set,
        "flavor": each.flavor,
        "resource": each.resource,
        "missing": format_amount(each.resource, each.missing),
        "overCapacity": format_amount(each.resource, each.over_capacity) if each.over_capacity else "",
    }


def _sizes(sizes: Sizes | None) -> Obj | None:
    if sizes is None:
        return None
    return {"withoutPreemption": sizes.without_preemption, "withPreemption": sizes.with_preemption}
