"""Random scenarios in the line format of `turnstile predict --batch` and of the oracle.

`python -m tests.differential.scenarios PROFILE FIRST COUNT` prints them, for use in a pipe.
"""

import json
import sys
from collections.abc import Iterator

from tests.differential.catalogue import PROFILES, Cluster, Json, Profile, Queue
from tests.differential.dice import Dice, dice
from tests.differential.pending import pending
from tests.differential.quotas import make_cluster
from tests.differential.running import fill
from tests.differential.workloads import NOW, rfc3339

_GATES = {
    "PriorityBoost": 4.0,
    "SchedulerTimestampPreemptionBuffer": 2.0,
    "FairSharingPreemptWithinNominal": 2.0,
    "PrioritySortingWithinCohort": 2.0,
    "FlavorFungibility": 2.0,
    "PartialAdmission": 1.0,
    "ConcurrentAdmission": 1.0,
    "ReclaimablePods": 1.0,
}
_CYCLE_GATES = {
    "PriorityBoost": 2.0,
    "PrioritySortingWithinCohort": 1.0,
    "MultiKueueOrchestratedPreemption": 3.0,
    "FairSharingPrioritizeNonBorrowing": 1.0,
    "SchedulingEquivalenceHashing": 1.0,
    "FlavorFungibilityPreserveScanProgress": 1.0,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": 1.0,
    "UnadmittedWorkloadsObservability": 1.0,
}
_DEFAULT_ON = {
    "FairSharingPreemptWithinNominal",
    "PrioritySortingWithinCohort",
    "FlavorFungibility",
    "PartialAdmission",
    "ReclaimablePods",
    "FairSharingPrioritizeNonBorrowing",
    "SchedulingEquivalenceHashing",
    "FlavorFungibilityPreserveScanProgress",
}
_STRATEGIES = [
    [],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
]


def nomination(seed: int, profile: str = "mixed") -> Json:
    """Return a scenario with one incoming workload."""
    settings = PROFILES[profile]
    draw = dice(profile, seed, oddness=settings.oddness)
    scenario, cluster = _scenario(draw, f"{profile}-{seed}", settings, _GATES)
    for index in range(draw.randint(0, settings.bystanders)):
        cluster.objects.append(pending(draw, cluster, draw.choice(cluster.queues), f"pending-{index}"))
    queue = wronged_queue(draw, cluster)
    incoming = pending(draw, cluster, queue, "incoming")
    if draw.chance(0.8):
        incoming["spec"]["priority"] = draw.choice([50, 100, 200, 200, 1000])
    if scenario["featureGates"].get("ConcurrentAdmission"):
        _restrict_flavors(draw, cluster, incoming)
    cluster.objects.append(incoming)
    scenario["incoming"] = {"namespace": incoming["metadata"]["namespace"], "name": "incoming"}
    if draw.chance(settings.given_assignment) and _allows_given_assignment(cluster, queue):
        _give_assignment(draw, scenario, queue, incoming)
    if draw.chance(0.5):
        draw.shuffle(cluster.objects)
    return scenario


def wronged_queue(draw: Dice, cluster: Cluster) -> Queue:
    """Return a queue, mostly one that leaves its own quota to others: that is where reclaiming starts."""
    modest = [queue for queue in cluster.queues if sum(queue.used.values()) < sum(queue.nominal.values())]
    return draw.choice(modest if modest and draw.chance(0.6) else cluster.queues)


def cycles(seed: int) -> Json:
    """Return a scenario with several pending workloads and a number of cycles to run."""
    draw, settings = dice("cycles", seed), PROFILES["cycles"]
    scenario, cluster = _scenario(draw, f"cycles-{seed}", settings, _CYCLE_GATES)
    for index in range(draw.randint(2, settings.bystanders)):
        cluster.objects.append(pending(draw, cluster, draw.choice(cluster.queues), f"pending-{index}"))
    gated = 0.4 if scenario["featureGates"].get("MultiKueueOrchestratedPreemption") else 0.02
    for item in cluster.objects:
        if item["kind"] == "Workload" and draw.chance(gated):
            _add_preemption_gate(draw, item)
    scenario["cycles"] = 12
    if draw.chance(0.15):
        scenario["victimsKeepRunning"] = True
    return scenario


