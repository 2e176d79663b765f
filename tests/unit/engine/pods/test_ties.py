"""What the scheduler chooses freely is listed completely, and told when it cannot be."""

import pytest

from engine.pods.search.node_order import heap_root
from engine.pods.values.answer import PodForecast
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import budget, gang, group, node, pod, tainted
from tests.unit.engine.pods.scenarios import Scenario, answers, forecast

P1, P2 = pod("p", 1, 10), pod("p", 2, 10)


def lone(*objects: Json, mode: SchedulerMode = SchedulerMode.V1_37) -> PodForecast:
    return forecast(Scenario(objects), mode)


def grouped(*objects: Json, mode: SchedulerMode = SchedulerMode.V1_37) -> PodForecast:
    return forecast(Scenario(objects, asked="pg", is_group=True), mode)


def members(count: int, cpu: int) -> list[Json]:
    return gang("pg", 10, *(pod(f"p{n}", cpu, 10, group="pg") for n in range(count)))


def test_equal_pods_of_one_age_are_interchangeable() -> None:
    found = lone(node("n1"), *(pod(name, 1, 1, on="n1") for name in "abcd"), P2)
    assert len(found.outcomes) == 6
    assert found.is_complete
    assert all(len(outcome.victims) == 2 for outcome in found.outcomes)


def test_unlike_pods_of_one_age_are_put_back_in_any_order() -> None:
    running = [pod(name, cpu, 1, on="n1") for name, cpu in (("a", 1), ("b", 2), ("c", 2))]
    found = lone(node("n1", 5), *running, pod("p", 3, 10))
    assert answers(found) == ["preempting: a b @ n1", "preempting: a c @ n1", "preempting: b c @ n1"]
    assert found.is_complete


def test_a_budget_is_overdrawn_by_the_last_one() -> None:
    found = lone(node("n1"), *(pod(name, 2, 1, on="n1", app="x") for name in "ab"), budget("x", 1), P2)
    assert answers(found) == ["preempting: a @ n1", "preempting: b @ n1"]


def test_age_decides_before_chance() -> None:
    found = lone(node("n1"), pod("a", 2, 1, on="n1", started=1), pod("b", 2, 1, on="n1", started=2), P2)
    assert answers(found) == ["preempting: b @ n1"]


def test_a_pod_that_never_started_counts_as_youngest() -> None:
    found = lone(node("n1"), pod("a", 2, 1, on="n1", started=1), pod("b", 2, 1, on="n1", started=None), P2)
    assert answers(found) == ["preempting: b @ n1"]


@pytest.mark.slow
def test_too_many_equal_pods_are_not_all_listed() -> None:
    found = lone(node("n1", 20), *(pod(f"a{n}", 1, 1, on="n1") for n in range(20)), pod("p", 10, 10))
    assert not found.is_complete
    assert len(found.outcomes) > 100


def test_too_many_unlike_pods_are_not_all_ordered() -> None:
    cpus = [1, 2, 3, 1, 2, 3, 1]
    found = lone(node("n1", 13), *(pod(f"a{n}", cpu, 1, on="n1") for n, cpu in enumerate(cpus)), pod("p", 6, 10))
    assert not found.is_complete


def test_too_many_budget_orders_are_not_all_charged() -> None:
    running = [pod(f"a{n}", 1, 1, on="n1", app="x") for n in range(7)]
    found = lone(node("n1", 7), *running, budget("x", 3), P1)
    assert not found.is_complete


def test_which_member_is_looked_at_first_is_open() -> None:
    """The own priority of a unit's first pod decides between nodes, and it is not known which pod that is."""
    found = lone(
        *[node("n1"), pod("g1", 4, 1, on="n1", group="g"), pod("g2", 1, 7, on="n3", group="g")],
        *[node("n2"), pod("s", 4, 5, on="n2"), node("n3", 5), pod("h", 4, 20, on="n3")],
        group("g", 1, mode="all"),
        pod("p", 4, 10),
    )
    assert answers(found) == ["preempting: g1 g2 @ n1", "preempting: s @ n2"]


def test_of_equally_important_victims_one_that_overdraws_a_budget_is_looked_at_first() -> None:
    """Sorting leaves equals as they were met, and the budgets' are met first: b's own priority stands for n1."""
    found = lone(
        *[node("n1"), pod("a", 2, 7, on="n1", group="g"), pod("b", 2, 0, on="n1", group="g", app="x")],
        *[node("n2"), pod("s", 4, 5, on="n2", app="x")],
        *[group("g", 0), budget("x", 0)],
        pod("p", 4, 10),
    )
    assert answers(found) == ["preempting: a b @ n1"]


