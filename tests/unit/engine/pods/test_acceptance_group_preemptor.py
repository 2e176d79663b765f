"""W-31 and W-36 to W-57: a group that needs room."""

import pytest

from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import budget, gang, group, node, pod, tainted, terminating
from tests.unit.engine.pods.scenarios import Scenario, answers, case_ids, cases, forecast, wanted

OLD, NEW, KEP = SchedulerMode.V1_36, SchedulerMode.V1_37, SchedulerMode.KEP
NEVER = {"preemptionPolicy": "Never"}
TWO_FULL = [node("n1"), pod("a", 4, 1, on="n1"), node("n2"), pod("b", 4, 2, on="n2")]
ANTI = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "p"}}}
            ]
        }
    }
}
SPREAD = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    ]
}


def asks(objects: list[Json], want: list[str], **per_mode: list[str]) -> Scenario:
    """A scenario of the group `pg`; answers that differ by mode are given as `old`, `new` and `kep`."""
    modes = {"old": OLD, "new": NEW, "kep": KEP}
    return Scenario(objects, want, {modes[name]: each for name, each in per_mode.items()}, asked="pg", is_group=True)


def members(count: int, cpu: int, priority: int = 10, **more: object) -> list[Json]:
    """Pending pods of the group `pg`."""
    return [pod(f"p{n}", cpu, priority, group="pg", **more) for n in range(1, count + 1)]  # type: ignore[arg-type]


def pending(count: int, cpu: int, *, minimum: int | None = -1, priority: int = 10, **more: object) -> list[Json]:
    """The group `pg` of priority 10 and its pods."""
    return gang("pg", 10, *members(count, cpu, priority, **more), minimum=minimum)


UNSCHEDULABLE = ["unschedulable (StillInfeasible)"]
GROUP_AND_POD = [
    *(node(place) for place in ("n1", "n2")),
    *(pod(f"g{n}", 2, 1, on=f"n{n}", group="g") for n in (1, 2)),
    *(pod(f"s{n}", 2, 1, on=f"n{n}") for n in (1, 2)),
    group("g", 1, mode="all"),
]
UNEQUAL_GROUPS = [
    *(node(place) for place in ("n1", "n2", "n3")),
    pod("g1", 4, 1, on="n1", group="g"),
    *(pod(f"h{n}", 4, 1, on=f"n{n + 1}", group="h") for n in (1, 2)),
    group("g", 1, mode="all"),
    group("h", 1, mode="all"),
]
BUDGETED = [
    node("n1"),
    pod("g1", 4, 1, on="n1", group="g", app="g"),
    node("n2"),
    pod("g2", 2, 1, on="n2", group="g", app="g"),
    pod("s", 2, 5, on="n2"),
    group("g", 1, mode="all"),
    budget("g"),
]
ONGOING = [
    node("n1"),
    terminating(pod("a", 4, 1, on="n1"), by_scheduler=True),
    node("n2"),
    pod("b", 4, 2, on="n2"),
    *pending(1, 4, status={"nominatedNodeName": "n1"}),
]

