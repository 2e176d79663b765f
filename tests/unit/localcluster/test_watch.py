"""Watches over HTTP: where they begin, what selectors show, how they end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import ManualClock
from localcluster.store.patch import merge_patch
from tests.unit.localcluster.serving import WIDGET, until, widget

PATH = "/apis/example.dev/v1/namespaces/default/widgets"


class Stream:
    """The events of one watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def event(self) -> Any:
        """Return the next event, None at the end."""
        async with asyncio.timeout(60):
            line = await self.response.content.readline()
        return orjson.loads(line) if line else None

    async def told(self) -> str:
        """Return the next event as "TYPE name"."""
        event = await self.event()
        return f"{event['type']} {event['object']['metadata']['name']}"


@asynccontextmanager
async def watching(client: aiohttp.ClientSession, **params: str) -> AsyncIterator[Stream]:
    async with client.get(PATH, params={"watch": "true", **params}) as response:
        assert response.status == 200
        yield Stream(response)


def create(cluster: LocalCluster, name: str, **labels: str) -> str:
    obj = widget(name)
    obj["metadata"]["labels"] = labels
    return str(cluster.store.create(WIDGET, obj, "default").version.revision)


def relabel(cluster: LocalCluster, name: str, **labels: str | None) -> None:
    patch = {"metadata": {"labels": labels}}
    cluster.store.patch(WIDGET, name, lambda obj: merge_patch(obj, patch), "default")


async def test_without_a_version_the_present_comes_first(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    create(cluster, "a")
    create(cluster, "b")
    async with watching(client) as stream:
        assert [await stream.told(), await stream.told()] == ["ADDED a", "ADDED b"]
        create(cluster, "c")
        assert await stream.told() == "ADDED c"


async def test_from_a_version_every_later_change_comes(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    revision = create(cluster, "a")
    create(cluster, "b")
    async with watching(client, resourceVersion=revision) as stream:
        assert await stream.told() == "ADDED b"
        relabel(cluster, "a", x="y")
        cluster.store.delete(WIDGET, "b", "default")
        assert await stream.told() == "MODIFIED a"
        deleted = await stream.event()
    assert deleted["type"] == "DELETED"
    assert deleted["object"]["metadata"]["resourceVersion"] == str(cluster.store.ledger.revision)


async def test_a_selector_turns_changes_into_comings_and_goings(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    revision = create(cluster, "a")
    async with watching(client, resourceVersion=revision, labelSelector="team=x") as stream:
        relabel(cluster, "a", team="x")
        relabel(cluster, "a", other="1")
        relabel(cluster, "a", team="y")
        relabel(cluster, "a", other="2")
        cluster.store.delete(WIDGET, "a", "default")
        create(cluster, "b", team="x")
        events = [await stream.event() for _ in range(4)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    assert events[2]["object"]["metadata"]["labels"]["team"] == "x", "a leaver is shown as he was last seen"
    assert events[3]["object"]["metadata"]["name"] == "b"


async def test_other_namespaces_are_not_shown(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    cluster.store.create(WIDGET, widget("elsewhere"), "kube-system")
    create(cluster, "here")
    async with watching(client) as stream:
        assert await stream.told() == "ADDED here"


async def test_forgotten_history_is_told_as_an_error_event(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    revision = create(cluster, "a")
    for number in range(60):
        relabel(cluster, "a", x=str(number))
    async with watching(client, resourceVersion=revision) as stream:
        event = await stream.event()
        assert await stream.event() is None
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


async def test_a_version_of_the_future_is_an_error_after_a_short_wait(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    async with asyncio.TaskGroup() as group:
        answer = group.create_task(_first_event(client, "1000000"))
        await until(clock.has_alarms)
        clock.advance(3)
    event = answer.result()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert event["object"]["message"].startswith("Timeout: Too large resource version: 1000000, current: ")


async def _first_event(client: aiohttp.ClientSession, revision: str) -> Any:
    async with watching(client, resourceVersion=revision) as stream:
        return await stream.event()


async def test_a_version_that_comes_while_waiting_is_served(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    awaited = cluster.store.ledger.revision + 1
    async with asyncio.TaskGroup() as group:
        answer = group.create_task(client.get(PATH, params={"resourceVersion": str(awaited)}))
        await until(clock.has_alarms)
        create(cluster, "a")
    async with answer.result() as response:
        assert (await response.json())["items"][0]["metadata"]["name"] == "a"


async def test_the_timeout_ends_the_watch_on_the_clusters_clock(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    async with watching(client, timeoutSeconds="5") as stream:
        clock.advance(5)
        assert await stream.event() is None


async def test_bookmarks_come_every_minute_and_shortly_before_the_end(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    revision = create(cluster, "a")
    async with watching(client, resourceVersion=revision, allowWatchBookmarks="true", timeoutSeconds="100") as stream:
        clock.advance(60)
        first = await stream.event()
        clock.advance(39)
        second = await stream.event()
    assert [first["type"], second["type"]] == ["BOOKMARK", "BOOKMARK"]
    assert first["object"]["kind"] == "Widget"
    assert first["object"]["metadata"] == {"resourceVersion": revision}


async def test_initial_events_end_with_a_marked_bookmark(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    create(cluster, "a")
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with watching(client, **params) as stream:
        assert await stream.told() == "ADDED a"
        bookmark = await stream.event()
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_slow_reader_is_cut_off_and_the_others_are_not(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    heavy = "x" * 200_000
    async with watching(client) as slow, watching(client) as quick:
        received = 0
        for number in range(200):
            if cluster.watch_count("widgets") < 2:
                break
            obj = widget(f"w-{number}")
            obj["metadata"]["annotations"] = {"heavy": heavy}
            cluster.store.create(WIDGET, obj, "default")
            assert await quick.told() == f"ADDED w-{number}"
            received += 1
        assert cluster.watch_count("widgets") == 1
        with pytest.raises(aiohttp.ClientError):
            await slow.response.content.read()
    assert 20 <= received < 200


async def test_a_reader_who_leaves_is_forgotten(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    async with watching(client):
        assert cluster.watch_count() == 1
    await until(lambda: cluster.watch_count() == 0)
