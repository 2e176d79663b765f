"""What a round did, told in the same words for real Kueue and for the engine."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from config.api.meta import NANOSECONDS
from engine.cycles.outcomes import explore
from engine.cycles.scheduler import Scheduler
from engine.cycles.simulation import MAX_HISTORIES, Ending, Plan, Simulation, Simulator, Victims, simulate
from engine.objects.boost import PRIORITY_BOOST_ANNOTATION
from engine.objects.configuration import KueueConfiguration
from engine.search.ties import Choices
from tests.support.builders import Json

_MOST_CYCLES = 60
Facts = dict[str, Json]


def facts(workloads: Sequence[Mapping[str, Any]]) -> Facts:
    """Return what is compared of each Workload: conditions, the quota that it holds and where, gates.

    A victim that comes back while an equal is parked is parked with it, untried: which of them was tried, and so says
    what is missing, is a matter of speed. Here all of them say so.
    """
    told = {raw["metadata"]["name"]: _facts_of(raw.get("status") or {}) for raw in workloads}
    tried = {_shape(raw): each for raw in workloads if _was_tried(each := told[raw["metadata"]["name"]]["conditions"])}
    for raw in workloads:
        conditions = told[raw["metadata"]["name"]]["conditions"]
        if _waits_untried(conditions) and (equal := tried.get(_shape(raw))):
            conditions["QuotaReserved"] = equal["QuotaReserved"]
    return told


def _facts_of(status: Mapping[str, Any]) -> Json:
    told = status.get("conditions") or ()
    return {
        "conditions": {each["type"]: [each["status"], each["reason"], each["message"]] for each in told},
        "admission": status.get("admission"),
        "gates": {each["name"]: each["position"] for each in status.get("preemptionGates") or ()},
    }


def _shape(raw: Mapping[str, Any]) -> str:
    """Return what is equal for Workloads of which Kueue parks all when one of them could not be placed.

    The metadata of a pod template is not part of it: Kueue leaves the name of the Job among its labels.
    """
    spec, annotations = raw["spec"], raw["metadata"].get("annotations") or {}
    priority = spec.get("priority"), annotations.get(PRIORITY_BOOST_ANNOTATION)
    pod_sets = [{**pod_set, "template": pod_set["template"]["spec"]} for pod_set in spec["podSets"]]
    return json.dumps([spec["queueName"], priority, pod_sets], sort_keys=True)


def _was_tried(conditions: Json) -> bool:
    return (
        "QuotaReserved" in conditions and conditions["QuotaReserved"][0] == "False" and not _waits_untried(conditions)
    )


def _waits_untried(conditions: Json) -> bool:
    """Return whether a victim that gave its quota back still says why, and not what it waits for."""
    status, _, message = conditions.get("QuotaReserved") or ("", "", "")
    return status == "False" and "Evicted" in conditions and message == conditions["Evicted"][2]


@dataclass(frozen=True, slots=True)
class Laid:
    """What both begin with."""

    objects: Sequence[Json]
    configuration: KueueConfiguration
    victims: Victims
    now_ns: int


class Expectation:
    """What the engine says about one situation in one round.

    A queue that becomes active has its parked workloads tried once more, a second later. How many cycles are over by
    then is a matter of speed, so each number is a possible history; they mostly end alike.
    """

    def __init__(self, laid: Laid) -> None:
        whole = simulate(laid.objects, laid.now_ns, laid.configuration, Plan(_MOST_CYCLES, laid.victims))
        assert whole.ending is not Ending.LIMIT, "the simulation does not come to rest"
        self.simulation = whole
        ends = [_end_of(each) for each in whole.alternatives or (whole,)]
        for cycles in range(1, len(whole.steps) + 1):
            outcomes = explore(partial(_history, laid, cycles), limit=MAX_HISTORIES)
            ends.extend(_end_of(each) for each in outcomes.possible)
        self.possible = [end for number, end in enumerate(ends) if end not in ends[:number]]

    def difference(self, workloads: Sequence[Json]) -> str:
        """Return how the real end differs from the nearest predicted one, empty if it is a possible one."""
        happened = facts(workloads)
        if happened in self.possible:
            return ""
        return min((_diff(happened, end) for end in self.possible), key=len)


def _history(laid: Laid, cycles: int, choices: Choices) -> Simulation:
    """Run so many cycles, let all that is parked be tried again, and go on to the end."""
    scheduler = Scheduler.of(laid.objects, laid.now_ns, laid.configuration)
    Simulator(scheduler, laid.now_ns, Plan(cycles, laid.victims), choices).run()
    later = laid.now_ns + cycles * NANOSECONDS
    for name in scheduler.queues:
        scheduler.queues.retry_now(name, later)
    return Simulator(scheduler, later, Plan(_MOST_CYCLES, laid.victims), choices).run()


def _end_of(history: Simulation) -> Facts:
    return facts(list(history.final.workloads.values()))


def _diff(real: Facts, predicted: Facts) -> str:
    before, after = (json.dumps(side, indent=1, sort_keys=True).splitlines() for side in (real, predicted))
    return "\n".join(difflib.unified_diff(before, after, "real Kueue", "engine", lineterm="", n=3))
