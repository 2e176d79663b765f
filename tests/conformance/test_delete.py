"""DELETE of one object: preconditions, grace, propagation, finalizers."""

from typing import Any

import pytest

from tests.conformance.builders import job, pod
from tests.conformance.client import Api, Obj
from tests.conformance.resources import JOBS, PODS
from tests.conformance.samples import CUSTOM, Sample

FINALIZER = "example.com/hold"


async def test_deleted_object_is_gone(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    status = (await api.delete(sample.at(namespace, "a"))).ok()
    assert (status["kind"], status["status"]) == ("Status", "Success")
    want = {"name": "a", "kind": sample.resource.plural, "uid": created["metadata"]["uid"]}
    assert status["details"] == want | ({"group": sample.resource.group} if sample.resource.group else {})
    (await api.get(sample.at(namespace, "a"))).error(404, "NotFound")


async def test_deleting_twice_is_not_found(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.delete(sample.at(namespace, "a"))).ok()
    (await api.delete(sample.at(namespace, "a"))).error(404, "NotFound")


async def test_same_name_again_is_another_object(api: Api, namespace: str, sample: Sample) -> None:
    first = await sample.create(api, namespace, "a")
    (await api.delete(sample.at(namespace, "a"))).ok()
    second = await sample.create(api, namespace, "a")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]


@pytest.mark.parametrize("precondition", ["uid", "resourceVersion"])
async def test_precondition_that_does_not_hold_is_a_conflict(
    api: Api, namespace: str, sample: Sample, precondition: str
) -> None:
    created = await sample.create(api, namespace, "a")
    options = {"preconditions": {precondition: "1"}}
    status = (await api.delete(sample.at(namespace, "a"), options)).error(409, "Conflict")
    assert "in the precondition (1) does not match" in status["message"]
    options = {"preconditions": {precondition: created["metadata"][precondition]}}
    (await api.delete(sample.at(namespace, "a"), options)).ok()


