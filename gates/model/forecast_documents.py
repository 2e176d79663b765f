"""Forecasts as plain data for documents; one shape wherever a forecast, its victims or its cost are printed."""

from collections.abc import Iterable

from config.api.meta import Obj, format_time
from engine.forecasting.forecast import Cost, Flavors, Forecast, ForecastVictim
from engine.forecasting.places import PodPlace
from engine.pod_outlook.values import PodOutlook, PodVictim


def forecast_document(forecast: Forecast) -> Obj:
    """Return what a worker would do with a Workload."""
    return {
        "verdict": str(forecast.verdict),
        "message": forecast.message,
        "clusterQueue": forecast.cluster_queue,
        "flavors": flavors_document(forecast.flavors),
        "otherFlavors": [flavors_document(each) for each in forecast.other_flavors],
        "borrowing": forecast.borrowing,
        "victims": [victim_document(victim) for victim in forecast.victims],
        "cost": cost_document(forecast.cost),
        **topology_document(forecast),
    }


def topology_document(forecast: Forecast) -> Obj:
    """Return where the pods would go, and what is fragmented; both empty where no topology has a say."""
    return {
        "places": [
            {"podSet": each.name, "domains": places_document(each.places)} for each in forecast.pod_sets if each.places
        ],
        "fragmented": [
            {
                "podSet": each.pod_set,
                "level": each.shortage.level,
                "needed": each.shortage.needed,
                "largest": each.shortage.largest,
                "domain": "/".join(each.shortage.domain),
                "inAll": each.shortage.in_all,
            }
            for each in forecast.shortages
        ],
    }


def places_document(places: Iterable[PodPlace]) -> list[Obj]:
    """Return domains with their numbers of pods; a path is written from the highest level down."""
    return [{"domain": "/".join(place.domain), "pods": place.pods} for place in places]


def flavors_document(flavors: Flavors) -> Obj:
    """Return the flavors of each resource; there are several where pod sets get different ones."""
    found: dict[str, list[str]] = {}
    for resource, flavor in flavors:
        found.setdefault(resource, []).append(flavor)
    return found


def victim_document(victim: ForecastVictim) -> Obj:
    """Return a workload that would be preempted."""
    return {
        "workload": f"{victim.namespace}/{victim.name}",
        "owner": victim.owner,
        "clusterQueue": victim.cluster_queue,
        "priority": victim.priority,
        "pods": victim.pods,
        "runningSince": _moment(victim.running_since_ns),
        "reason": victim.reason,
        "preemptionCost": victim.preemption_cost,
        "leavingAlready": victim.in_flight,
        "places": places_document(victim.places),
    }


def cost_document(cost: Cost) -> Obj:
    """Return what a preemption destroys."""
    return {
        "victims": cost.victims,
        "pods": cost.pods,
        "cpuSeconds": cost.cpu_seconds,
        "acceleratorSeconds": cost.accelerator_seconds,
        "preemptionCost": cost.preemption_cost,
    }


def pod_outlook_document(outlook: PodOutlook) -> Obj:
    """Return what kube-scheduler would do with the pods of a Workload."""
    return {
        "verdict": str(outlook.verdict),
        "mode": outlook.mode,
        "message": outlook.message,
        "pods": outlook.pods,
        "complete": outlook.is_complete,
        "victims": [pod_victim_document(victim) for victim in outlook.victims],
        "outcomes": [{"evicted": list(each.evicted), "placesAll": each.places_all} for each in outlook.outcomes],
        "cost": {
            "pods": outlook.cost.pods,
            "cpuSeconds": outlook.cost.cpu_seconds,
            "acceleratorSeconds": outlook.cost.accelerator_seconds,
        },
        "approximate": list(outlook.approximate),
    }


def pod_victim_document(victim: PodVictim) -> Obj:
    """Return a pod that would be evicted."""
    return {
        "pod": victim.written,
        "node": victim.node,
        "priority": victim.priority,
        "podGroup": victim.group,
        "violatesBudget": victim.violates_budget,
        "runningSince": _moment(victim.running_since_ns),
    }


def _moment(ns: int | None) -> str:
    return "" if ns is None else format_time(ns)
