"""Metadata that belongs to the server, and what an update may do to the rest."""

from typing import Any

import pytest

from tests.conformance.client import Api
from tests.conformance.samples import Sample

OWNER = {"apiVersion": "v1", "kind": "Secret", "name": "o", "uid": "22222222-2222-2222-2222-222222222222"}


async def test_creation_timestamp_cannot_be_changed(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    patch = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}
    reply = await api.patch(sample.at(namespace, "a"), patch)
    assert reply.status in {200, 422}
    found = (await api.get(sample.at(namespace, "a"))).ok()
    assert found["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]


async def test_name_cannot_be_patched(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.patch(sample.at(namespace, "a"), {"metadata": {"name": "b"}})).error(400, "BadRequest")


async def test_uid_cannot_be_patched(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    patch = {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}}
    status = (await api.patch(sample.at(namespace, "a"), patch)).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.uid"
    assert "field is immutable" in status["message"]


@pytest.mark.parametrize("field", ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"])
async def test_server_owned_field_stays_as_it_is(api: Api, namespace: str, sample: Sample, field: str) -> None:
    await sample.create(api, namespace, "a")
    value: object = 5 if field.endswith("Seconds") else "2001-01-01T00:00:00Z"
    assert (await api.patch(sample.at(namespace, "a"), {"metadata": {field: value}})).status in {200, 422}
    found = (await api.get(sample.at(namespace, "a"))).ok()
    assert field not in found["metadata"]


async def test_owner_references_can_be_set_and_removed(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", ownerReferences=[OWNER])
    found = (await api.get(sample.at(namespace, "a"))).ok()
    assert found["metadata"]["ownerReferences"] == [OWNER]
    patched = (await api.patch(sample.at(namespace, "a"), {"metadata": {"ownerReferences": None}})).ok()
    assert "ownerReferences" not in patched["metadata"]


@pytest.mark.parametrize(
    "references",
    [
        [{key: value for key, value in OWNER.items() if key != "uid"}],
        [OWNER | {"uid": ""}],
        [OWNER | {"kind": ""}],
        [OWNER | {"apiVersion": ""}],
        [OWNER | {"apiVersion": "v1", "kind": "Event"}],
        [OWNER | {"controller": True}, OWNER | {"uid": "3", "controller": True}],
    ],
    ids=["no uid", "empty uid", "empty kind", "empty version", "an event as owner", "two controllers"],
)
async def test_bad_owner_references_are_invalid(
    api: Api, namespace: str, sample: Sample, references: list[dict[str, Any]]
) -> None:
    built = sample.build("a", metadata={"ownerReferences": references})
    status = (await api.post(sample.at(namespace), built)).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"].startswith("metadata.ownerReferences")


async def test_annotations_are_limited_in_total(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build("a", metadata={"annotations": {"big": "x" * (256 * 1024)}})
    status = (await api.post(sample.at(namespace), built)).error(422, "Invalid")
    assert "Too long: may not be more than 262144 bytes" in status["message"]


async def test_label_that_is_no_string_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    reply = await api.post(sample.at(namespace), sample.build("a", metadata={"labels": {"a": 5}}))
    assert reply.status in {400, 422}