SCENARIOS = {
    "W-31 an empty node is as good as another": asks(
        [
            *[node("n1"), pod("g1", 4, 1, on="n1", group="g"), group("g", 1, mode="all")],
            *[node("n2"), pod("h1", 4, 5, on="n2", group="h"), group("h", 5, mode="all")],
            *pending(1, 4),
        ],
        ["preempting: g1 @ n1"],
        new=["preempting: g1 @ n1", "preempting: h1 @ n2"],
        old=["preempting: g1"],
    ),
    "W-36 both go, one for each member": asks(
        [*TWO_FULL, *pending(2, 4)],
        ["preempting: a b @ n1 n2", "preempting: a b @ n1 n2"],
        old=["preempting: a b"],
    ),
    "W-37 nothing is evicted for a group that cannot be whole": asks([*TWO_FULL, *pending(3, 4)], UNSCHEDULABLE),
    "W-38 enough members suffice": asks(
        [*TWO_FULL, *pending(3, 4, minimum=2)],
        ["preempting: a b @ n1 n2", "preempting: a b @ n1 n2"],
        old=["preempting: a b"],
    ),
    "W-39 who fits is bound, nothing is evicted for the rest": asks(
        [node("n1"), pod("a", 4, 1, on="n1"), node("n2"), *pending(2, 4, minimum=1)], ["scheduled @ n2"]
    ),
    "W-40 too few pods": asks([node("n1"), *pending(1, 1, minimum=2)], ["gated (WaitingForMinCount)"]),
    "W-40 no group": asks([node("n1"), *members(1, 1)], ["gated (WaitingForPodGroup)"]),
    "W-41 members that never preempt": asks(
        [node("n1"), pod("a", 4, 1, on="n1"), *pending(2, 2, spec=NEVER)],
        ["unschedulable (PolicyNever)"],
        kep=["preempting: a @ n1 n1"],
    ),
    "W-41 members that disagree": asks(
        [
            node("n1"),
            pod("a", 4, 1, on="n1"),
            *gang("pg", 10, pod("p1", 2, 10, group="pg", spec=NEVER), pod("p2", 2, 10, group="pg")),
        ],
        ["error (MemberMismatch)"],
        old=["unschedulable (PolicyNever)"],
        kep=["preempting: a @ n1 n1"],
    ),
    "W-42 members of another priority": asks(
        [node("n1"), pod("a", 4, 5, on="n1"), *pending(2, 2, priority=3)],
        ["error (MemberMismatch)"],
        old=["preempting: a"],
        kep=["preempting: a @ n1 n1"],
    ),
    "W-43 the lowest priority goes": asks(
        [
            node("n1", 6),
            *(pod(name, 2, prio, on="n1") for name, prio in (("a", 1), ("b", 5), ("c", 3))),
            *pending(2, 1),
        ],
        ["preempting: a @ n1 n1"],
        old=["preempting: a"],
    ),
    "W-44 running members count": asks(
        [
            node("n1"),
            node("n2"),
            pod("p0", 4, 10, on="n1", group="pg"),
            pod("b", 4, 2, on="n2"),
            *pending(1, 4, minimum=2),
        ],
        ["preempting: b @ n2"],
        old=["preempting: b"],
    ),
    "W-45 a group in all mode goes as a whole": asks(
        [
            *(node(place) for place in ("n1", "n2")),
            *(pod(f"g{n}", 4, 1, on=f"n{n}", group="g") for n in (1, 2)),
            group("g", 1, mode="all"),
            *pending(1, 4, only="n1"),
        ],
        ["preempting: g1 g2 @ n1"],
        old=["preempting: g1 g2"],
    ),
    "W-45 a group in single mode does not": asks(
        [
            *(node(place) for place in ("n1", "n2")),
            *(pod(f"g{n}", 4, 1, on=f"n{n}", group="g") for n in (1, 2)),
            group("g", 1, mode="single"),
            *pending(1, 4, only="n1"),
        ],
        ["preempting: g1 @ n1"],
        old=["preempting: g1"],
    ),
    "W-46 a group is put back before pods": asks(
        [*GROUP_AND_POD, *pending(2, 2)],
        ["preempting: s1 s2 @ n1 n2", "preempting: s1 s2 @ n1 n2"],
        old=["preempting: s1 s2"],
    ),
    "W-47 the frozen placement decides which group goes": asks(
        [*UNEQUAL_GROUPS, *pending(1, 4)],
        ["preempting: g1 @ n1", "preempting: h1 h2 @ n2", "preempting: h1 h2 @ n3"],
        old=["preempting: g1"],
    ),
    "W-48 budgets around a frozen placement": asks(
        [*BUDGETED, *pending(1, 2)],
        ["preempting: g1 g2 @ n1", "preempting: s @ n2"],
        old=["preempting: s"],
    ),
    "W-49 a basic group takes what there is": asks(
        [node("n1"), pod("a", 4, 1, on="n1"), node("n2"), pod("b", 4, 20, on="n2"), *pending(2, 4, minimum=None)],
        ["preempting: a @ n1"],
        old=["preempting: a"],
    ),
    "W-51 evictions under way are waited for": asks(
        ONGOING, ["waiting (OngoingPreemption) @ n1"], old=["waiting (OngoingPreemption) @ n1"]
    ),
    "W-52 required anti-affinity is not modelled": asks(
        [*TWO_FULL, *pending(2, 4, spec=ANTI)], ["unsupported (Unsupported)"]
    ),
    "W-52 nor is a hard spread": asks([*TWO_FULL, *pending(2, 4, spec=SPREAD)], ["unsupported (Unsupported)"]),
    "W-53 the search leaves the highest priority alone": asks(
        [*TWO_FULL[:3], pod("b", 4, 5, on="n2"), node("n3"), pod("c", 4, 8, on="n3"), *pending(2, 4)],
        ["preempting: a b @ n1 n2"] * 2,
        old=["preempting: a b"],
        new=[
            *["preempting: a b @ n1 n2"] * 2,
            *["preempting: a c @ n1 n3"] * 2,
            *["preempting: b c @ n2 n3"] * 2,
        ],
    ),
    "W-55 free space decides, not priority": asks(
        [
            *[node("n1", 16), pod("a", 12, 7, on="n1"), pod("h", 4, 20, on="n1")],
            *[node("n2"), pod("b", 4, 1, on="n2")],
            *pending(1, 4),
        ],
        ["preempting: a @ n1"],
        old=["preempting: b"],
        kep=["preempting: b @ n2"],
    ),
    "W-56 one of each, or the one in the middle": asks(
        [
            *[node("n1", 8), pod("a", 3, 1, on="n1"), pod("b", 3, 7, on="n1")],
            *[node("n2", 8), pod("c", 6, 4, on="n2")],
            *pending(2, 3),
        ],
        ["preempting: a c @ n1 n2"] * 2,
        old=["preempting: c"],
        kep=["preempting: c @ n2 n2", "preempting: a c @ n1 n2"],
    ),
    "W-57 a soft taint steers the frozen placement": asks(
        [
            *[tainted(node("n1"), "PreferNoSchedule"), pod("a", 4, 1, on="n1")],
            *[node("n2"), pod("b", 4, 5, on="n2")],
            *pending(1, 4),
        ],
        ["preempting: b @ n2"],
        old=["preempting: a"],
        kep=["preempting: a @ n1"],
    ),
}
CASES = cases(SCENARIOS)
UNLIKE = [node("n1", 8), pod("a", 8, 1, on="n1"), node("n2"), pod("b", 4, 2, on="n2")]
LARGE, SMALL = pod("p1", 6, 10, group="pg"), pod("p2", 4, 10, group="pg")


