"""Pods that are nominated to a node: room is held for them, and they look there first."""

from engine.pods.values.answer import PodForecast
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import gang, group, node, pod, terminating
from tests.unit.engine.pods.scenarios import Scenario, answers, forecast

ON_N1 = {"nominatedNodeName": "n1"}
ON_N2 = {"nominatedNodeName": "n2"}


def lone(*objects: Json, mode: SchedulerMode = SchedulerMode.V1_37) -> PodForecast:
    return forecast(Scenario(objects), mode)


def grouped(*objects: Json, mode: SchedulerMode = SchedulerMode.V1_37) -> PodForecast:
    return forecast(Scenario(objects, asked="pg", is_group=True), mode)


def test_room_is_held_for_who_was_nominated_before() -> None:
    assert answers(lone(node("n1"), pod("q", 4, 10, status=ON_N1), pod("p", 2, 10))) == [
        "unschedulable (NoLowerPriority)"
    ]


def test_but_not_for_a_lower_priority() -> None:
    assert answers(lone(node("n1"), pod("q", 4, 9, status=ON_N1), pod("p", 2, 10))) == ["scheduled @ n1"]


def test_a_nomination_to_a_node_that_is_gone_holds_nothing() -> None:
    assert answers(lone(node("n1"), pod("q", 4, 10, status=ON_N2), pod("p", 2, 10))) == ["scheduled @ n1"]


def test_the_nominated_node_is_taken_although_another_scores_higher() -> None:
    found = lone(node("n1"), node("n2", 64), pod("a", 2, 1, on="n1"), pod("p", 2, 10, status=ON_N1))
    assert answers(found) == ["scheduled @ n1"]


def test_a_nominated_node_that_became_unsuitable_is_forgotten() -> None:
    found = lone(node("n1"), node("n2"), pod("p", 2, 10, only="n2", status=ON_N1))
    assert answers(found) == ["scheduled @ n2"]


def test_an_eviction_on_the_nominated_node_is_waited_for() -> None:
    leaving = terminating(pod("a", 4, 1, on="n1"), by_scheduler=True)
    for mode in SchedulerMode:
        found = lone(node("n1"), node("n2"), leaving, pod("b", 4, 1, on="n2"), pod("p", 4, 10, status=ON_N1), mode=mode)
        assert answers(found) == ["waiting (OngoingPreemption) @ n1"]


def test_unless_the_nominated_node_is_out_of_the_question() -> None:
    leaving = terminating(pod("a", 4, 1, on="n1"), by_scheduler=True)
    found = lone(node("n1"), node("n2"), leaving, pod("b", 4, 1, on="n2"), pod("p", 4, 10, only="n2", status=ON_N1))
    assert answers(found) == ["preempting: b @ n2"]


def with_port(raw: Json) -> Json:
    raw["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return raw


def test_a_node_that_is_too_small_is_out_of_the_question_only_while_the_port_is_free() -> None:
    """Ports are looked at before resources, and the scheduler checks nothing further once one is taken."""
    leaving = terminating(pod("a", 1, 1, on="n1"), by_scheduler=True)
    large = with_port(pod("p", 9, 10, status=ON_N1))
    assert answers(lone(node("n1"), leaving, pod("b", 1, 1, on="n1"), large)) == ["unschedulable (NodeIncurable)"]
    found = lone(node("n1"), leaving, with_port(pod("b", 1, 1, on="n1")), large)
    assert answers(found) == ["waiting (OngoingPreemption) @ n1"]


def test_a_pod_that_never_preempts_keeps_its_nomination() -> None:
    never = {"preemptionPolicy": "Never"}
    found = lone(node("n1"), pod("a", 4, 1, on="n1"), pod("p", 4, 10, spec=never, status=ON_N1))
    assert answers(found) == ["waiting (PolicyNever) @ n1"]


def test_members_go_back_to_their_nominated_nodes() -> None:
    found = grouped(
        *[node("n1"), node("n2", 64)],
        *gang("pg", 10, pod("p1", 4, 10, group="pg", status=ON_N1), pod("p2", 4, 10, group="pg", status=ON_N2)),
    )
    assert {key.name: place for key, place in found.outcome.bound.items()} == {"p1": "n1", "p2": "n2"}


def test_a_nominated_member_takes_no_room_twice() -> None:
    found = grouped(
        node("n1"),
        *gang("pg", 10, pod("p1", 2, 10, group="pg", status=ON_N1), pod("p2", 2, 10, group="pg", status=ON_N1)),
    )
    assert answers(found) == ["scheduled @ n1 n1"]


def test_evictions_leave_room_for_other_nominated_pods() -> None:
    found = grouped(
        node("n1", 8),
        *(pod(name, 2, priority, on="n1") for name, priority in (("a", 1), ("b", 2), ("c", 3), ("d", 4))),
        pod("q", 2, 10, status=ON_N1),
        *gang("pg", 10, pod("p1", 2, 10, group="pg")),
    )
    assert answers(found) == ["preempting: a b @ n1"]


def test_release_36_holds_the_same_room() -> None:
    found = grouped(
        node("n1", 8),
        *(pod(name, 2, priority, on="n1") for name, priority in (("a", 1), ("b", 2), ("c", 3), ("d", 4))),
        pod("q", 2, 10, status=ON_N1),
        *gang("pg", 10, pod("p1", 2, 10, group="pg")),
        mode=SchedulerMode.V1_36,
    )
    assert answers(found) == ["preempting: a b"]


def test_release_36_nominates_who_fitted_before_any_eviction() -> None:
    found = grouped(
        *[node("n1"), node("n2"), pod("a", 4, 1, on="n2")],
        *gang("pg", 10, pod("p1", 4, 10, group="pg"), pod("p2", 4, 10, group="pg")),
        mode=SchedulerMode.V1_36,
    )
    assert answers(found) == ["preempting: a @ n1"]


def test_host_ports_keep_a_unit_from_coming_back() -> None:
    web: Json = {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
    found = grouped(
        *[node("n1"), pod("a", 1, 1, on="n1", spec=web), pod("b", 1, 1, on="n1")],
        *[group("pg", 10), pod("p1", 1, 10, group="pg", spec=web)],
    )
    assert answers(found) == ["preempting: a @ n1"]


def test_pod_slots_keep_a_unit_from_coming_back() -> None:
    found = grouped(
        *[node("n1", pods=2), pod("a", 1, 1, on="n1"), pod("b", 1, 2, on="n1")],
        *gang("pg", 10, pod("p1", 1, 10, group="pg")),
    )
    assert answers(found) == ["preempting: a @ n1"]


def test_terminating_members_are_not_scheduled_but_counted() -> None:
    leaving = terminating(pod("p2", 4, 10, group="pg"))
    found = grouped(node("n1"), group("pg", 10, minimum=2), pod("p1", 4, 10, group="pg"), leaving)
    assert answers(found) == ["unschedulable (NoLowerPriority)"]


def test_release_36_may_try_members_that_differ_in_their_nominations_in_either_order() -> None:
    """The member that finds no room keeps its nomination, so it matters whose turn comes last."""
    last_first = pod("p3", 2, 10, group="pg")
    members = (pod("p1", 2, 10, group="pg", status=ON_N1), pod("p2", 2, 10, group="pg"), last_first)
    found = grouped(
        node("n1"), node("n2"), pod("a", 4, 1, on="n2"), *gang("pg", 10, *members), mode=SchedulerMode.V1_36
    )
    assert sorted(sorted(pod.name for pod in outcome.nominated) for outcome in found.outcomes) == [
        ["p1", "p2", "p3"],
        ["p1", "p3"],
    ]
