"""The live picture: whatever the order of events, it is the sum of what is there."""

from config.api.meta import ObjectKey
from engine.pods.predict import predict_pod
from engine.pods.state.model import PodModel
from tests.support.pod_builders import budget, group, node, pod

KEY = ObjectKey("default", "a")
NODE = ObjectKey("", "n1")


def used_cpu(model: PodModel) -> int:
    return model.nodes["n1"].load.used[0]


def outcome(model: PodModel) -> str:
    found = predict_pod(model, ObjectKey("default", "p")).outcome
    return f"{found.result} {' '.join(map(str, found.victims))}".strip()


def test_a_pod_may_arrive_before_its_node() -> None:
    model = PodModel()
    model.apply(pod("a", 2, on="n1"))
    assert [str(error) for error in model.dangling()] != []
    model.apply(node("n1"))
    assert list(model.dangling()) == []
    assert used_cpu(model) == 2000


def test_a_pod_that_changes_is_counted_once() -> None:
    model = PodModel.of([node("n1"), pod("a", 2, on="n1")])
    model.apply(pod("a", 3, on="n1"))
    assert used_cpu(model) == 3000
    assert model.nodes["n1"].load.pods == 1


def test_a_pending_pod_becomes_bound() -> None:
    model = PodModel.of([node("n1"), pod("a", 2)])
    model.apply(pod("a", 2, on="n1"))
    assert not model.pending
    assert used_cpu(model) == 2000


def test_a_finished_pod_takes_no_room() -> None:
    model = PodModel.of([node("n1"), pod("a", 2, on="n1", group="g")])
    model.apply(pod("a", 2, on="n1", group="g", status={"phase": "Succeeded"}))
    assert used_cpu(model) == 0
    assert not model.members


def test_what_is_deleted_is_forgotten() -> None:
    running = pod("a", 4, 1, on="n1", group="g", app="x")
    model = PodModel.of([node("n1"), running, group("g", 50), budget("x"), pod("p", 4, 10)])
    assert outcome(model) == "unschedulable"
    model.forget("PodGroup", ObjectKey("default", "g"))
    assert outcome(model) == "preempting default/a"
    model.forget("PodDisruptionBudget", ObjectKey("default", "x-budget"))
    assert not model.budgets
    model.forget("Pod", KEY)
    assert outcome(model) == "scheduled"
    model.forget("Node", NODE)
    assert not model.nodes
    model.forget("Node", NODE)
    model.forget("Pod", KEY)


def test_a_node_that_goes_before_its_pods_is_kept_for_them() -> None:
    model = PodModel.of([node("n1"), pod("a", 2, on="n1")])
    model.forget("Node", NODE)
    assert [str(error) for error in model.dangling()] == ['Pod "default/a": spec.nodeName: there is no Node "n1"']
    model.forget("Pod", KEY)
    assert not model.nodes


def test_classes_may_come_and_go() -> None:
    raw = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"}
    named = {"priority": None, "priorityClassName": "high"}
    model = PodModel.of([raw, node("n1"), pod("p", 1, spec=named)])
    assert (
        model.pending[ObjectKey("default", "p")].priority,
        model.pending[ObjectKey("default", "p")].never_preempts,
    ) == (
        9,
        True,
    )
    model.forget("PriorityClass", ObjectKey("", "high"))
    assert model.priority_classes.find("high") is None
    model.forget("PriorityClass", ObjectKey("", "system-node-critical"))
    assert model.priority_classes.find("system-node-critical") is not None


def test_equal_pods_share_what_they_have_in_common() -> None:
    model = PodModel.of([node("n1"), *(pod(f"a{n}", 1, on="n1", app="x") for n in range(3))])
    bound = list(model.nodes["n1"].pods.values())
    assert len({id(each.footprint) for each in bound}) == 1
    assert len({id(each.labels) for each in bound}) == 1


def test_other_kinds_are_passed_over() -> None:
    assert not PodModel.of([{"kind": "ConfigMap", "metadata": {"name": "x"}}, {"kind": 3}]).nodes


def test_S1_a_detached_model_stays_as_it_is_and_changes_nothing_here() -> None:
    model = PodModel.of([node("n1"), pod("a", 4, 1, on="n1"), pod("p", 4, 10)])
    twin = model.detached()
    model.forget("Pod", KEY)
    model.apply(node("n2", example__special=7))
    model.apply(pod("b", 1, on="n1"))
    assert (outcome(twin), used_cpu(twin), sorted(twin.nodes)) == ("preempting default/a", 4000, ["n1"])
    assert (used_cpu(model), model.nodes["n1"].load.pods) == (1000, 1)
    twin.put_pod(KEY, None)
    twin.apply(node("n3", example__other=7))
    assert (used_cpu(model), sorted(model.nodes)) == (1000, ["n1", "n2"])
    assert "example/other" not in model.resources.names
    assert "example/special" not in twin.resources.names
    model.apply(pod("c", 1, on="n1"))
    assert (used_cpu(model), used_cpu(twin)) == (2000, 0)
