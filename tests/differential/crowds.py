"""Makes a scenario of several cycles more crowded: what rarely comes about by itself, and only shows over cycles.

Workloads of one shape that park together, entries that are equal in everything, victims that cannot come back, queues
that are closed, and feature gates of the scheduling cycle.
"""

from copy import deepcopy

from tests.differential.catalogue import Json
from tests.differential.dice import Dice, dice
from tests.differential.scenarios import cycles

_GATES = {
    "MultiKueueOrchestratedPreemption": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
    "UnadmittedWorkloadsObservability": True,
    "FlavorFungibilityPreserveScanProgress": False,
    "SchedulingEquivalenceHashing": False,
    "PrioritySortingWithinCohort": False,
    "FairSharingPrioritizeNonBorrowing": False,
    "FlavorFungibility": False,
    "PartialAdmission": False,
}
_GATE = "kueue.x-k8s.io/multikueue"


def crowded_cycles(seed: int) -> Json:
    """Return the scenario of a seed with more of everything."""
    scenario, draw = cycles(seed), dice("crowd", seed)
    objects: list[Json] = scenario["objects"]
    waiting = [item for item in objects if item["kind"] == "Workload" and "admission" not in item.get("status", {})]
    running = [item for item in objects if item["kind"] == "Workload" and item not in waiting]
    if draw.chance(0.5):
        twins = [_twin(draw, item, number) for number, item in enumerate(waiting) if draw.chance(0.5)]
        waiting.extend(twins)
        objects.extend(twins)
    if draw.chance(0.35):
        _make_equal(draw, waiting)
    for item in (*waiting, *running):
        if draw.chance(0.1):
            kind = draw.choice(["Pod", "Job"])
            version = "v1" if kind == "Pod" else "batch/v1"
            owner = {"apiVersion": version, "kind": kind, "name": "owner", "uid": f"owner-{draw.getrandbits(16)}"}
            item["metadata"]["ownerReferences"] = [owner]
            item["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": owner["uid"]}
    if draw.chance(0.08):
        _close_a_queue(draw, objects)
    if draw.chance(0.6):
        for name in draw.some(list(_GATES)):
            scenario["featureGates"][name] = _GATES[name]
    if scenario["featureGates"].get("MultiKueueOrchestratedPreemption"):
        for item in draw.some(waiting + running):
            item["spec"].setdefault("preemptionGates", [{"name": _GATE}])
    return scenario


def _twin(draw: Dice, original: Json, number: int) -> Json:
    """Return a workload of the same shape, sometimes of another age."""
    twin = deepcopy(original)
    metadata = twin["metadata"]
    metadata["name"] = f"twin-{number}"
    metadata["uid"] = f"{draw.getrandbits(32):08x}-twin"
    if draw.chance(0.5):
        metadata["creationTimestamp"] = f"2026-06-01T11:{draw.randint(10, 59)}:00Z"
    return twin


def _make_equal(draw: Dice, waiting: list[Json]) -> None:
    """Let chance decide between workloads: equal age, and one of two priorities."""
    for item in waiting:
        item["metadata"]["creationTimestamp"] = "2026-06-01T11:30:00Z"
        item["spec"]["priority"] = draw.choice([100, 100, 100, 50])
        item.pop("status", None)


def _close_a_queue(draw: Dice, objects: list[Json]) -> None:
    local_queues = [item for item in objects if item["kind"] == "LocalQueue"]
    chosen = draw.choice(local_queues)
    if draw.chance(0.5):
        chosen["spec"]["stopPolicy"] = "Hold"
    else:
        objects.remove(chosen)