@pytest.mark.parametrize(
    ("scores", "want"),
    [
        ([5], 0),
        ([5, 5], 0),
        ([4, 5, 5], 1),
        ([3, 3, 5, 5], 3),
        ([5, 5, 5, 5], 0),
        ([1, 2, 3, 4, 5], 4),
    ],
)
def test_the_scheduler_takes_the_root_of_a_heap(scores: list[int], want: int) -> None:
    assert heap_root([(score, place) for place, score in enumerate(scores)]) == want


def test_the_order_of_nodes_holds_for_a_whole_cycle() -> None:
    """A node that is preferred for the first member is preferred again when all are equal again."""
    found = grouped(*(node(f"n{n}") for n in range(3)), *members(4, 1))
    assert all(
        sorted(outcome.bound.values()).count(place) == 2
        for outcome in found.outcomes
        for place in [next(node for key, node in outcome.bound.items() if key.name == "p0")]
    )
    assert len(found.outcomes) == 6


def test_with_many_nodes_ties_are_free_one_by_one() -> None:
    found = grouped(*(node(f"n{n}") for n in range(7)), *members(2, 4))
    assert len(found.outcomes) == 42
    assert found.is_complete


def test_with_very_many_choices_some_are_left_out() -> None:
    found = grouped(*(node(f"n{n}") for n in range(10)), *members(4, 4))
    assert len(found.outcomes) == 512
    assert not found.is_complete


def test_a_large_cluster_is_sampled() -> None:
    found = grouped(*(node(f"n{n:03}") for n in range(250)), *members(2, 4))
    assert len(found.outcomes) == 1
    assert not found.is_complete
    assert found.approximate == ("the scheduler looks only at a sample of the nodes that fit",)


def test_a_large_cluster_with_few_feasible_nodes_is_not() -> None:
    full = [pod(f"h{n:03}", 4, 20, on=f"n{n:03}") for n in range(249)]
    found = grouped(*(node(f"n{n:03}") for n in range(250)), *full, *members(1, 4))
    assert answers(found) == ["scheduled @ n249"]
    assert found.is_complete
    assert found.approximate == ()


def test_many_candidate_nodes_are_sampled() -> None:
    full = [pod(f"a{n:03}", 4, 1, on=f"n{n:03}", started=n) for n in range(250)]
    found = lone(*(node(f"n{n:03}") for n in range(250)), *full, pod("p", 4, 10))
    assert answers(found) == ["preempting: a249 @ n249"]
    assert found.approximate == ("the scheduler looks only at a sample of the nodes where it could evict",)


def test_soft_taints_and_preferences_steer_a_large_cluster_too() -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n150"]}]}
    liked = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}]}
    nodes = [tainted(node(f"n{n:03}"), "PreferNoSchedule") if n % 2 else node(f"n{n:03}") for n in range(200)]
    found = lone(*nodes, pod("p", 1, 10, spec={"affinity": {"nodeAffinity": liked}}))
    assert answers(found) == ["scheduled @ n150"]


def test_release_36_may_meet_any_member_of_a_group_first() -> None:
    found = grouped(
        *[node("n1"), node("n2"), node("n3")],
        *[pod("g1", 2, 1, on="n1", group="g", started=1), pod("g2", 2, 1, on="n2", group="g", started=9)],
        *[pod("h1", 2, 1, on="n1", group="h", started=5), pod("h2", 2, 1, on="n2", group="h", started=5)],
        pod("k", 4, 20, on="n3"),
        group("g", 1, mode="all"),
        group("h", 1, mode="all"),
        *members(1, 2),
        mode=SchedulerMode.V1_36,
    )
    assert answers(found) == ["preempting: g1 g2", "preempting: h1 h2"]


def test_release_36_tries_unlike_members_in_any_order() -> None:
    found = grouped(
        *[node("n1", 8), pod("a", 8, 1, on="n1"), node("n2"), pod("b", 4, 2, on="n2")],
        *gang("pg", 10, pod("p1", 6, 10, group="pg"), pod("p2", 4, 10, group="pg"), pod("p3", 1, 10, group="pg")),
        mode=SchedulerMode.V1_36,
    )
    assert found.is_order_dependent
    assert answers(found) == ["preempting: a b", "unschedulable (StillInfeasible)"]


def sized(name: str, cpu: str, memory: str, priority: int, *, on: str = "", group: str = "", started: int = 0) -> Json:
    asked = {"cpu": cpu, "memory": memory} if memory else {"cpu": cpu}
    return pod(name, requests=asked, priority=priority, on=on, group=group, started=started)


