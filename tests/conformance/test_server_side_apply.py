"""Server-side apply: who owns which field, conflicts, force, and fields that are no longer applied."""

from typing import Any

import pytest

from tests.conformance.builders import an_object, condition, job, local_queue, pod_spec, workload
from tests.conformance.client import APPLY_PATCH, Api, Obj
from tests.conformance.resources import COHORTS, JOBS, LOCAL_QUEUES, WORKLOADS
from tests.conformance.samples import Sample


def owners(obj: Obj) -> dict[tuple[str, str, str], Any]:
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


def labelled(sample: Sample, **labels: str) -> Obj:
    return sample.build("a", metadata={"labels": labels})


async def test_apply_creates_a_missing_object(api: Api, namespace: str, sample: Sample) -> None:
    applied = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    assert applied["metadata"]["labels"] == {"x": "1"}
    (entry,) = applied["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")
    assert (entry["apiVersion"], entry["fieldsType"]) == (sample.resource.api_version, "FieldsV1")
    assert entry["fieldsV1"]["f:metadata"] == {"f:labels": {"f:x": {}}}
    assert entry["time"]


async def test_apply_again_without_change_keeps_the_resource_version(api: Api, namespace: str, sample: Sample) -> None:
    first = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    again = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).ok()
    assert again == first


async def test_fields_no_longer_applied_are_removed(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, kept="1", gone="1"), "one")).expect(201)
    applied = (await api.apply(sample.at(namespace, "a"), labelled(sample, kept="1"), "one")).ok()
    assert applied["metadata"]["labels"] == {"kept": "1"}


async def test_fields_of_others_are_left_alone(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    (await api.apply(sample.at(namespace, "a"), labelled(sample, y="1"), "two")).ok()
    applied = (await api.apply(sample.at(namespace, "a"), labelled(sample), "one")).ok()
    assert applied["metadata"]["labels"] == {"y": "1"}


async def test_same_value_is_owned_together(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    both = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "two")).ok()
    for manager in ("one", "two"):
        assert "f:x" in owners(both)[manager, "Apply", ""]["f:metadata"]["f:labels"]
    left = (await api.apply(sample.at(namespace, "a"), labelled(sample), "one")).ok()
    assert left["metadata"]["labels"] == {"x": "1"}


async def test_other_value_is_a_conflict_that_names_field_and_manager(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    status = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="2"), "two")).error(409, "Conflict")
    assert status["message"] == 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.x'
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".metadata.labels.x"}
    ]
    found = (await api.get(sample.at(namespace, "a"))).ok()
    assert found["metadata"]["labels"] == {"x": "1"}


async def test_conflicts_are_all_told_at_once(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1", y="1"), "one")).expect(201)
    reply = await api.apply(sample.at(namespace, "a"), labelled(sample, x="2", y="2"), "two")
    status = reply.error(409, "Conflict")
    assert status["message"].startswith('Apply failed with 2 conflicts: conflicts with "one":')
    assert {cause["field"] for cause in status["details"]["causes"]} == {".metadata.labels.x", ".metadata.labels.y"}


async def test_force_takes_the_field_over(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    taken = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="2"), "two", force="true")).ok()
    assert taken["metadata"]["labels"] == {"x": "2"}
    assert "f:labels" not in owners(taken).get(("one", "Apply", ""), {}).get("f:metadata", {})
    assert "f:x" in owners(taken)["two", "Apply", ""]["f:metadata"]["f:labels"]


async def test_plain_writes_own_what_they_change(api: Api, namespace: str, sample: Sample) -> None:
    created = (await api.post(sample.at(namespace), labelled(sample, x="1"), fieldManager="poster")).expect(201)
    assert owners(created)["poster", "Update", ""]["f:metadata"]["f:labels"] == {".": {}, "f:x": {}}
    patch = {"metadata": {"labels": {"x": "2"}}}
    patched = (await api.patch(sample.at(namespace, "a"), patch, fieldManager="patcher")).ok()
    assert owners(patched)["patcher", "Update", ""]["f:metadata"]["f:labels"] == {"f:x": {}}
    assert "f:x" not in owners(patched)["poster", "Update", ""].get("f:metadata", {}).get("f:labels", {})


