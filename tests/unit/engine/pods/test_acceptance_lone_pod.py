"""W-01 to W-25: a pod on its own among pods on their own."""

import pytest

from engine.pods.values.explanation import NodeAnswer
from engine.pods.values.values import SchedulerMode
from tests.support.pod_builders import budget, cordoned, node, pod, tainted
from tests.unit.engine.pods.scenarios import Scenario, answers, case_ids, cases, forecast, wanted

P2 = pod("p", 2, 10)
P4 = pod("p", 4, 10)
NEVER = {"preemptionPolicy": "Never"}
TOLERATES = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
NOT_N1 = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["n1"]}]}
                ]
            }
        }
    }
}
BIG_INIT = {
    "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}],
    "initContainers": [{"name": "i", "resources": {"requests": {"cpu": 3}}}],
}
N1_A = [node("n1"), pod("a", 4, 1, on="n1")]
N2_B = [node("n2"), pod("b", 4, 5, on="n2")]
FULL_N1 = [node("n1"), pod("a", 2, 1, on="n1", app="a"), pod("b", 2, 5, on="n1")]
SLOTS = [pod(f"p{n}", 1, n, on="n1") for n in range(3)]

SCENARIOS = {
    "W-01 room is taken without evicting": Scenario([node("n1"), pod("a", 2, 1, on="n1"), P2], ["scheduled @ n1"]),
    "W-02 the one lower pod goes": Scenario([*N1_A, P2], ["preempting: a @ n1"]),
    "W-03 equal priority is never enough": Scenario(
        [node("n1"), pod("a", 4, 10, on="n1"), P2], ["unschedulable (NoLowerPriority)"]
    ),
    "W-04 a pod that never preempts waits": Scenario(
        [*N1_A, pod("p", 2, 10, spec=NEVER)], ["unschedulable (PolicyNever)"]
    ),
    "W-05 the lowest priority goes": Scenario(
        [node("n1", 6), *(pod(name, 2, prio, on="n1") for name, prio in (("a", 1), ("b", 5), ("c", 3))), P2],
        ["preempting: a @ n1"],
    ),
    "W-06 the youngest goes": Scenario(
        [node("n1", 6), *(pod(name, 2, 1, on="n1", started=at) for name, at in (("a", 30), ("b", 10), ("c", 20))), P2],
        ["preempting: a @ n1"],
    ),
    "W-07 who does not fit back goes, though more important": Scenario(
        [node("n1", 8), pod("a", 5, 5, on="n1"), pod("b", 1, 4, on="n1"), pod("c", 2, 3, on="n1"), P4],
        ["preempting: a @ n1"],
    ),
    "W-08 evicting all lower pods is not enough": Scenario(
        [node("n1"), pod("a", 2, 1, on="n1"), pod("h", 2, 20, on="n1"), pod("p", 3, 10)],
        ["unschedulable (StillInfeasible)"],
    ),
    "W-09 a lower highest priority beats fewer victims": Scenario(
        [*[node("n1"), pod("a", 4, 5, on="n1")], node("n2"), pod("b", 2, 3, on="n2"), pod("c", 2, 3, on="n2"), P4],
        ["preempting: b c @ n2"],
    ),
    "W-10 then the smaller sum of priorities": Scenario(
        [
            *[node("n1"), pod("a", 2, 5, on="n1"), pod("a2", 2, 1, on="n1")],
            *[node("n2"), pod("b", 2, 5, on="n2"), pod("c", 2, 2, on="n2")],
            P4,
        ],
        ["preempting: a a2 @ n1"],
    ),
    "W-11 two of one priority are more than one": Scenario(
        [node("n1"), pod("a", 2, 5, on="n1"), pod("a2", 2, 5, on="n1"), *N2_B, P4], ["preempting: b @ n2"]
    ),
    "W-12 negative priorities do not reward more victims": Scenario(
        [
            *[node("n1"), pod("a", 2, -5, on="n1"), pod("a2", 2, -5, on="n1")],
            *[node("n2"), pod("b", 4, -5, on="n2")],
            P4,
        ],
        ["preempting: b @ n2"],
    ),
    "W-13 the later start goes": Scenario(
        [
            *[node("n1"), pod("a", 4, 5, on="n1", started=5)],
            *[node("n2"), pod("b", 4, 5, on="n2", started=50)],
            P4,
        ],
        ["preempting: b @ n2"],
    ),
    "W-14 a full tie is a free choice": Scenario(
        [node("n1"), pod("a", 4, 5, on="n1", started=5), node("n2"), pod("b", 4, 5, on="n2", started=5), P4],
        ["preempting: a @ n1", "preempting: b @ n2"],
    ),
    "W-15 no violated budget beats a lower priority": Scenario(
        [node("n1"), pod("a", 4, 1, on="n1", app="a"), budget("a"), *N2_B, P4], ["preempting: b @ n2"]
    ),
    "W-16 who would overdraw a budget is put back first": Scenario([*FULL_N1, budget("a"), P2], ["preempting: b @ n1"]),
    "W-17 a budget is spent in the order of importance": Scenario(
        [
            node("n1", 6),
            pod("a", 2, 1, on="n1", app="x", started=1),
            pod("b", 2, 1, on="n1", app="x", started=2),
            pod("c", 2, 5, on="n1"),
            budget("x", 1),
            P4,
        ],
        ["preempting: a c @ n1"],
    ),
    "W-18 budgets never forbid": Scenario(
        [node("n1"), pod("a", 4, 1, on="n1", app="a"), budget("a"), P2], ["preempting: a @ n1"]
    ),
    "W-19 an empty selector covers nothing": Scenario([*FULL_N1, budget("", selector={}), P2], ["preempting: a @ n1"]),
    "W-20 a pod that is disrupted already is not charged": Scenario(
        [*FULL_N1, budget("a", disrupted=("a",)), P2], ["preempting: a @ n1"]
    ),
    "W-21 a taint rules a node out": Scenario([tainted(node("n1")), N1_A[1], *N2_B, P4], ["preempting: b @ n2"]),
    "W-21 unless it is tolerated": Scenario(
        [tainted(node("n1")), N1_A[1], *N2_B, pod("p", 4, 10, spec=TOLERATES)], ["preempting: a @ n1"]
    ),
    "W-22 a cordoned node is out": Scenario([cordoned(node("n1")), N1_A[1], *N2_B, P4], ["preempting: b @ n2"]),
    "W-22 a node selector decides": Scenario([*N1_A, *N2_B, pod("p", 4, 10, only="n2")], ["preempting: b @ n2"]),
    "W-22 required affinity decides": Scenario([*N1_A, *N2_B, pod("p", 4, 10, spec=NOT_N1)], ["preempting: b @ n2"]),
    "W-23 a request above the whole node": Scenario([*N1_A, pod("p", 5, 10)], ["unschedulable (NodeIncurable)"]),
    "W-24 GPUs are counted": Scenario(
        [
            node("n1", nvidia_com__gpu=4),
            pod("a", None, 1, on="n1", requests={"nvidia-com/gpu": 2}),
            pod("b", None, 2, on="n1", requests={"nvidia-com/gpu": 2}),
            pod("p", None, 10, requests={"nvidia-com/gpu": 2}),
        ],
        ["preempting: a @ n1"],
    ),
    "W-24 pods are counted": Scenario([node("n1", 8, pods=3), *SLOTS, pod("p", 1, 10)], ["preempting: p0 @ n1"]),
    "W-25 init containers count when they need more": Scenario(
        [node("n1"), pod("a", 1, 1, on="n1"), pod("b", 1, 2, on="n1"), pod("p", priority=10, spec=BIG_INIT)],
        ["preempting: a @ n1"],
    ),
}
CASES = cases(SCENARIOS)


@pytest.mark.parametrize(("name", "mode"), CASES, ids=case_ids(CASES))
def test_scenario(name: str, mode: SchedulerMode) -> None:
    scenario = SCENARIOS[name]
    assert answers(forecast(scenario, mode)) == wanted(scenario, mode)


def test_w_08_the_shortage_is_told() -> None:
    found = forecast(SCENARIOS["W-08 evicting all lower pods is not enough"], SchedulerMode.V1_37, explain=True)
    assert found.explanation is not None
    (verdict,) = found.explanation.nodes
    assert verdict.answer is NodeAnswer.STILL_INFEASIBLE
    assert [(shortage.resource, shortage.lacking) for shortage in verdict.shortages] == [("cpu", 1000)]


def test_w_18_violations_are_counted() -> None:
    found = forecast(SCENARIOS["W-18 budgets never forbid"], SchedulerMode.V1_37, explain=True)
    assert found.explanation is not None
    (verdict,) = found.explanation.nodes
    assert verdict.score is not None
    assert verdict.score.violations == 1
    assert [unit.is_violating for unit in found.outcome.units] == [True]
