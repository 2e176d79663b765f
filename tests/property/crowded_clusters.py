"""Clusters under pressure whose forecasts are followed."""

from random import Random

from config.api.meta import ObjectKey
from engine.forecasting.observed import OBSERVED_KINDS, ObservedCluster
from localcluster.kueue.profile import CURRENT
from tests.integration.kueue.stage import GATE, Stage
from tests.support.builders import NAMESPACE, ClusterQueueBuilder, WorkloadBuilder, cluster_queue, workload

QUEUES = ("a", "b", "c")


KEY = ObjectKey(NAMESPACE, "asking")


ALONE = "AdmissionCheck", "RuntimeClass", "LimitRange"


def random_queue(draw: Random, name: str, *, flavors: int) -> ClusterQueueBuilder:
    built = cluster_queue(name).preemption(
        within=draw.choice(["Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"]),
        reclaim=draw.choice(["Never", "LowerPriority", "Any"]),
    )
    parent = draw.choice(["", "l", "r", "l", "r"])
    for flavor in "fg"[:flavors]:
        built = built.quota(flavor, cpu=draw.randint(2, 6), memory=draw.randint(2, 6))
        if parent and draw.random() < 0.3:
            built = built.borrowing_limit(flavor, cpu=draw.randint(0, 4))
    built = built.fungibility(preempt=draw.choice(["MayStopSearch", "TryNextFlavor"]))
    return built.cohort(parent) if parent else built


def random_workload(draw: Random, name: str) -> WorkloadBuilder:
    requests = {"cpu": draw.randint(1, 4), "memory": draw.randint(0, 3)}
    return workload(name).queue(draw.choice(QUEUES)).priority(draw.choice([0, 0, 5, 10])).request(requests)


def observe(stage: Stage) -> ObservedCluster:
    observed = ObservedCluster(CURRENT.configuration)
    for kind in OBSERVED_KINDS:
        for raw in stage.all(kind) if kind not in ALONE else ():
            metadata = raw["metadata"]
            observed.put(kind, metadata.get("namespace") or "", metadata["name"], observed.read(kind, raw))
    return observed


def crowded(draw: Random) -> Stage:
    """Return a worker on which much was submitted, some of it running, and one gated Workload of high priority."""
    flavors = draw.choice([1, 1, 2])
    stage = Stage().given(*(random_queue(draw, name, flavors=flavors) for name in QUEUES))
    for number in range(draw.randint(2, 12)):
        stage.submit(random_workload(draw, f"w{number}")).advance(draw.choice([0, 1, 3]))
    gates = [{"name": GATE}]
    asking = random_workload(draw, KEY.name).priority(draw.choice([5, 20])).with_spec(preemptionGates=gates)
    return stage.submit(asking).advance(1)