CAPRICIOUS = [
    *[node("n1", 4, memory="16Gi"), sized("a", "1", "1Gi", 2, on="n1"), sized("b", "3500m", "2304Mi", 5, on="n1")],
    *[node("n2", 6, memory="16Gi"), sized("h", "3", "", 20, on="n2"), sized("c", "3", "", 1, on="n2", started=3)],
    *[node("n3", 6, memory="8Gi"), sized("d", "1500m", "1280Mi", 2, on="n3")],
    *[sized("e", "2", "2Gi", 1, on="n3", started=1), sized("f", "2500m", "256Mi", 1, on="n3", started=1)],
    *gang(
        "pg",
        10,
        *[sized("p1", "3500m", "4352Mi", 10, group="pg"), sized("p2", "3", "4Gi", 10, group="pg")],
        sized("p3", "3500m", "4352Mi", 10, group="pg"),
        minimum=2,
    ),
]


def test_release_36_may_take_a_unit_back_only_after_another() -> None:
    """While n3 is emptier, p2 goes there and no other member fits beside a; once d is back there, p2 goes elsewhere."""
    assert answers(grouped(*CAPRICIOUS, mode=SchedulerMode.V1_36)) == ["preempting: a b e f", "preempting: b c e f"]


def test_release_36_tries_members_that_never_waited_as_they_came() -> None:
    """A basic group is complete with its first member, so no pod is kept out of the queue."""
    large, small = pod("p1", 4, 10, group="pg"), pod("p2", 1, 10, group="pg")
    found = grouped(
        node("n1"), *gang("pg", 10, small, large, pod("p3", 1, 10, group="pg"), minimum=None), mode=SchedulerMode.V1_36
    )
    assert [sorted(key.name for key in outcome.bound) for outcome in found.outcomes] == [["p2", "p3"]]


def test_release_36_charges_the_rest_of_a_group_only_until_one_pod_overdraws() -> None:
    """Met first, g2 spends what s would need; met after g1, which overdraws, it is not charged at all."""
    found = grouped(
        *[node("n1"), node("n2"), node("n3", 8)],
        *[pod("g1", 1, 1, on="n1", group="g", app="x"), pod("g2", 1, 1, on="n2", group="g", app="y")],
        *[pod("s", 4, 0, on="n3", app="y", started=9), pod("t", 4, 0, on="n3", started=1)],
        *[group("g", 1, mode="all"), budget("x", 0), budget("y", 1)],
        *gang("pg", 10, pod("p", 4, 10, group="pg", only="n3")),
        mode=SchedulerMode.V1_36,
    )
    assert answers(found) == ["preempting: s", "preempting: t"]


def test_one_order_of_the_nodes_decides_where_a_group_goes_and_who_is_charged_first() -> None:
    """Where it goes to n1, n1 came first, and a was charged before b: c overdraws, and is put back first."""
    equals = (("a", 1, "n1"), ("b", 1, "n2"), ("c", 0, "n1"), ("d", 0, "n2"))
    running = [pod(name, 2, priority, on=on, app="x") for name, priority, on in equals]
    found = grouped(node("n1"), node("n2"), *running, budget("x", 1), *members(1, 2))
    assert answers(found) == ["preempting: a @ n1", "preempting: b @ n2"]
    assert found.is_complete


def test_budgets_are_charged_in_one_order_on_all_nodes() -> None:
    """Charged to x first, a leaves y to b; charged to y first, it does not. n2 is never better off than n1."""
    both, one = {"labels": {"app": "x", "tier": "y"}}, {"labels": {"tier": "y"}}
    running = [
        *[pod("a1", 2, 1, on="n1", started=1, metadata=both), pod("b1", 2, 1, on="n1", started=2, metadata=one)],
        *[pod("a2", 2, 2, on="n2", started=1, metadata=both), pod("b2", 2, 1, on="n2", started=2, metadata=one)],
    ]
    budgets = [budget("x", 0), budget("y", 1, selector={"matchLabels": {"tier": "y"}})]
    found = lone(node("n1"), node("n2"), *running, *budgets, pod("p", 4, 10))
    assert answers(found) == ["preempting: a1 b1 @ n1"]
    assert found.is_complete


def test_units_are_put_back_in_the_order_in_which_they_were_charged() -> None:
    """Met first, b spends what a needs, and is put back first; met second, it overdraws alone, and is too."""
    b = pod("b", 1, 0, on="n1", metadata={"labels": {"app": "y", "tier": "z"}})
    a = pod("a", 2, 0, on="n1", metadata={"labels": {"tier": "z"}})
    budgets = [budget("y", 0), budget("z", 1, selector={"matchLabels": {"tier": "z"}})]
    found = lone(node("n1", 5), a, b, pod("s", 1, 20, on="n1"), *budgets, P2)
    assert answers(found) == ["preempting: a @ n1"]
