"""W-26 to W-35 and W-58 to W-60: a pod on its own among groups."""

import pytest

from config.api.meta import ObjectKey
from engine.pods.predict import predict_pod
from engine.pods.reading.validation import ObjectSeverity, diagnose
from engine.pods.state.model import PodModel
from engine.pods.values.answer import UnitKind
from engine.pods.values.priorities import PriorityClasses
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import budget, group, node, pod, terminating
from tests.unit.engine.pods.scenarios import Scenario, answers, case_ids, cases, forecast, wanted

OLD, NEW, KEP = SchedulerMode.V1_36, SchedulerMode.V1_37, SchedulerMode.KEP
P4 = pod("p", 4, 10)
P4_ON_N1 = pod("p", 4, 10, only="n1")
P2 = pod("p", 2, 10)


def spread(mode: str | None, *, priority: int = 1, own: int = 1, minimum: int | None = 1) -> list[Json]:
    """Two full nodes, one member of a group on each."""
    return [
        node("n1"),
        node("n2"),
        pod("g1", 4, own, on="n1", group="g"),
        pod("g2", 4, own, on="n2", group="g"),
        group("g", priority, mode=mode, minimum=minimum),
    ]


BUDGETED = [
    node("n1"),
    pod("g1", 2, 1, on="n1", group="g", app="g"),
    pod("s1", 2, 5, on="n1"),
    node("n2"),
    pod("g2", 2, 1, on="n2", group="g"),
    pod("s2", 2, 20, on="n2"),
    group("g", 1, mode="all"),
    budget("g"),
]
TWO_SIZES = [
    node("n1", 8),
    node("n2", 40),
    pod("g1", 4, 1, on="n1", group="g", started=1),
    *(pod(f"g{n}", 4, 1, on="n2", group="g", started=1) for n in (2, 3)),
    pod("h1", 4, 1, on="n1", group="h", started=2),
    pod("h2", 4, 1, on="n2", group="h", started=2),
    group("g", 1, mode="all"),
    group("h", 1, mode="all"),
]
TWO_NAMESPACES = [
    node("n1"),
    node("n2"),
    *(pod("g1", 4, 1, on=place, group="g", namespace=space, app="g") for place, space in (("n1", "x"), ("n2", "y"))),
    *(group("g", 1, mode="all", namespace=space) for space in ("x", "y")),
    budget("g", namespace="x"),
]

SCENARIOS = {
    "W-26 a group in all mode goes as a whole": Scenario(
        [*spread("all"), P4_ON_N1], ["preempting: g1 g2 @ n1"], {OLD: ["preempting: g1 @ n1"]}
    ),
    "W-27 a lone pod is less than a group": Scenario(
        [*spread("all"), node("n3"), pod("s", 4, 1, on="n3"), P4],
        ["preempting: s @ n3"],
        {OLD: ["preempting: g1 @ n1", "preempting: g2 @ n2", "preempting: s @ n3"]},
    ),
    "W-28 a group in single mode goes pod by pod": Scenario([*spread("single"), P4_ON_N1], ["preempting: g1 @ n1"]),
    "W-29 groups outrank pods of equal priority": Scenario(
        [
            node("n1", 8),
            *(pod(name, 2, 1, on="n1", group="g", started=1) for name in ("g1", "g2")),
            pod("s1", 2, 1, on="n1", started=1),
            pod("s2", 2, 1, on="n1", started=2),
            group("g", 1, mode="all"),
            P2,
        ],
        ["preempting: s2 @ n1"],
    ),
    "W-30 the group's priority protects its pods": Scenario(
        [node("n1"), pod("g1", 4, 1, on="n1", group="g"), group("g", 50), P4],
        ["unschedulable (NoLowerPriority)"],
        {OLD: ["preempting: g1 @ n1"]},
    ),
    "W-30 the pod's own priority does not": Scenario(
        [node("n1"), pod("g1", 4, 50, on="n1", group="g"), group("g", 1), P4],
        ["preempting: g1 @ n1"],
        {OLD: ["unschedulable (NoLowerPriority)"]},
    ),
    "W-32 a unit overdraws when one of its pods does": Scenario(
        [*BUDGETED, P2], ["preempting: s1 @ n1"], {OLD: ["preempting: g2 @ n2"]}
    ),
    "W-33 the basic policy does not split a group in all mode": Scenario(
        [*spread("all", minimum=None), pod("p", 4, 10, only="n2")],
        ["preempting: g1 g2 @ n2"],
        {OLD: ["preempting: g2 @ n2"], KEP: ["preempting: g2 @ n2"]},
    ),
    "W-34 without its object a group is no group": Scenario(
        [*spread("all", own=3)[:-1], P4_ON_N1], ["preempting: g1 @ n1"]
    ),
    "W-35 the smaller group goes": Scenario(
        [*TWO_SIZES, P4_ON_N1], ["preempting: h1 h2 @ n1"], {OLD: ["preempting: h1 @ n1"]}
    ),
    "W-58 a member outranks a lone pod before age is asked": Scenario(
        [
            node("n1"),
            pod("g1", 2, 1, on="n1", group="g", started=90),
            pod("s", 2, 1, on="n1", started=1),
            group("g", 1, mode="single"),
            P2,
        ],
        ["preempting: s @ n1"],
        {OLD: ["preempting: g1 @ n1"]},
    ),
    "W-59 a terminating pod is chosen and not deleted again": Scenario(
        [node("n1"), terminating(pod("a", 4, 1, on="n1")), node("n2"), pod("b", 4, 2, on="n2"), P4],
        ["waiting (OngoingPreemption) @ n1"],
    ),
    "W-60 names are of their namespace": Scenario([*TWO_NAMESPACES, P4], ["preempting: g1 @ n2"]),
}
CASES = cases(SCENARIOS)


@pytest.mark.parametrize(("name", "mode"), CASES, ids=case_ids(CASES))
def test_scenario(name: str, mode: SchedulerMode) -> None:
    scenario = SCENARIOS[name]
    assert answers(forecast(scenario, mode)) == wanted(scenario, mode)


def test_w_26_the_unit_is_named() -> None:
    (unit,) = forecast(SCENARIOS["W-26 a group in all mode goes as a whole"], NEW).outcome.units
    assert (unit.kind, str(unit.key), unit.priority) == (UnitKind.POD_GROUP, "default/g", 1)
    assert list(map(str, unit.pods)) == ["default/g1", "default/g2"]


def test_w_33_is_a_warning_not_an_error() -> None:
    (remark,) = diagnose(group("g", 1, mode="all", minimum=None), PriorityClasses())
    assert remark.severity is ObjectSeverity.WARNING
    assert "spec.disruptionMode" in str(remark)


def test_w_60_a_budget_never_covers_another_namespace() -> None:
    found = predict_pod(PodModel.of([*TWO_NAMESPACES, P4]), ObjectKey("default", "p"), NEW)
    assert list(map(str, found.outcome.victims)) == ["y/g1"]
