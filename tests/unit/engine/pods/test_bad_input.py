"""Objects that cannot be used get one error that names the object and the field."""

import pytest

from config.api.meta import ObjectKey
from engine.pods.predict import NotPendingError, predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import ReasonCode
from engine.vocabulary.errors import InvalidObjectError
from tests.support.builders import Json
from tests.support.pod_builders import budget, gang, group, node, pod, tainted

BAD_EXPRESSION = {"matchExpressions": [{"key": "app", "operator": "Near"}]}

BAD = {
    "a negative request": (
        pod("p", requests={"cpu": "-1"}),
        'Pod "default/p": spec.containers[0].resources.requests[cpu]: "-1" is not allowed: must be zero or more',
    ),
    "a request that is no quantity": (
        pod("p", requests={"cpu": "many"}),
        "Pod \"default/p\": spec.containers[0].resources.requests[cpu]: 'many' is not a quantity",
    ),
    "a negative allocatable": (
        node("n1", -4),
        'Node "n1": status.allocatable[cpu]: "-4" is not allowed: must be zero or more',
    ),
    "a budget with a bad selector": (
        budget("x", selector=BAD_EXPRESSION),
        "PodDisruptionBudget \"default/x-budget\": spec.selector: matchExpressions[0].operator: 'Near' is not allowed",
    ),
    "a budget with a negative allowance": (
        budget("x", -1),
        'PodDisruptionBudget "default/x-budget": status.disruptionsAllowed: -1 is not allowed',
    ),
    "an empty gang": (
        group("g", 1, minimum=0),
        'PodGroup "default/g": spec.schedulingPolicy.gang.minCount: 0 is not allowed: must be a whole number from 1',
    ),
    "an unknown disruption mode": (
        group("g", 1, mode="Node"),
        'PodGroup "default/g": spec.disruptionMode: "Node" is not allowed: Pod, PodGroup, {"single": {}}',
    ),
    "a taint without an effect": (
        tainted(node("n1"), ""),
        'Node "n1": spec.taints[0].effect: "" is not allowed: NoExecute, NoSchedule, PreferNoSchedule',
    ),
    "an unknown priority class": (
        pod("p", spec={"priority": None, "priorityClassName": "nope"}),
        'Pod "default/p": spec.priorityClassName: no PriorityClass with name "nope" was found',
    ),
    "an unknown preemption policy": (
        pod("p", spec={"preemptionPolicy": "Always"}),
        'Pod "default/p": spec.preemptionPolicy: "Always" is not allowed: Never, PreemptLowerPriority',
    ),
    "a start that is no time": (
        pod("p", on="n1", status={"startTime": "noon"}),
        "Pod \"default/p\": status.startTime: 'noon' is not a time",
    ),
    "containers that are no list": (
        pod("p", spec={"containers": {}}),
        'Pod "default/p": spec.containers: {} is not allowed: must be a list',
    ),
    "no name": ({"kind": "Node", "metadata": {}}, 'Node "": metadata.name: must be set'),
    "a preference without weight": (
        pod(
            "p",
            spec={
                "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"preference": {}}]}}
            },
        ),
        "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: None is not allowed",
    ),
}


@pytest.mark.parametrize(("raw", "want"), BAD.values(), ids=BAD)
def test_one_error_names_object_and_field(raw: Json, want: str) -> None:
    with pytest.raises(InvalidObjectError) as caught:
        PodModel.of([raw])
    assert want in str(caught.value)


def test_a_pod_on_an_unknown_node_is_told_by_name() -> None:
    model = PodModel.of([node("n1"), pod("a", 1, on="n2")])
    assert [str(error) for error in model.dangling()] == [
        'Pod "default/a": spec.nodeName: there is no Node "n2"',
    ]


def test_a_gang_larger_than_its_pods_is_told_by_field() -> None:
    model = PodModel.of([node("n1"), *gang("pg", 10, pod("p1", 1, 10, group="pg"), minimum=3)])
    reason = predict_group(model, ObjectKey("default", "pg")).outcome.reason
    assert reason is not None
    assert reason.code is ReasonCode.WAITING_FOR_MIN_COUNT
    assert reason.text.startswith('PodGroup "default/pg": spec.schedulingPolicy.gang.minCount: 3 is more than the 1')


def test_asking_about_no_pod() -> None:
    model = PodModel.of([node("n1"), pod("a", 1, on="n1")])
    with pytest.raises(NotPendingError, match="Pod default/a is not waiting for a node"):
        predict_pod(model, ObjectKey("default", "a"))
    with pytest.raises(NotPendingError, match="PodGroup default/pg has no pod that waits"):
        predict_group(model, ObjectKey("default", "pg"))


def test_a_pod_that_is_being_deleted_is_not_scheduled() -> None:
    leaving = pod("p", 1, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    with pytest.raises(NotPendingError, match="is being deleted"):
        predict_pod(PodModel.of([node("n1"), leaving]), ObjectKey("default", "p"))
