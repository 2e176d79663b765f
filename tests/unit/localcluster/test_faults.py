"""Injected trouble, as a client meets it."""

import asyncio

import aiohttp
import orjson
import pytest

from localcluster.cluster import LocalCluster, Partition
from localcluster.kinds.clock import ManualClock
from localcluster.serving.faults import (
    Drop,
    Effect,
    Gone,
    HalfOpen,
    Latency,
    RawAnswer,
    ServerError,
    StaleList,
    Throttle,
)
from tests.unit.localcluster.serving import WIDGET, session_for, until, widget

PATH = "/apis/example.dev/v1/namespaces/default/widgets"


async def create(client: aiohttp.ClientSession, name: str) -> tuple[int, dict[str, str]]:
    async with client.post(PATH, json=widget(name)) as response:
        await response.read()
        return response.status, dict(response.headers)


async def list_names(client: aiohttp.ClientSession) -> list[str]:
    async with client.get(PATH) as response:
        assert response.status == 200, await response.text()
        return [item["metadata"]["name"] for item in (await response.json())["items"]]


async def test_a_fault_strikes_what_it_names_as_often_as_it_says(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    fault = cluster.faults.add(Throttle(retry_after=7), verb="create", plural="widgets", times=2)

    assert await list_names(client) == []
    answers = [await create(client, "a") for _ in range(3)]

    assert [status for status, _ in answers] == [429, 429, 201]
    assert answers[0][1]["Retry-After"] == "7"
    assert fault.hits == 2
    assert not cluster.faults


async def test_a_removed_fault_strikes_no_more(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    fault = cluster.faults.add(ServerError())

    assert (await create(client, "a"))[0] == 500
    cluster.faults.remove(fault)
    cluster.faults.remove(fault)
    assert (await create(client, "a"))[0] == 201


@pytest.mark.parametrize(
    ("effect", "want_code", "want_reason"),
    [
        pytest.param(Throttle(), 429, "TooManyRequests", id="throttled"),
        pytest.param(ServerError("disk on fire"), 500, "InternalError", id="server error"),
        pytest.param(Gone(), 410, "Expired", id="history gone"),
    ],
)
async def test_refusals_are_status_objects(
    cluster: LocalCluster, client: aiohttp.ClientSession, effect: Effect, want_code: int, want_reason: str
) -> None:
    cluster.faults.add(effect, verb="list")

    async with client.get(PATH) as response:
        body = await response.json()

    assert (response.status, body["code"], body["reason"]) == (want_code, want_code, want_reason)


async def test_latency_passes_on_the_clusters_clock(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    cluster.faults.add(Latency(30), verb="list")
    async with asyncio.TaskGroup() as group:
        answer = group.create_task(list_names(client))
        await until(clock.has_alarms)
        assert not answer.done()
        clock.advance(30)
    assert answer.result() == []


async def test_a_stale_list_shows_an_older_state_and_its_version(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    await create(client, "a")
    revision = cluster.store.ledger.revision
    await create(client, "b")
    cluster.faults.add(StaleList(revision), times=1)

    async with client.get(PATH) as response:
        stale = await response.json()

    assert [item["metadata"]["name"] for item in stale["items"]] == ["a"]
    assert stale["metadata"]["resourceVersion"] == str(revision)
    assert await list_names(client) == ["a", "b"]


async def test_history_gone_on_a_watch_is_its_first_event(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    cluster.faults.add(Gone(), verb="watch")

    async with client.get(PATH, params={"watch": "1", "resourceVersion": "4"}) as response:
        lines = (await response.read()).splitlines()

    assert response.status == 200
    assert [orjson.loads(line)["object"]["code"] for line in lines] == [410]


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_a_dropped_connection_is_a_network_error(
    cluster: LocalCluster, client: aiohttp.ClientSession, verb: str
) -> None:
    fault = cluster.faults.add(Drop(), verb=verb)

    with pytest.raises(aiohttp.ClientError):
        await client.get(PATH, params={"watch": "1"} if verb == "watch" else {})
    cluster.faults.remove(fault)
    assert await list_names(client) == []


async def test_a_watch_can_break_after_some_events(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    await create(client, "a")
    cluster.faults.add(Drop(after_chunks=1), verb="watch")

    async with client.get(PATH, params={"watch": "1"}) as response:
        assert b'"ADDED"' in await response.content.readline()
        with pytest.raises(aiohttp.ClientError):
            await response.content.readline()


async def test_open_watches_can_be_broken(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    async with client.get(PATH, params={"watch": "1"}) as response:
        assert cluster.drop_watches("workloads") == 0
        assert cluster.drop_watches("widgets") == 1
        with pytest.raises(aiohttp.ClientError):
            await response.content.readline()


async def test_any_bytes_can_be_the_answer(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    cluster.faults.add(RawAnswer(b"HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nno"), verb="list", times=1)

    async with client.get(PATH) as response:
        assert (response.status, response.reason, await response.read()) == (299, "Odd", b"no")
    assert await list_names(client) == []


async def test_a_half_open_socket_never_answers(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    fault = cluster.faults.add(HalfOpen(), verb="list")

    with pytest.raises(TimeoutError):
        await client.get(PATH, timeout=aiohttp.ClientTimeout(total=0.05))
    cluster.faults.remove(fault)
    assert await list_names(client) == []


async def test_a_half_open_watch_falls_silent_after_some_events(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    await create(client, "a")
    cluster.faults.add(HalfOpen(after_chunks=1), verb="watch")

    async with client.get(PATH, params={"watch": "1"}) as response:
        assert b'"ADDED"' in await response.content.readline()
        cluster.store.create(WIDGET, widget("b"), "default")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await response.content.readline()


async def test_a_frozen_cluster_keeps_connections_and_says_nothing(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    async with client.get(PATH, params={"watch": "1"}) as watch:
        cluster.freeze()
        cluster.store.create(WIDGET, widget("a"), "default")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await watch.content.readline()
        with pytest.raises(TimeoutError):
            await client.get(PATH, timeout=aiohttp.ClientTimeout(total=0.05))
        cluster.thaw()
        with pytest.raises(aiohttp.ClientError):
            await watch.content.readline()
    assert await list_names(client) == ["a"]


@pytest.mark.parametrize(
    ("how", "want_error"),
    [(Partition.REFUSED, aiohttp.ClientConnectorError), (Partition.BLACK_HOLE, TimeoutError)],
)
async def test_a_partitioned_cluster_comes_back_on_the_same_port(
    cluster: LocalCluster, how: Partition, want_error: type[Exception]
) -> None:
    async with session_for(cluster) as client:
        await create(client, "a")
        url = cluster.url
        await cluster.partition(how)
        with pytest.raises(want_error):
            await client.get(PATH, timeout=aiohttp.ClientTimeout(total=0.2))
        await cluster.heal()
        assert cluster.url == url
        assert await list_names(client) == ["a"]


async def test_a_skewed_clock_shows_in_objects_and_in_the_date_header(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    clock.advance(86_400)

    _, headers = await create(client, "a")

    made = cluster.store.get(WIDGET, "a", "default")
    assert made["metadata"]["creationTimestamp"] == "2026-01-02T12:00:00Z"
    assert headers["Date"] == "Fri, 02 Jan 2026 12:00:00 GMT"
