"""The outlook for a Workload's pods behind an opening, and what became of it: the other half of a record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import Obj
from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.judging import Landed
from engine.pod_outlook.values import PodCost, PodOutcome, PodOutlook, PodVerdict, PodVictim
from gates.model.record_entries import moment_entry, read_moment

MAX_NAMES: Final = 200
"""A record names no more pods than this; one that would is not verified after a restart."""


@dataclass(frozen=True, slots=True)
class PodRecord:
    """One outlook that was acted on."""

    outlook: PodOutlook
    result: ForecastResult = ForecastResult.PENDING
    message: str = ""
    verified_ns: int | None = None


@dataclass(frozen=True, slots=True)
class PodWitness:
    """What was seen of the pods of a replica whose gate was opened."""

    landed: Landed = field(default_factory=Landed)
    again: PodOutlook | None = field(default=None, metadata={"formerly": "anew"})
    """What would have been said when the first pod arrived."""
    missed: str = ""
    """Why not everything was seen; empty when it was."""


def record_of_pods(outlook: PodOutlook | None) -> PodRecord | None:
    """Return the record of an opening that is about to happen, None where pods are not forecast."""
    if outlook is None:
        return None
    return PodRecord(outlook, ForecastResult.PENDING if outlook.promises else ForecastResult.NONE)


def pod_entry(record: PodRecord) -> Obj:
    """Return what the annotation holds."""
    outlook = record.outlook
    names = len(outlook.victims) + sum(len(outcome.evicted) for outcome in outlook.outcomes)
    is_kept = names <= MAX_NAMES
    return {
        "verdict": str(outlook.verdict),
        "madeAtUnixNano": str(outlook.made_ns),
        "mode": outlook.mode,
        "message": outlook.message,
        "pods": outlook.pods,
        "victims": [_victim_entry(victim) for victim in outlook.victims] if is_kept else [],
        "outcomes": [_outcome_entry(outcome) for outcome in outlook.outcomes] if is_kept else [],
        "namesLeftOut": 0 if is_kept else names,
        "complete": outlook.is_complete,
        "cost": {
            "pods": outlook.cost.pods,
            "acceleratorSeconds": outlook.cost.accelerator_seconds,
            "cpuSeconds": outlook.cost.cpu_seconds,
        },
        "approximate": list(outlook.approximate),
        "result": str(record.result),
        "resultMessage": record.message,
        **moment_entry("verifiedAt", record.verified_ns),
    }


def read_pod_entry(entry: Mapping[str, Any] | None) -> PodRecord | None:
    """Read what the annotation holds; None when there is nothing to verify. Raises what odd shapes raise."""
    if entry is None or entry["namesLeftOut"]:
        return None
    cost = entry["cost"]
    outlook = PodOutlook(
        verdict=PodVerdict(entry["verdict"]),
        made_ns=int(entry["madeAtUnixNano"]),
        mode=str(entry["mode"]),
        message=str(entry["message"]),
        pods=int(entry["pods"]),
        victims=tuple(_victim(victim) for victim in entry["victims"]),
        outcomes=tuple(_outcome(outcome) for outcome in entry["outcomes"]),
        is_complete=bool(entry["complete"]),
        cost=PodCost(int(cost["pods"]), int(cost["acceleratorSeconds"]), int(cost["cpuSeconds"])),
        approximate=tuple(str(each) for each in entry["approximate"]),
    )
    return PodRecord(
        outlook=outlook,
        result=ForecastResult(entry["result"]),
        message=str(entry["resultMessage"]),
        verified_ns=read_moment(entry, "verifiedAt"),
    )


def _outcome_entry(outcome: PodOutcome) -> Obj:
    return {"evicted": list(outcome.evicted), "placesAll": outcome.places_all}


def _outcome(entry: Mapping[str, Any]) -> PodOutcome:
    return PodOutcome(tuple(str(pod) for pod in entry["evicted"]), bool(entry["placesAll"]))


def _victim_entry(victim: PodVictim) -> Obj:
    return {
        "pod": victim.written,
        "node": victim.node,
        "priority": victim.priority,
        "podGroup": victim.group,
        "violatesBudget": victim.violates_budget,
        **moment_entry("runningSince", victim.running_since_ns),
    }


def _victim(entry: Mapping[str, Any]) -> PodVictim:
    namespace, _, name = str(entry["pod"]).partition("/")
    return PodVictim(
        namespace=namespace,
        name=name,
        node=str(entry["node"]),
        priority=int(entry["priority"]),
        group=str(entry["podGroup"]),
        running_since_ns=read_moment(entry, "runningSince"),
        violates_budget=bool(entry["violatesBudget"]),
    )
