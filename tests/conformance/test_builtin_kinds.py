"""What the built-in kinds add of their own: data, defaults, rules and special doors."""

import pytest

from tests.conformance.builders import (
    EVENT_TIME,
    an_object,
    condition,
    core_event,
    disruption_budget,
    job,
    lease,
    new_event,
    node,
    pod,
    priority_class,
    secret,
)
from tests.conformance.client import Api
from tests.conformance.resources import (
    ACCESS_REVIEWS,
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    LEASES,
    NEW_EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
)


async def test_secret_data_is_base64(api: Api, namespace: str) -> None:
    created = (await api.post(SECRETS.at(namespace), secret("a", data={"k": "dmFsdWU="}))).expect(201)
    assert (created["data"], created["type"]) == ({"k": "dmFsdWU="}, "Opaque")


async def test_secret_strings_become_data(api: Api, namespace: str) -> None:
    built = secret("a", stringData={"k": "value"}, data={"k": "b3RoZXI=", "l": "eA=="})
    created = (await api.post(SECRETS.at(namespace), built)).expect(201)
    assert created["data"] == {"k": "dmFsdWU=", "l": "eA=="}
    assert "stringData" not in created


async def test_secret_data_that_is_no_base64(api: Api, namespace: str) -> None:
    (await api.post(SECRETS.at(namespace), secret("a", data={"k": "not base64!"}))).error(400, "BadRequest")


async def test_secret_key_must_be_a_file_name(api: Api, namespace: str) -> None:
    status = (await api.post(SECRETS.at(namespace), secret("a", data={"a b": "eA=="}))).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "data[a b]"


async def test_secret_type_is_immutable(api: Api, namespace: str) -> None:
    (await api.post(SECRETS.at(namespace), secret("a"))).expect(201)
    status = (await api.patch(SECRETS.at(namespace, "a"), {"type": "other"})).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "type"


async def test_immutable_secret(api: Api, namespace: str) -> None:
    (await api.post(SECRETS.at(namespace), secret("a", data={"k": "eA=="}, immutable=True))).expect(201)
    (await api.patch(SECRETS.at(namespace, "a"), {"data": {"k": "eQ=="}})).error(422, "Invalid")
    (await api.patch(SECRETS.at(namespace, "a"), {"metadata": {"labels": {"a": "b"}}})).ok()


async def test_event_is_kept_as_written(api: Api, namespace: str) -> None:
    built = core_event("a", namespace, message="m", count=2, source={"component": "c"})
    created = (await api.post(EVENTS.at(namespace), built)).expect(201)
    assert (created["message"], created["count"], created["source"]) == ("m", 2, {"component": "c"})
    assert created["involvedObject"]["namespace"] == namespace


async def test_event_is_one_object_in_both_groups(api: Api, namespace: str) -> None:
    (await api.post(NEW_EVENTS.at(namespace), new_event("a", namespace, note="n"))).expect(201)
    old = (await api.get(EVENTS.at(namespace, "a"))).ok()
    assert (old["kind"], old["apiVersion"]) == ("Event", "v1")
    assert (old["message"], old["involvedObject"]["name"]) == ("n", "p")
    assert (old["eventTime"], old["reportingComponent"]) == (EVENT_TIME, "example.com/tester")


async def test_new_event_says_who_reports_and_what_was_done(api: Api, namespace: str) -> None:
    built = new_event("a", namespace)
    del built["reportingController"]
    status = (await api.post(NEW_EVENTS.at(namespace), built)).error(422, "Invalid")
    assert "reportingController" in {cause["field"] for cause in status["details"]["causes"]}


async def test_event_lives_where_its_object_does(api: Api, namespace: str) -> None:
    status = (await api.post(EVENTS.at(namespace), core_event("a", "default"))).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "involvedObject.namespace"


async def test_lease_keeps_microseconds(api: Api, namespace: str) -> None:
    built = lease("a", holderIdentity="me", leaseDurationSeconds=15, renewTime="2026-01-02T03:04:05.123456Z")
    created = (await api.post(LEASES.at(namespace), built)).expect(201)
    assert created["spec"] == built["spec"]


@pytest.mark.parametrize("duration", [0, -1])
async def test_lease_duration_must_be_positive(api: Api, namespace: str, duration: int) -> None:
    reply = await api.post(LEASES.at(namespace), lease("a", holderIdentity="me", leaseDurationSeconds=duration))
    assert reply.error(422, "Invalid")["details"]["causes"][0]["field"] == "spec.leaseDurationSeconds"


async def test_of_two_holders_one_wins_the_lease(api: Api, namespace: str) -> None:
    free = (await api.post(LEASES.at(namespace), lease("a", holderIdentity=""))).expect(201)
    claims = [{**free, "spec": {"holderIdentity": holder}} for holder in ("first", "second")]
    (await api.put(LEASES.at(namespace, "a"), claims[0])).ok()
    (await api.put(LEASES.at(namespace, "a"), claims[1])).error(409, "Conflict")
    assert (await api.get(LEASES.at(namespace, "a"))).ok()["spec"]["holderIdentity"] == "first"


@pytest.mark.parametrize("user", ["administrator", "powerless"])
async def test_access_review_answers_for_the_caller(api: Api, powerless_api: Api, namespace: str, user: str) -> None:
    attributes = {"group": "kueue.x-k8s.io", "resource": "workloads", "verb": "create", "namespace": namespace}
    review = an_object(ACCESS_REVIEWS, None, spec={"resourceAttributes": attributes})
    who = api if user == "administrator" else powerless_api
    answer = (await who.post(ACCESS_REVIEWS.at(), review)).expect(201)
    assert answer["kind"] == "SelfSubjectAccessReview"
    assert answer["status"]["allowed"] is (user == "administrator")
    assert answer["spec"]["resourceAttributes"] == attributes