async def test_object_without_fields_has_no_owners(api: Api, unique: str) -> None:
    created = (await api.post(COHORTS.at(), an_object(COHORTS, unique))).expect(201)
    assert "managedFields" not in created["metadata"]


async def test_apply_against_a_plain_write_is_a_conflict_too(api: Api, namespace: str, sample: Sample) -> None:
    (await api.post(sample.at(namespace), labelled(sample, x="1"), fieldManager="poster")).expect(201)
    status = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="2"), "one")).error(409, "Conflict")
    version = sample.resource.api_version
    assert status["details"]["causes"][0]["message"].startswith(f'conflict with "poster" using {version}')


async def test_plain_write_takes_an_applied_field_without_asking(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1", y="1"), "one")).expect(201)
    patch = {"metadata": {"labels": {"x": "2"}}}
    patched = (await api.patch(sample.at(namespace, "a"), patch, fieldManager="patcher")).ok()
    assert owners(patched)["one", "Apply", ""]["f:metadata"]["f:labels"] == {"f:y": {}}
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1", y="1"), "one")).error(409, "Conflict")


async def test_field_manager_is_required_for_apply(api: Api, namespace: str, sample: Sample) -> None:
    reply = await api.patch(sample.at(namespace, "a"), labelled(sample), APPLY_PATCH)
    status = reply.error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "fieldManager"
    assert "is required for apply patch" in status["message"]


async def test_force_is_for_apply_only(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    status = (await api.patch(sample.at(namespace, "a"), {}, force="true")).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "force"


@pytest.mark.parametrize("manager", ["x" * 129, "line\nbreak"], ids=["too long", "unprintable"])
async def test_bad_field_manager(api: Api, namespace: str, sample: Sample, manager: str) -> None:
    status = (await api.apply(sample.at(namespace, "a"), labelled(sample), manager)).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "fieldManager"


async def test_managed_fields_must_not_be_applied(api: Api, namespace: str, sample: Sample) -> None:
    applied = (await api.apply(sample.at(namespace, "a"), labelled(sample), "one")).expect(201)
    (await api.apply(sample.at(namespace, "a"), applied, "one")).error(400, "BadRequest")


async def test_managed_fields_can_be_reset(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    reset = (await api.patch(sample.at(namespace, "a"), {"metadata": {"managedFields": [{}]}})).ok()
    assert "managedFields" not in reset["metadata"]


async def test_apply_under_another_name_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "b"), labelled(sample), "one")).error(400, "BadRequest")


