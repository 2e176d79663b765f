"""Random small clusters for property tests of the engine: every policy, limit and depth occurs."""

from dataclasses import dataclass

from hypothesis import strategies as st

from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.vocabulary.features import FeatureGates
from tests.support.builders import (
    Builder,
    ClusterQueueBuilder,
    Json,
    WorkloadBuilder,
    cluster,
    cluster_queue,
    cohort,
    workload,
)

POLICIES = ["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
FLAVORS = ["f", "g"]
QUEUES = ["A", "B", "C", "D"]
COHORTS = ["", "top", "l", "r"]
PENDING = "P"

amounts = st.integers(0, 6)
minutes = st.integers(0, 5)
priorities = st.sampled_from([-5, 0, 0, 5, 10])


@dataclass(frozen=True)
class Scenario:
    """A cluster with a pending workload `P` in ClusterQueue A."""

    objects: list[Json]
    configuration: KueueConfiguration


@st.composite
def queues(draw: st.DrawFn, name: str) -> ClusterQueueBuilder:
    built = cluster_queue(name).preemption(
        within=draw(st.sampled_from(POLICIES)),
        reclaim=draw(st.sampled_from(["Never", "LowerPriority", "Any", "Any"])),
        borrow=draw(st.sampled_from(["Never", "LowerPriority"])),
        threshold=draw(st.sampled_from([None, 0])),
    )
    for flavor in draw(st.sampled_from([["f"], ["f", "g"]])):
        built = built.quota(flavor, cpu=draw(amounts), memory=draw(amounts))
        if draw(st.booleans()):
            built = built.borrowing_limit(flavor, cpu=draw(amounts))
        if draw(st.booleans()):
            built = built.lending_limit(flavor, cpu=draw(st.integers(0, 2)))
    choices = ["MayStopSearch", "TryNextFlavor"]
    built = built.fungibility(borrow=draw(st.sampled_from(choices)), preempt=draw(st.sampled_from(choices)))
    if draw(st.booleans()):
        built = built.weight(draw(st.integers(0, 2)))
    parent = draw(st.sampled_from(COHORTS))
    return built.cohort(parent) if parent else built


@st.composite
def cohorts(draw: st.DrawFn) -> list[Builder]:
    built: list[Builder] = []
    for name in ("l", "r"):
        child = cohort(name).parent("top")
        if draw(st.booleans()):
            child = child.quota("f", cpu=draw(amounts), memory=draw(amounts))
            child = child.borrowing_limit("f", cpu=draw(amounts)) if draw(st.booleans()) else child
        built.append(child)
    return built


@st.composite
def holders(draw: st.DrawFn, name: str) -> WorkloadBuilder:
    """Return a workload that holds quota somewhere; whether it fits there does not matter here."""
    built = workload(name).queue("A").request(cpu=draw(amounts), memory=draw(amounts)).priority(draw(priorities))
    built = built.created(draw(minutes)).uid(f"{draw(st.integers(0, 9))}-{name}")
    built = built.holds(draw(st.sampled_from(QUEUES)), draw(st.sampled_from(FLAVORS)), since=draw(minutes))
    return built.evicted() if draw(st.integers(0, 5)) == 0 else built


@st.composite
def pending_workloads(draw: st.DrawFn) -> WorkloadBuilder:
    built = workload(PENDING).queue("A").request(cpu=draw(st.integers(1, 8)), memory=draw(amounts))
    built = built.priority(draw(priorities)).created(draw(minutes))
    return built.pods(3, at_least=1) if draw(st.integers(0, 4)) == 0 else built


@st.composite
def scenarios(draw: st.DrawFn, *, fair: bool | None = None) -> Scenario:
    """Return a whole cluster."""
    is_fair = draw(st.booleans()) if fair is None else fair
    built: list[Builder] = [*draw(cohorts()), *[draw(queues(name)) for name in QUEUES], draw(pending_workloads())]
    built += [draw(holders(f"w{number}")) for number in range(draw(st.integers(0, 9)))]
    gates = FeatureGates.from_mapping({"SchedulerTimestampPreemptionBuffer": draw(st.booleans())})
    configuration = KueueConfiguration(gates=gates, fair_sharing=FairSharing() if is_fair else None)
    return Scenario(cluster(*built), configuration)
