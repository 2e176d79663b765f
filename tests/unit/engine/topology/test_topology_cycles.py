"""Acceptance scenarios of topology-aware scheduling in whole cycles: what one entry takes, the others do not get."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from config.api.meta import NANOSECONDS, ObjectKey, parse_time
from engine.cycles.scheduler import Scheduler
from engine.cycles.simulation import Plan, Simulation, simulate
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.topology.wire import decode
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, at, cluster
from tests.unit.engine.stories import condition
from tests.unit.engine.topology.fleet import fleet, node, placed, pods, queue, tas_flavor, with_request

HOST = "kubernetes.io/hostname"
NOW = parse_time(at(1000))
ADMIT, PREEMPT, SKIPPED, NO_CANDIDATES = "Admit", "Preempt", "Skipped", "PreemptNoCandidates"
NONE_OF_4 = 'topology "default" doesn\'t allow to fit any of 4 pod(s). Total nodes: 1; excluded: resource "cpu": 1'
NO_RECOMPUTE = {"TASRecomputeAssignmentWithinSchedulingCycle": False}


@dataclass(frozen=True, slots=True)
class CycleCase:
    """A fleet, and what its first cycles do."""

    objects: Sequence[Builder]
    want: Sequence[Mapping[str, str]]
    hosts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Where pods are in the end."""
    messages: Mapping[str, str] = field(default_factory=dict)
    victims: Sequence[str] = ()
    parked: Sequence[str] = ()
    gates: Mapping[str, bool] = field(default_factory=dict)

    def run(self) -> Simulation:
        configuration = KueueConfiguration(gates=FeatureGates.from_mapping(self.gates))
        return simulate(cluster(*self.objects), NOW, configuration, Plan(max_cycles=len(self.want)))


ONE_HOST = fleet({"b/r/h1": 4})
TWO_TREES = (queue("A"), queue("B"))
P4, Q4 = pods("P", "A", 4, created=1, required=HOST), pods("Q", "B", 4, created=2, required=HOST)
HOLDER = placed(pods("v", "A", 1).priority(50).holds("A"), h1=1)
RESERVED = (HOLDER, P4.priority(10), pods("Q", "B", 3, created=2, required=HOST))
TWO_SETS = with_request(pods("Q", "B", 2, created=2).pod_set("other", cpu=1).pods(2), required=HOST)
OTHER_NODES = [
    *fleet({"b/r/h1": 4}),
    tas_flavor("g", pool="g"),
    node("b/r/h9", 4, pool="g"),
    queue("A"),
    queue("B", "f", "g"),
    P4,
    Q4,
]