async def test_apply_with_a_stale_resource_version_is_a_conflict(api: Api, namespace: str, sample: Sample) -> None:
    first = (await api.apply(sample.at(namespace, "a"), labelled(sample, x="1"), "one")).expect(201)
    (await api.apply(sample.at(namespace, "a"), labelled(sample, x="2"), "one")).ok()
    stale = labelled(sample, x="3")
    stale["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    (await api.apply(sample.at(namespace, "a"), stale, "one")).error(409, "Conflict")


async def test_applied_object_must_be_valid(api: Api, namespace: str) -> None:
    (await api.apply(LOCAL_QUEUES.at(namespace, "a"), local_queue("a", stopPolicy="Sometimes"), "one")).error(
        422, "Invalid"
    )


async def test_unknown_field_cannot_be_applied(api: Api, namespace: str) -> None:
    built = local_queue("a", nosuch="x")
    reply = await api.apply(LOCAL_QUEUES.at(namespace, "a"), built, "one")
    # No manager could own it. A real server calls this an internal error; that it names the field is what counts.
    assert reply.status in {400, 422, 500}
    assert ".spec.nosuch: field not declared in schema" in reply.body["message"]


async def test_applied_yaml(api: Api, namespace: str) -> None:
    body = b"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: a
spec:
  clusterQueue: cq # with a comment
"""
    applied = (await api.apply(LOCAL_QUEUES.at(namespace, "a"), body, "one")).expect(201)
    assert applied["spec"]["clusterQueue"] == "cq"


def conditions_only(*kinds: str, status: str = "True") -> Obj:
    conditions = [condition(kind, status) for kind in kinds]
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": "a"},
        "status": {"conditions": conditions},
    }


async def test_list_elements_are_owned_by_their_key(api: Api, namespace: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    at = WORKLOADS.at(namespace, "a", "status")
    (await api.apply(at, conditions_only("Mine"), "one")).ok()
    both = (await api.apply(at, conditions_only("Theirs"), "two")).ok()
    assert [each["type"] for each in both["status"]["conditions"]] == ["Mine", "Theirs"]
    assert owners(both)["one", "Apply", "status"]["f:status"] == {
        "f:conditions": {
            'k:{"type":"Mine"}': {
                ".": {},
                "f:lastTransitionTime": {},
                "f:message": {},
                "f:reason": {},
                "f:status": {},
                "f:type": {},
            }
        }
    }
    left = (await api.apply(at, conditions_only(), "one")).ok()
    assert [each["type"] for each in left["status"]["conditions"]] == ["Theirs"]


async def test_conflict_on_a_list_element_names_its_key(api: Api, namespace: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    at = WORKLOADS.at(namespace, "a", "status")
    (await api.apply(at, conditions_only("Mine"), "one")).ok()
    status = (await api.apply(at, conditions_only("Mine", status="False"), "two")).error(409, "Conflict")
    assert status["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one" with subresource "status"',
            "field": '.status.conditions[type="Mine"].status',
        }
    ]


async def test_applying_status_does_not_touch_spec(api: Api, namespace: str) -> None:
    created = (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    body = conditions_only("Mine") | {"spec": {"priority": 9}}
    applied = (await api.apply(WORKLOADS.at(namespace, "a", "status"), body, "one")).ok()
    assert applied["spec"] == created["spec"]
    assert "f:spec" not in owners(applied)["one", "Apply", "status"]


async def test_status_cannot_be_applied_to_a_missing_object(api: Api, namespace: str) -> None:
    reply = await api.apply(WORKLOADS.at(namespace, "a", "status"), conditions_only("Mine"), "one")
    reply.error(404, "NotFound")


async def test_same_manager_owns_main_and_status_apart(api: Api, namespace: str) -> None:
    (await api.apply(WORKLOADS.at(namespace, "a"), workload("a", priority=1), "one")).expect(201)
    (await api.apply(WORKLOADS.at(namespace, "a", "status"), conditions_only("Mine"), "one")).ok()
    applied = (await api.apply(WORKLOADS.at(namespace, "a"), workload("a"), "one")).ok()
    assert "priority" not in applied["spec"]
    assert [each["type"] for each in applied["status"]["conditions"]] == ["Mine"]


async def test_atomic_list_is_owned_as_a_whole(api: Api, namespace: str) -> None:
    template = {
        "spec": pod_spec(restartPolicy="Never", containers=[{"name": "c", "image": "i", "command": ["a", "b"]}])
    }
    applied = (await api.apply(JOBS.at(namespace, "a"), job("a", template=template), "one")).expect(201)
    containers = owners(applied)["one", "Apply", ""]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert containers['k:{"name":"c"}']["f:command"] == {}


async def test_duplicate_keys_in_an_applied_list_are_refused(api: Api, namespace: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    reply = await api.apply(WORKLOADS.at(namespace, "a", "status"), conditions_only("Mine", "Mine"), "one")
    assert reply.status in {400, 422, 500}
    assert "status.conditions" in reply.body["message"]
    assert "uplicate" in reply.body["message"]