async def test_options_may_carry_their_kind(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
    (await api.delete(sample.at(namespace, "a"), options)).ok()


@pytest.mark.parametrize(
    "options",
    [
        {"propagationPolicy": "Sideways"},
        {"propagationPolicy": "Background", "orphanDependents": True},
    ],
    ids=["unknown policy", "policy given twice"],
)
async def test_options_that_are_malformed(api: Api, namespace: str, sample: Sample, options: dict[str, Any]) -> None:
    created = await sample.create(api, namespace, "a")
    (await api.delete(sample.at(namespace, "a"), options)).error(422, "Invalid")
    assert (await api.get(sample.at(namespace, "a"))).ok() == created


async def test_options_that_cannot_be_read(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.delete(sample.at(namespace, "a"), b'{"preconditions":')).error(400, "BadRequest")


async def test_finalizer_holds_the_object_until_it_is_removed(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER, "example.com/other"])
    at = sample.at(namespace, "a")
    held = (await api.delete(at)).ok()
    assert held["kind"] == sample.resource.kind
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await api.get(at)).ok() == held
    still = (await api.patch(at, {"metadata": {"finalizers": [FINALIZER]}})).ok()
    assert still["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    last = (await api.patch(at, {"metadata": {"finalizers": None}})).ok()
    assert "finalizers" not in last["metadata"]
    (await api.get(at)).error(404, "NotFound")


async def test_mark_of_deletion_is_a_new_generation(api: Api, namespace: str) -> None:
    created = await CUSTOM.create(api, namespace, "a", finalizers=[FINALIZER])
    held = (await api.delete(CUSTOM.at(namespace, "a"))).ok()
    assert (created["metadata"]["generation"], held["metadata"]["generation"]) == (1, 2)


async def test_deleting_a_held_object_again_changes_nothing(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    held = (await api.delete(sample.at(namespace, "a"))).ok()
    again = (await api.delete(sample.at(namespace, "a"))).ok()
    assert again["metadata"] == held["metadata"]


async def test_no_finalizer_can_be_added_to_a_terminating_object(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    (await api.delete(sample.at(namespace, "a"))).ok()
    patch = {"metadata": {"finalizers": [FINALIZER, "example.com/late"]}}
    status = (await api.patch(sample.at(namespace, "a"), patch)).error(422, "Invalid")
    assert "no new finalizers can be added if the object is being deleted" in status["message"]
    assert status["details"]["causes"][0] | {"message": ""} == {
        "reason": "FieldValueForbidden",
        "message": "",
        "field": "metadata.finalizers",
    }


async def test_terminating_object_can_still_be_changed(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    (await api.delete(sample.at(namespace, "a"))).ok()
    patched = (await api.patch(sample.at(namespace, "a"), {"metadata": {"labels": {"x": "y"}}})).ok()
    assert patched["metadata"]["labels"] == {"x": "y"}


async def test_name_of_a_terminating_object_is_taken(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    (await api.delete(sample.at(namespace, "a"))).ok()
    status = (await api.post(sample.at(namespace), sample.build("a"))).error(409, "AlreadyExists")
    assert "object is being deleted" in status["message"]


async def test_watch_tells_the_steps_of_a_held_deletion(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    async with api.watch(sample.at(namespace), resourceVersion=created["metadata"]["resourceVersion"]) as watch:
        (await api.delete(sample.at(namespace, "a"))).ok()
        marked = await watch.next()
        (await api.patch(sample.at(namespace, "a"), {"metadata": {"finalizers": None}})).ok()
        gone = await watch.next()
    assert (marked["type"], gone["type"]) == ("MODIFIED", "DELETED")
    assert marked["object"]["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")], ids=["foreground", "orphan"]
)
async def test_policy_leaves_a_finalizer_to_the_garbage_collector(
    api: Api, namespace: str, sample: Sample, policy: str, finalizer: str
) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    held = (await api.delete(sample.at(namespace, "a"), propagationPolicy=policy)).ok()
    assert set(held["metadata"]["finalizers"]) == {FINALIZER, finalizer}
    assert held["metadata"]["deletionTimestamp"]


async def test_last_policy_wins(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", finalizers=[FINALIZER])
    (await api.delete(sample.at(namespace, "a"), {"propagationPolicy": "Orphan"})).ok()
    held = (await api.delete(sample.at(namespace, "a"), {"propagationPolicy": "Foreground"})).ok()
    assert set(held["metadata"]["finalizers"]) == {FINALIZER, "foregroundDeletion"}


async def test_job_orphans_its_pods_unless_told_otherwise(api: Api, namespace: str) -> None:
    for name in ("a", "b"):
        (await api.post(JOBS.at(namespace), job(name, metadata={"finalizers": [FINALIZER]}))).expect(201)
    silent = (await api.delete(JOBS.at(namespace, "a"))).ok()
    told = (await api.delete(JOBS.at(namespace, "b"), propagationPolicy="Background")).ok()
    assert set(silent["metadata"]["finalizers"]) == {FINALIZER, "orphan"}
    assert told["metadata"]["finalizers"] == [FINALIZER]


async def scheduled_pod(api: Api, namespace: str, **spec: Any) -> Obj:
    return (await api.post(PODS.at(namespace), pod("a", nodeName="n", **spec))).expect(201)


async def test_pod_on_a_node_gets_its_grace_period(api: Api, namespace: str) -> None:
    await scheduled_pod(api, namespace, terminationGracePeriodSeconds=17)
    dying = (await api.delete(PODS.at(namespace, "a"))).ok()
    assert dying["kind"] == "Pod"
    assert dying["metadata"]["deletionGracePeriodSeconds"] == 17
    assert dying["metadata"]["deletionTimestamp"] > dying["metadata"]["creationTimestamp"]
    (await api.delete(PODS.at(namespace, "a"), gracePeriodSeconds="0")).ok()
    (await api.get(PODS.at(namespace, "a"))).error(404, "NotFound")


async def test_grace_period_can_be_shortened(api: Api, namespace: str) -> None:
    await scheduled_pod(api, namespace)
    first = (await api.delete(PODS.at(namespace, "a"))).ok()
    shorter = (await api.delete(PODS.at(namespace, "a"), {"gracePeriodSeconds": 5})).ok()
    assert first["metadata"]["deletionGracePeriodSeconds"] == 30
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5


async def test_pod_without_a_node_goes_at_once(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    gone = (await api.delete(PODS.at(namespace, "a"))).ok()
    assert (gone["kind"], gone["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    (await api.get(PODS.at(namespace, "a"))).error(404, "NotFound")