@pytest.mark.parametrize(("name", "mode"), CASES, ids=case_ids(CASES))
def test_scenario(name: str, mode: SchedulerMode) -> None:
    scenario = SCENARIOS[name]
    assert answers(forecast(scenario, mode)) == wanted(scenario, mode)


@pytest.mark.parametrize("mode", [NEW, KEP])
def test_w_36_either_way_round(mode: SchedulerMode) -> None:
    found = forecast(SCENARIOS["W-36 both go, one for each member"], mode)
    places = [{pod.name: place for pod, place in outcome.nominated.items()} for outcome in found.outcomes]
    assert sorted(places, key=str) == [{"p1": "n1", "p2": "n2"}, {"p1": "n2", "p2": "n1"}]


def test_w_50_members_are_placed_in_the_order_of_their_arrival() -> None:
    found = forecast(asks([*UNLIKE, *gang("pg", 10, LARGE, SMALL)], []), NEW)
    assert answers(found) == ["preempting: a b @ n1 n2"]
    assert {pod.name: place for pod, place in found.outcome.nominated.items()} == {"p1": "n1", "p2": "n2"}
    assert found.is_order_dependent


def test_w_50_the_other_order_finds_no_room() -> None:
    found = forecast(asks([*UNLIKE, *gang("pg", 10, SMALL, LARGE)], []), NEW)
    assert answers(found) == UNSCHEDULABLE
    assert found.is_order_dependent


def test_w_50_release_36_tries_the_last_member_first() -> None:
    assert answers(forecast(asks([*UNLIKE, *gang("pg", 10, LARGE, SMALL)], []), OLD)) == UNSCHEDULABLE


def test_w_52_the_field_is_named() -> None:
    for name, field in (
        ("W-52 required anti-affinity is not modelled", "spec.affinity.podAntiAffinity"),
        ("W-52 nor is a hard spread", "spec.topologySpreadConstraints[0]"),
    ):
        reason = forecast(SCENARIOS[name], NEW).outcome.reason
        assert reason is not None
        assert reason.text.startswith(f'Pod "default/p1": {field}')


def test_w_55_the_cheaper_placement_is_pointed_out() -> None:
    name = "W-55 free space decides, not priority"
    assert forecast(SCENARIOS[name], NEW).warnings[0].startswith("a cheaper placement exists")
    assert forecast(SCENARIOS[name], KEP).warnings == ()