CASES = {
    "83 the last host goes to the older one of two trees": CycleCase(
        [*ONE_HOST, *TWO_TREES, P4, Q4],
        [{"P": ADMIT, "Q": NO_CANDIDATES}],
        {"P": {"h1": 4}},
        {"Q": NONE_OF_4},
        parked=["Q"],
    ),
    "84 the second one is placed elsewhere": CycleCase(
        [*fleet(), *TWO_TREES, P4, Q4], [{"P": ADMIT, "Q": ADMIT}], {"P": {"h11": 4}, "Q": {"h31": 4}}
    ),
    "84 without the gate it is skipped": CycleCase(
        [*fleet(), *TWO_TREES, P4, Q4], [{"P": ADMIT, "Q": SKIPPED}], {"P": {"h11": 4}}, gates=NO_RECOMPUTE
    ),
    "85 the second one preempts in the same cycle": CycleCase(
        [
            *fleet({"b/r/h1": 4, "b/r/h2": 4}),
            queue("A"),
            queue("B").preemption(within="LowerPriority"),
            placed(pods("v", "B", 4).holds("B"), h2=4),
            P4.priority(20),
            Q4.priority(10),
        ],
        [{"P": ADMIT, "Q": PREEMPT}],
        {"P": {"h1": 4}},
        victims=["v"],
    ),
    "86 the next flavor waits for the next cycle": CycleCase(
        OTHER_NODES, [{"P": ADMIT, "Q": NO_CANDIDATES}, {"Q": ADMIT}], {"P": {"h1": 4}, "Q": {"h9": 4}}
    ),
    "87 pod slots are not counted within a cycle": CycleCase(
        [
            *fleet({"b/r/h1": {"cpu": 10, "pods": 1}}),
            *TWO_TREES,
            pods("P", "A", 1, created=1, required=HOST),
            pods("Q", "B", 1, created=2, required=HOST),
        ],
        [{"P": ADMIT, "Q": ADMIT}],
        {"P": {"h1": 1}, "Q": {"h1": 1}},
    ),
    "88 pod sets are not added up within a cycle": CycleCase(
        [*ONE_HOST, *TWO_TREES, pods("P", "A", 1, created=1, required=HOST), TWO_SETS],
        [{"P": ADMIT, "Q": ADMIT}],
        {"P": {"h1": 1}, "Q": {"h1": 2}},
    ),
    "89 what a preemptor waits for is kept": CycleCase(
        [*ONE_HOST, *TWO_TREES, *RESERVED], [{"P": NO_CANDIDATES, "Q": NO_CANDIDATES}]
    ),
    "89 unless it can always reclaim": CycleCase(
        [*ONE_HOST, queue("A").preemption(reclaim="Any"), queue("B"), *RESERVED],
        [{"P": NO_CANDIDATES, "Q": ADMIT}],
        {"Q": {"h1": 3}},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_cycle_decides(case: CycleCase) -> None:
    result = case.run()
    got = [{entry.key.name: entry.outcome.value for entry in step.cycle.entries} for step in result.steps]
    assert got == [dict(cycle) for cycle in case.want]
    assert {name: hosts_of(result, name) for name in case.hosts} == case.hosts
    for name, text in case.messages.items():
        assert text in condition(result, name, "QuotaReserved").message
    victims = [victim.key.name for entry in result.steps[0].cycle.entries for victim in entry.victims]
    assert victims == list(case.victims)
    parked = result.steps[-1].queues.parked
    assert {key.name for keys in parked.values() for key in keys} >= set(case.parked)


def hosts_of(result: Simulation, name: str) -> dict[str, int]:
    admission = result.final.workloads[ObjectKey(NAMESPACE, name)]["status"]["admission"]
    placed_at = decode(admission["podSetAssignments"][0]["topologyAssignment"], "topologyAssignment")
    return {values[-1]: count for values, count in placed_at.domains}


def test_86_the_message_is_about_the_hosts_alone() -> None:
    result = simulate(cluster(*OTHER_NODES), NOW, None, Plan(max_cycles=1))
    assert condition(result, "Q", "QuotaReserved").message == f"couldn't assign flavors to pod set main: {NONE_OF_4}"
    assert [key.name for keys in result.steps[0].queues.heap.values() for key in keys] == ["Q"]


def test_90_fair_sharing_leaves_the_order_of_trees_to_chance() -> None:
    configuration = KueueConfiguration(fair_sharing=FairSharing())
    result = simulate(cluster(*ONE_HOST, *TWO_TREES, P4, Q4), NOW, configuration, Plan(max_cycles=1))
    admitted = {
        tuple(entry.key.name for entry in each.steps[0].cycle.entries if entry.outcome == ADMIT)
        for each in result.alternatives
    }
    assert admitted == {("P",), ("Q",)}


def started(*objects: Builder) -> Scheduler:
    scheduler = Scheduler.of(cluster(*objects), NOW)
    scheduler.run_cycle(NOW)
    return scheduler


def test_105_a_new_node_lets_parked_workloads_try_again() -> None:
    scheduler = started(*ONE_HOST, queue("A"), pods("P", "A", 8, required="rack"))
    assert not scheduler.has_heads
    scheduler.observe(node("b/r/h2", 4).raw, NOW)
    scheduler.wake(NOW + 2 * NANOSECONDS)
    result = scheduler.run_cycle(NOW + 2 * NANOSECONDS)
    assert result is not None
    assert [entry.outcome.value for entry in result.entries] == [ADMIT]


def test_105_a_workload_of_another_tree_that_ends_does_not() -> None:
    running = placed(pods("v", "B", 4).holds("B"), h1=4)
    scheduler = started(*ONE_HOST, *TWO_TREES, running, P4)
    scheduler.observe(running.condition("Finished", "True", 1000).raw, NOW)
    scheduler.wake(NOW + 2 * NANOSECONDS)
    assert not scheduler.has_heads


def test_57_a_pod_that_ends_lets_parked_workloads_try_again() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "kube-system", "name": "system"},
        "spec": {"nodeName": "h1", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running"},
    }
    scheduler = Scheduler.of([*cluster(*ONE_HOST, queue("A"), P4), pod], NOW)
    assert [entry.outcome.value for entry in scheduler.run_cycle(NOW).entries] == ["NoFit"]  # type: ignore[union-attr]
    assert not scheduler.has_heads
    scheduler.observe(pod | {"status": {"phase": "Succeeded"}}, NOW)
    scheduler.wake(NOW + 10 * NANOSECONDS)
    assert scheduler.has_heads


def test_106_a_second_pass_is_left_out_and_said_so() -> None:
    waiting = pods("S", "A", 1, required=HOST).holds("A")
    raw = waiting.condition("Admitted", "False", 0).raw
    raw["status"]["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] = "Pending"
    result = simulate([*cluster(*ONE_HOST, *TWO_TREES, P4), raw], NOW, None, Plan(max_cycles=1))
    assert "topology-aware-scheduling: the second pass of Workload ns/S is left out" in result.labels


def test_a_cycle_leaves_the_trees_as_they_were() -> None:
    scheduler = Scheduler.of(cluster(*ONE_HOST, *TWO_TREES, *RESERVED), NOW)
    keeper = scheduler.model.topology.keeper("f")
    assert keeper is not None
    before = dict(keeper.tree.by_key["h1",].used)
    scheduler.run_cycle(NOW)
    assert keeper.tree.by_key["h1",].used == before
