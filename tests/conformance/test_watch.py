"""Watches: events in order, selectors, bookmarks and the end of a stream."""

import pytest

from tests.conformance.client import Api
from tests.conformance.samples import CUSTOM, Sample


async def version_of(api: Api, sample: Sample, namespace: str) -> str:
    version: str = (await api.get(sample.at(namespace))).ok()["metadata"]["resourceVersion"]
    return version


async def test_changes_arrive_in_order(api: Api, namespace: str, sample: Sample) -> None:
    version = await version_of(api, sample, namespace)
    async with api.watch(sample.at(namespace), resourceVersion=version) as watch:
        created = await sample.create(api, namespace, "a")
        assert await watch.next() == {"type": "ADDED", "object": created}
        patched = (await api.patch(sample.at(namespace, "a"), {"metadata": {"labels": {"x": "y"}}})).ok()
        assert await watch.next() == {"type": "MODIFIED", "object": patched}
        (await api.delete(sample.at(namespace, "a"))).ok()
        event = await watch.next()
    assert event["type"] == "DELETED"
    # The last state, at the version of the deletion, so that a client can go on from there.
    assert event["object"]["metadata"]["labels"] == {"x": "y"}
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(patched["metadata"]["resourceVersion"])


async def test_events_since_a_version_are_replayed(api: Api, namespace: str, sample: Sample) -> None:
    first = await sample.create(api, namespace, "a")
    await sample.create(api, namespace, "b")
    (await api.delete(sample.at(namespace, "a"))).ok()
    async with api.watch(sample.at(namespace), resourceVersion=first["metadata"]["resourceVersion"]) as watch:
        assert [await watch.next_change() for _ in range(2)] == [("ADDED", "b"), ("DELETED", "a")]


@pytest.mark.parametrize("parameters", [{}, {"resourceVersion": "0"}], ids=["unset", "zero"])
async def test_watch_from_nowhere_starts_with_what_there_is(
    api: Api, namespace: str, sample: Sample, parameters: dict[str, str]
) -> None:
    await sample.create(api, namespace, "a")
    await sample.create(api, namespace, "b")
    async with api.watch(sample.at(namespace), **parameters) as watch:
        assert {await watch.next_change(), await watch.next_change()} == {("ADDED", "a"), ("ADDED", "b")}
        await sample.create(api, namespace, "c")
        assert await watch.next_change() == ("ADDED", "c")


