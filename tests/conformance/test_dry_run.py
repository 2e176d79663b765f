"""`dryRun=All`: everything is checked and answered, nothing is kept."""

from tests.conformance.builders import local_queue
from tests.conformance.client import APPLY_PATCH, JSON_PATCH, Api, Obj
from tests.conformance.resources import LOCAL_QUEUES, WORKLOADS
from tests.conformance.samples import Sample


async def state(api: Api, sample: Sample, namespace: str) -> list[Obj]:
    items: list[Obj] = (await api.get(sample.at(namespace))).ok()["items"]
    return items


async def test_create_is_answered_but_not_kept(api: Api, namespace: str, sample: Sample) -> None:
    created = (await api.post(sample.at(namespace), sample.build("a"), dryRun="All")).expect(201)
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"]
    assert not created["metadata"].get("resourceVersion")
    assert await state(api, sample, namespace) == []


async def test_changes_are_answered_but_not_kept(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    at, labels = sample.at(namespace, "a"), {"x": "y"}
    changed = {**created, "metadata": {**created["metadata"], "labels": labels}}
    replies = [
        await api.put(at, changed, dryRun="All"),
        await api.patch(at, {"metadata": {"labels": labels}}, dryRun="All"),
        await api.patch(at, [{"op": "add", "path": "/metadata/labels", "value": labels}], JSON_PATCH, dryRun="All"),
        await api.apply(at, sample.build("a", metadata={"labels": labels}), "one", dryRun="All"),
    ]
    for reply in replies:
        assert reply.ok()["metadata"]["labels"] == labels
        assert reply.body["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert await state(api, sample, namespace) == [created]


async def test_apply_of_a_new_object_is_not_kept(api: Api, namespace: str, sample: Sample) -> None:
    (await api.apply(sample.at(namespace, "a"), sample.build("a"), "one", dryRun="All")).expect(201)
    assert await state(api, sample, namespace) == []


async def test_deletions_are_answered_but_not_done(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    (await api.delete(sample.at(namespace, "a"), dryRun="All")).ok()
    (await api.delete(sample.at(namespace, "a"), {"dryRun": ["All"]})).ok()
    (await api.delete(sample.at(namespace), dryRun="All")).ok()
    assert await state(api, sample, namespace) == [created]


async def test_errors_are_told_as_usual(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.post(sample.at(namespace), sample.build("a"), dryRun="All")).error(409, "AlreadyExists")
    (await api.delete(sample.at(namespace, "ghost"), dryRun="All")).error(404, "NotFound")
    bad = local_queue("b", stopPolicy="Sometimes")
    (await api.post(LOCAL_QUEUES.at(namespace), bad, dryRun="All")).error(422, "Invalid")


async def test_only_all_is_known(api: Api, namespace: str, sample: Sample) -> None:
    status = (await api.post(sample.at(namespace), sample.build("a"), dryRun="Some")).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "dryRun"
    assert await state(api, sample, namespace) == []
    (await api.patch(WORKLOADS.at(namespace, "a"), {}, APPLY_PATCH, dryRun="Some", fieldManager="x")).error(
        422, "Invalid"
    )