async def test_access_review_must_ask_for_something(api: Api) -> None:
    (await api.post(ACCESS_REVIEWS.at(), an_object(ACCESS_REVIEWS, None, spec={}))).error(422, "Invalid")


def binding(name: str, target: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": target},
    }


async def test_binding_puts_a_pod_on_a_node(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    status = (await api.post(PODS.at(namespace, "a", "binding"), binding("a", "n1"))).expect(201)
    assert (status["kind"], status["status"]) == ("Status", "Success")
    bound = (await api.get(PODS.at(namespace, "a"))).ok()
    assert bound["spec"]["nodeName"] == "n1"
    (scheduled,) = [each for each in bound["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert scheduled["status"] == "True"


async def test_bound_pod_cannot_be_bound_again(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace), pod("a", nodeName="n1"))).expect(201)
    status = (await api.post(PODS.at(namespace, "a", "binding"), binding("a", "n2"))).error(409, "Conflict")
    assert "is already assigned to node" in status["message"]


async def test_missing_pod_cannot_be_bound(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace, "a", "binding"), binding("a", "n1"))).error(404, "NotFound")


async def test_pod_gets_its_defaults(api: Api, namespace: str) -> None:
    created = (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    spec = created["spec"]
    assert (spec["restartPolicy"], spec["schedulerName"], spec["dnsPolicy"]) == (
        "Always",
        "default-scheduler",
        "ClusterFirst",
    )
    assert (spec["terminationGracePeriodSeconds"], spec["enableServiceLinks"]) == (30, True)
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert created["status"]["phase"] == "Pending"
    assert created["status"]["qosClass"] == "BestEffort"


async def test_pod_takes_its_priority_from_its_class(api: Api, namespace: str) -> None:
    (await api.post(PRIORITY_CLASSES.at(), priority_class(namespace, 77))).expect(201)
    created = (await api.post(PODS.at(namespace), pod("a", priorityClassName=namespace))).expect(201)
    assert (created["spec"]["priority"], created["spec"]["preemptionPolicy"]) == (77, "PreemptLowerPriority")
    (await api.post(PODS.at(namespace), pod("b", priorityClassName=f"no-{namespace}"))).error(403, "Forbidden")


async def test_pod_without_containers(api: Api, namespace: str) -> None:
    status = (await api.post(PODS.at(namespace), pod("a", containers=[]))).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.containers"


async def test_pod_spec_is_mostly_immutable(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    patch = {"spec": {"schedulerName": "other"}}
    status = (await api.patch(PODS.at(namespace, "a"), patch)).error(422, "Invalid")
    assert "pod updates may not change fields other than" in status["message"]


async def test_job_gets_its_defaults(api: Api, namespace: str) -> None:
    created = (await api.post(JOBS.at(namespace), job("a"))).expect(201)
    spec, uid = created["spec"], created["metadata"]["uid"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert (spec["completionMode"], spec["suspend"]) == ("NonIndexed", True)
    assert spec["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] == uid
    assert spec["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "a"


async def test_managed_by_of_a_job_is_immutable(api: Api, namespace: str) -> None:
    created = (await api.post(JOBS.at(namespace), job("a", managedBy="kueue.x-k8s.io/multikueue"))).expect(201)
    assert created["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    status = (await api.patch(JOBS.at(namespace, "a"), {"spec": {"managedBy": "example.com/other"}})).error(
        422, "Invalid"
    )
    assert status["details"]["causes"][0]["field"] == "spec.managedBy"


async def test_job_restarts_no_pod_for_ever(api: Api, namespace: str) -> None:
    built = job("a")
    built["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    status = (await api.post(JOBS.at(namespace), built)).error(422, "Invalid")
    assert "spec.template.spec.restartPolicy" in {cause["field"] for cause in status["details"]["causes"]}


async def test_priority_class_value_is_immutable(api: Api, unique: str) -> None:
    created = (await api.post(PRIORITY_CLASSES.at(), priority_class(unique, 5))).expect(201)
    assert created["preemptionPolicy"] == "PreemptLowerPriority"
    status = (await api.patch(PRIORITY_CLASSES.at(name=unique), {"value": 6})).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "value"


async def test_disruption_budget_has_one_bound(api: Api, namespace: str) -> None:
    built = disruption_budget("a", maxUnavailable=1)
    (await api.post(DISRUPTION_BUDGETS.at(namespace), built)).error(422, "Invalid")


async def test_node_status_has_its_own_door(api: Api, unique: str) -> None:
    (await api.post(NODES.at(), node(unique))).expect(201)
    patch = {"status": {"capacity": {"cpu": "4", "example.com/gpu": "8"}}, "spec": {"unschedulable": True}}
    patched = (await api.patch(NODES.at(None, unique, "status"), patch)).ok()
    assert patched["status"]["capacity"] == {"cpu": "4", "example.com/gpu": "8"}
    assert "unschedulable" not in patched.get("spec", {})


async def test_pod_group_is_scheduled_as_a_gang(api: Api, namespace: str) -> None:
    built = an_object(POD_GROUPS, "a", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    created = (await api.post(POD_GROUPS.at(namespace), built)).expect(201)
    assert created["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    conditions = [condition("PodGroupScheduled", "False", reason="Unschedulable")]
    patched = (await api.patch(POD_GROUPS.at(namespace, "a", "status"), {"status": {"conditions": conditions}})).ok()
    assert patched["status"]["conditions"] == conditions


async def test_pod_group_needs_a_policy(api: Api, namespace: str) -> None:
    status = (await api.post(POD_GROUPS.at(namespace), an_object(POD_GROUPS, "a", spec={}))).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "spec.schedulingPolicy"
