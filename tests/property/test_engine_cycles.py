"""Properties of cycles: quota is conserved, order of objects does not matter, nothing is in two places, and it ends."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cycles.scheduler import CycleResult, Scheduler
from engine.cycles.simulation import Ending, Plan, QueueContents, Simulation, Simulator, Victims, simulate
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.objects.workloads import AdmittedWorkload, IdleWorkload
from engine.reporting.status_writes import with_status
from engine.search.ties import Choices
from engine.vocabulary.features import FeatureGates
from tests.property.engine_clusters import QUEUES, Scenario, amounts, cohorts, holders, minutes, priorities, queues
from tests.support.builders import Builder, WorkloadBuilder, at, cluster, workload
from tests.support.engine_state import fingerprint

NOW = parse_time(at(100))
LIMIT = 60
_GATES = [
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "MultiKueueOrchestratedPreemption",
    "UnadmittedWorkloadsObservability",
    "FlavorFungibilityPreserveScanProgress",
    "SchedulingEquivalenceHashing",
]


@st.composite
def waiting_workloads(draw: st.DrawFn, name: str) -> WorkloadBuilder:
    built = workload(name).queue(draw(st.sampled_from(QUEUES))).priority(draw(priorities)).created(draw(minutes))
    built = built.request(cpu=draw(st.integers(1, 6)), memory=draw(amounts))
    return built.gates("g") if draw(st.integers(0, 5)) == 0 else built


@st.composite
def crowds(draw: st.DrawFn) -> Scenario:
    """Return a cluster with several waiting workloads."""
    strategies = st.sampled_from(["BestEffortFIFO", "StrictFIFO"])
    built: list[Builder] = [*draw(cohorts())]
    built += [draw(queues(name)).with_spec(queueingStrategy=draw(strategies)) for name in QUEUES]
    built += [draw(holders(f"w{number}")) for number in range(draw(st.integers(0, 6)))]
    built += [draw(waiting_workloads(f"p{number}")) for number in range(draw(st.integers(1, 6)))]
    gates = {name: draw(st.booleans()) for name in _GATES}
    fair = FairSharing() if draw(st.booleans()) else None
    return Scenario(cluster(*built), KueueConfiguration(gates=FeatureGates.from_mapping(gates), fair_sharing=fair))


def run(scenario: Scenario, victims: Victims = Victims.RELEASED) -> Simulation:
    return simulate(scenario.objects, NOW, scenario.configuration, Plan(max_cycles=LIMIT, victims=victims))


def deliver(scheduler: Scheduler, result: CycleResult) -> None:
    """Feed what a cycle writes back, as an API server would."""
    for write in result.writes:
        raw = scheduler.workload(write.key)
        assert raw is not None
        scheduler.observe(with_status(raw, write.after), result.now_ns)


def usage_of(model: ClusterModel) -> dict[str, dict[str, int]]:
    model.forest.settle()
    nodes = (*model.forest.queues(), *model.forest.cohorts())
    return {
        f"{type(node).__name__}/{node.name}": {str(fr): cell.usage for fr, cell in node.cells.items() if cell.usage}
        for node in nodes
    }


@given(crowds())
@settings(max_examples=30, deadline=None)
def test_quota_is_conserved_over_any_number_of_cycles(scenario: Scenario) -> None:
    """What a followed model counts in the end is what the objects in the end say."""
    scheduler = Scheduler.of(scenario.objects, NOW, scenario.configuration)
    for cycle in range(12):
        result = scheduler.run_cycle(NOW + cycle)
        if result is None:
            return
        deliver(scheduler, result)
        workloads = [raw for key in scheduler.workloads() if (raw := scheduler.workload(key)) is not None]
        others = [raw for raw in scenario.objects if raw["kind"] != "Workload"]
        rebuilt = ClusterModel.of([*others, *workloads], scenario.configuration)
        assert usage_of(scheduler.model) == usage_of(rebuilt)


@given(crowds(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_in_which_objects_are_given_does_not_matter(scenario: Scenario, shuffler: Random) -> None:
    expected = run(scenario)
    shuffled = list(scenario.objects)
    shuffler.shuffle(shuffled)
    got = run(Scenario(shuffled, scenario.configuration))
    assert got.labels == expected.labels
    assert sorted(map(_told, got.alternatives)) == sorted(map(_told, expected.alternatives))
    if not expected.alternatives:
        assert got == expected


def _told(history: Simulation) -> str:
    return repr([step.cycle.entries for step in history.steps])


@given(crowds(), st.sampled_from(Victims))
@settings(max_examples=30, deadline=None)
def test_no_workload_is_admitted_and_waiting_at_once(scenario: Scenario, victims: Victims) -> None:
    result = run(scenario, victims)
    for contents in (*(step.queues_of_next for step in result.steps), result.final.queues):
        everybody = _waiting(contents)
        assert len(everybody) == len(set(everybody))
    holding = {key for keys in result.final.reserving.values() for key in keys}
    waiting = set(_waiting(result.final.queues))
    assert not holding & waiting
    model = ClusterModel.of([*scenario.objects, *result.final.workloads.values()], scenario.configuration)
    for found in model.workloads():
        if isinstance(found, AdmittedWorkload):
            assert found.key in holding
        elif not isinstance(found, IdleWorkload):
            assert found.key in waiting


def _waiting(contents: QueueContents) -> list[ObjectKey]:
    return [key for keys in (*contents.heap.values(), *contents.parked.values()) for key in keys]


@given(crowds(), st.sampled_from(Victims))
@settings(max_examples=30, deadline=None)
def test_once_quiet_it_stays_quiet(scenario: Scenario, victims: Victims) -> None:
    scheduler = Scheduler.of(scenario.objects, NOW, scenario.configuration)
    simulator = Simulator(scheduler, NOW, Plan(max_cycles=LIMIT, victims=victims), Choices())
    if simulator.run().ending is not Ending.LIMIT:
        more = simulator.run()
        assert not any(write.changed_conditions for step in more.steps for write in step.cycle.writes)
        assert not any(step.released for step in more.steps)


@given(crowds())
@settings(max_examples=30, deadline=None)
def test_a_cycle_that_is_only_thought_through_leaves_no_trace(scenario: Scenario) -> None:
    """A cycle in which nothing is admitted changes nothing in the model."""
    scheduler = Scheduler.of(scenario.objects, NOW, scenario.configuration)
    before = fingerprint(scheduler.model)
    result = scheduler.run_cycle(NOW)
    if result is not None and not any(entry.outcome == "Admit" for entry in result.entries):
        assert fingerprint(scheduler.model) == before


@given(crowds())
@settings(max_examples=40, deadline=None)
def test_an_admission_fits_when_it_is_made(scenario: Scenario) -> None:
    """No ClusterQueue holds more after an admission than its tree can give, unless it did before."""
    scheduler = Scheduler.of(scenario.objects, NOW, scenario.configuration)
    model = scheduler.model
    for cycle in range(6):
        over = _over_capacity(model)
        result = scheduler.run_cycle(NOW + cycle)
        if result is None:
            return
        assert _over_capacity(model) <= over
        deliver(scheduler, result)


def _over_capacity(model: ClusterModel) -> set[ObjectKey]:
    model.forest.settle()
    roots = [node for node in (*model.forest.queues(), *model.forest.cohorts()) if node.parent is None]
    return {
        ObjectKey(node.name, str(fr))
        for node in roots
        for fr, cell in node.cells.items()
        if cell.usage > cell.subtree_quota
    }