def _scenario(draw: Dice, name: str, settings: Profile, gates: dict[str, float]) -> tuple[Json, Cluster]:
    cluster = make_cluster(draw, settings)
    fill(draw, cluster, settings)
    fair = {"preemptionStrategies": draw.choice(_STRATEGIES)} if draw.chance(settings.fair_sharing) else None
    scenario: Json = {"name": name, "source": "generated", "now": rfc3339(NOW), "fairSharing": fair}
    scenario["featureGates"] = _feature_gates(draw, settings, gates)
    if draw.chance(0.1):
        scenario["requeuingTimestamp"] = draw.choice(["Eviction", "Creation"])
    scenario["objects"] = cluster.objects
    return scenario, cluster


def _feature_gates(draw: Dice, settings: Profile, gates: dict[str, float]) -> dict[str, bool]:
    if not draw.chance(settings.gates):
        return {}
    chosen = {draw.weighted(gates) for _ in range(draw.weighted({1: 4, 2: 2, 3: 1}))}
    return {gate: (gate not in _DEFAULT_ON) != draw.chance(0.05) for gate in sorted(chosen)}


def _restrict_flavors(draw: Dice, cluster: Cluster, incoming: Json) -> None:
    allowed = ",".join(draw.some([flavor.name for flavor in cluster.flavors]))
    annotations = incoming["metadata"].setdefault("annotations", {})
    annotations["kueue.x-k8s.io/workload-allowed-resource-flavors"] = allowed


def _give_assignment(draw: Dice, scenario: Json, queue: Queue, incoming: Json) -> None:
    """Dictate a flavor for every resource that a pod set requests, as long as the queue covers all of them."""
    given: Json = {}
    for spec in incoming["spec"]["podSets"]:
        requested = _requested_resources(spec["template"]["spec"])
        if not requested or not requested <= set(queue.covered()):
            return
        flavors = {group.resources[0]: draw.choice(group.flavors) for group in queue.groups}
        given[spec["name"]] = {
            resource: {
                "flavor": flavors[queue.group_of(resource).resources[0]],
                "mode": draw.choice(["Preempt", "Fit"]),
            }
            for resource in sorted(requested)
        }
    scenario["assignment"] = given


def _allows_given_assignment(cluster: Cluster, queue: Queue) -> bool:
    """Say whether nothing makes the queue inactive or adds requests that the assignment would have to mention."""
    kinds = [item["kind"] for item in cluster.objects]
    if "LimitRange" in kinds or "RuntimeClass" in kinds:
        return False
    return not queue.is_stopped and kinds.count("ResourceFlavor") == len(cluster.flavors)


def _requested_resources(pod_spec: Json) -> set[str]:
    containers = pod_spec["containers"] + pod_spec.get("initContainers", [])
    named = {resource for container in containers for block in container["resources"].values() for resource in block}
    return named | set(pod_spec.get("overhead", {}))


def _add_preemption_gate(draw: Dice, workload: Json) -> None:
    gate = "kueue.x-k8s.io/multikueue"
    workload["spec"]["preemptionGates"] = [{"name": gate}]
    if draw.chance(0.4):
        state = {"name": gate, "position": draw.choice(["Open", "Closed"]), "lastTransitionTime": rfc3339(NOW)}
        workload.setdefault("status", {})["preemptionGates"] = [state]


def many(profile: str, first: int, count: int) -> Iterator[Json]:
    """Yield the scenarios of consecutive seeds."""
    for seed in range(first, first + count):
        yield cycles(seed) if profile == "cycles" else nomination(seed, profile)


if __name__ == "__main__":
    for scenario in many(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])):
        sys.stdout.write(json.dumps(scenario, separators=(",", ":")) + "\n")