async def test_write_without_effect_makes_no_event(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    async with api.watch(sample.at(namespace), resourceVersion=created["metadata"]["resourceVersion"]) as watch:
        (await api.put(sample.at(namespace, "a"), created)).ok()
        await sample.create(api, namespace, "b")
        assert await watch.next_change() == ("ADDED", "b")


async def test_watch_sees_its_namespace_only(api: Api, namespace: str, sample: Sample) -> None:
    version = await version_of(api, sample, namespace)
    async with api.watch(sample.at(namespace), resourceVersion=version) as watch:
        await sample.create(api, "default", namespace)
        await sample.create(api, namespace, "mine")
        assert await watch.next_change() == ("ADDED", "mine")


async def test_watch_over_all_namespaces(api: Api, namespace: str, sample: Sample) -> None:
    version = await version_of(api, sample, namespace)
    selector = f"metadata.namespace={namespace}"
    async with api.watch(sample.at(), resourceVersion=version, fieldSelector=selector) as watch:
        await sample.create(api, "default", namespace)
        await sample.create(api, namespace, "mine")
        assert await watch.next_change() == ("ADDED", "mine")


async def test_watch_of_one_object_by_field_selector(api: Api, namespace: str, sample: Sample) -> None:
    version = await version_of(api, sample, namespace)
    parameters = {"resourceVersion": version, "fieldSelector": "metadata.name=b"}
    async with api.watch(sample.at(namespace), **parameters) as watch:
        await sample.create(api, namespace, "a")
        await sample.create(api, namespace, "b")
        assert await watch.next_change() == ("ADDED", "b")


async def test_object_that_starts_to_match_is_added_and_one_that_stops_is_deleted(
    api: Api, namespace: str, sample: Sample
) -> None:
    created = await sample.create(api, namespace, "a")
    parameters = {"resourceVersion": created["metadata"]["resourceVersion"], "labelSelector": "seen=yes"}
    async with api.watch(sample.at(namespace), **parameters) as watch:
        for labels in ({"other": "1"}, {"seen": "yes"}, {"step": "2"}, {"seen": "no"}, {"seen": "yes"}):
            (await api.patch(sample.at(namespace, "a"), {"metadata": {"labels": labels}})).ok()
        events = [await watch.next() for _ in range(4)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    left = events[2]["object"]["metadata"]
    # The state that last matched, at the version of the change.
    assert left["labels"]["seen"] == "yes"
    assert int(left["resourceVersion"]) > int(events[1]["object"]["metadata"]["resourceVersion"])


async def test_replay_knows_selector_transitions_too(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a", labels={"seen": "yes"})
    (await api.patch(sample.at(namespace, "a"), {"metadata": {"labels": {"seen": "no"}}})).ok()
    parameters = {"resourceVersion": created["metadata"]["resourceVersion"], "labelSelector": "seen=yes"}
    async with api.watch(sample.at(namespace), **parameters) as watch:
        assert await watch.next_change() == ("DELETED", "a")


async def test_server_ends_the_watch_after_the_asked_time(api: Api, namespace: str) -> None:
    await CUSTOM.create(api, namespace, "a")
    async with api.watch(CUSTOM.at(namespace), timeoutSeconds="1") as watch:
        events = await watch.rest()
    assert [event["type"] for event in events] == ["ADDED"]


async def test_bookmark_is_for_clients_that_asked_and_carries_a_version_alone(api: Api, namespace: str) -> None:
    at = CUSTOM.at(namespace)
    # A bookmark comes before the end of a watch at the latest.
    since = {"resourceVersion": await version_of(api, CUSTOM, namespace), "timeoutSeconds": "3"}
    async with api.watch(at, **since) as plain, api.watch(at, **since, allowWatchBookmarks="true") as marked:
        elsewhere = await CUSTOM.create(api, "default", namespace)
        bookmark = await marked.next()
        await CUSTOM.create(api, namespace, "a")
        assert await plain.next_change() == ("ADDED", "a")
    assert bookmark["type"] == "BOOKMARK"
    mark = bookmark["object"]
    assert (mark["kind"], mark["apiVersion"]) == (CUSTOM.resource.kind, CUSTOM.resource.api_version)
    # It tells of progress that the watcher's own objects did not show.
    assert int(mark["metadata"]["resourceVersion"]) >= int(elsewhere["metadata"]["resourceVersion"])
    assert not mark["metadata"].get("name")


async def test_initial_events_end_with_a_bookmark(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    parameters = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    async with api.watch(sample.at(namespace), **parameters) as watch:
        assert await watch.next_change() == ("ADDED", "a")
        end = await watch.next()
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_initial_events_want_a_match(api: Api, namespace: str, sample: Sample) -> None:
    reply = await api.get(sample.at(namespace), watch="true", sendInitialEvents="true")
    status = reply.error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "resourceVersionMatch"


async def test_watch_is_announced_as_a_stream_of_json(api: Api, namespace: str, sample: Sample) -> None:
    async with api.watch(sample.at(namespace)) as watch:
        assert watch.content_type == "application/json"


@pytest.mark.parametrize("timeout", ["soon", "1.5"])
async def test_time_that_is_no_number(api: Api, namespace: str, sample: Sample, timeout: str) -> None:
    (await api.get(sample.at(namespace), watch="true", timeoutSeconds=timeout)).error(400, "BadRequest")
