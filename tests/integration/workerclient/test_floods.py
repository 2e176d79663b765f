"""A cluster that shows too much: it is lost with that text, and takes neither the loop nor the memory of others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from tests.integration.workerclient.raw_server import serving
from tests.support.clusters import CONFIG_MAPS, Setting, Story, told_to
from tests.support.virtual_time import VirtualClock, until
from workerclient.base.holdings import HoldingLimits, too_many_bytes, too_many_objects
from workerclient.base.kind import ApiKind
from workerclient.base.turns import BYTES, ITEMS
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.objects.connection_report import ConnectionState
from workerclient.objects.watched import WatchedKind

PAGE_BYTES = 1 << 20


def config_map(number: int, version: int = 1, size: int = 0) -> Obj:
    metadata = {"name": f"n{number}", "namespace": "default", "uid": f"u{number}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "x" * size}}


def page_of(items: list[Obj], token: str = "", version: int = 1) -> bytes:
    metadata = {"resourceVersion": str(version), "continue": token}
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items})


def event(number: int, kind: str = "ADDED", version: int = 2, size: int = 0) -> bytes:
    return orjson.dumps({"type": kind, "object": config_map(number, version, size)}) + b"\n"


EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'


class Cluster:
    """Pages and watches as a test makes them up."""

    def __init__(self, page: Callable[[int, str], bytes], watched: bytes = b"") -> None:
        self._page = page
        self._watched = watched
        self.limits: list[int] = []
        self.expired = asyncio.Event()
        """Ends one watch: what it was to go on from is no longer known."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.query.get("watch") != "true":
            self.limits.append(int(request.query["limit"]))
            body = self._page(self.limits[-1], request.query.get("continue", ""))
            return web.Response(body=body, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if self._watched:
            await response.write(self._watched)
        await self.expired.wait()
        self.expired.clear()
        await response.write(EXPIRED)
        return response


@asynccontextmanager
async def following(cluster: Cluster, directory: Path, limits: ClientLimits | None = None) -> AsyncIterator[Story[Obj]]:
    async with serving(cluster.answer, directory) as access:
        story = told_to(Setting(limits=limits or ClientLimits()), access, "odd")
        async with story.client.running():
            yield story


def holding(objects: int, size: int = 1 << 30) -> ClientLimits:
    return ClientLimits(holdings=lambda: HoldingLimits(objects, size))


async def test_F12_more_items_than_were_asked_for_are_not_believed(tmp_path: Path) -> None:
    cluster = Cluster(lambda limit, _token: page_of([config_map(n) for n in range(limit + 1)]))
    async with following(cluster, tmp_path) as story:
        await story.lost()
        limit = cluster.limits[0]
        assert f"expected at most {limit} items in a page of the list, got {limit + 1}" in story.client.report.message
        assert len(story.followed.cache) == 0
        assert story.changes == []


async def test_F12_a_list_that_goes_round_in_circles_is_given_up(tmp_path: Path) -> None:
    cluster = Cluster(lambda _limit, _token: page_of([], "again"))
    async with following(cluster, tmp_path) as story:
        await story.lost()
        assert "the list repeats an earlier continue token" in story.client.report.message


async def test_F12_a_list_of_empty_parts_without_end_is_given_up(tmp_path: Path) -> None:
    cluster = Cluster(lambda _limit, token: page_of([], str(int(token or "0") + 1)))
    async with following(cluster, tmp_path) as story:
        while story.connection is not ConnectionState.LOST:
            await story.clock.advance(1)
            await asyncio.sleep(0.001)
        assert "the list does not end: 1001 pages with 0 items" in story.client.report.message


async def test_F12_a_list_of_new_objects_without_end_is_given_up_and_leaves_nothing(tmp_path: Path) -> None:
    """The names are others each time, so that what a list leaves behind would grow with each attempt."""
    told = 0

    def page(limit: int, token: str) -> bytes:
        nonlocal told
        told += limit
        return page_of([config_map(told - n) for n in range(limit)], str(int(token or "0") + 1))

    cluster = Cluster(page)
    async with following(cluster, tmp_path, holding(1000)) as story:
        await story.lost()
        assert too_many_objects(1000) in story.client.report.message
        for _ in range(5):
            asked = len(cluster.limits)
            while len(cluster.limits) == asked:
                await story.clock.advance(1)
                await asyncio.sleep(0.001)
        await until(lambda: story.connection is ConnectionState.LOST)
        assert len(story.followed.cache) == 0


async def test_F12_objects_of_more_bytes_than_the_limit_are_given_up(tmp_path: Path) -> None:
    cluster = Cluster(lambda _limit, _token: page_of([config_map(n, size=1000) for n in range(20)]))
    async with following(cluster, tmp_path, holding(1000, 20_000)) as story:
        await story.lost()
        assert too_many_bytes(20000) in story.client.report.message


async def test_F12_a_watch_that_shows_more_than_the_limit_is_given_up(tmp_path: Path) -> None:
    cluster = Cluster(lambda _limit, _token: page_of([]), b"".join(event(n) for n in range(150)))
    async with following(cluster, tmp_path, holding(100)) as story:
        await until(lambda: story.followed.reflector.counts.garbage)
        assert len(story.followed.cache) <= 100


async def test_F12_what_is_gone_makes_room(tmp_path: Path) -> None:
    flow = b"".join(event(n, version=2 * n + 2) + event(n, "DELETED", 2 * n + 3) for n in range(500))
    cluster = Cluster(lambda _limit, _token: page_of([]), flow + event(1000, version=5000))
    async with following(cluster, tmp_path, holding(1)) as story:
        await until(lambda: story.followed.cache.get(ObjectKey("default", "n1000")) is not None)
        assert story.connection is ConnectionState.CONNECTED
        assert story.followed.reflector.counts.garbage == 0


async def test_F12_a_cluster_replaced_by_another_of_the_same_size_is_not_too_much(tmp_path: Path) -> None:
    base = 0
    cluster = Cluster(
        lambda _limit, _token: page_of([config_map(base + n, 1 + base) for n in range(90)], version=1 + base)
    )
    async with following(cluster, tmp_path, holding(100)) as story:
        await story.connected()
        base = 1000
        cluster.expired.set()
        await until(lambda: story.followed.cache.get(ObjectKey("default", "n1000")) is not None)
        await story.connected()
        assert len(story.followed.cache) == 90


@pytest.mark.parametrize("size", [300, 5_000, 60_000, 800_000])
async def test_F12_parts_of_a_list_are_as_long_as_can_be_parsed_in_one_piece(tmp_path: Path, size: int) -> None:
    total = min(1200, 8_000_000 // size)
    sizes: list[tuple[int, int]] = []

    def page(limit: int, token: str) -> bytes:
        first = int(token or "0")
        items = [config_map(n, size=size) for n in range(first, min(total, first + limit))]
        body = page_of(items, str(first + limit) if first + limit < total else "")
        sizes.append((limit, len(body)))
        return body

    cluster = Cluster(page)
    async with following(cluster, tmp_path) as story:
        await story.connected()
        assert len(story.followed.cache) == total
        taken = [body for limit, body in sizes if body <= PAGE_BYTES or limit == 1]
        assert len(sizes) - len(taken) <= 8, "once too large, it is known how large they are"
        assert max(limit for limit, _ in sizes) <= 500
        if size < 5_000:
            assert max(limit for limit, _ in sizes) == 500


class CountingClock(VirtualClock):
    """Counts how often the loop was given its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    async def sleep(self, seconds: float) -> None:
        self.turns += seconds == 0
        await super().sleep(seconds)


async def stretches(access: ClusterAccess, wanted: Callable[[list[Obj]], bool]) -> list[list[Obj]]:
    """Return the objects that were read between two turns of the loop."""
    clock = CountingClock()
    read: dict[int, list[Obj]] = {}
    seen: list[Obj] = []

    def project(raw: Obj) -> Obj:
        read.setdefault(clock.turns, []).append(raw)
        seen.append(raw)
        return {}

    client = ClusterClient("odd", access, ClientContext(clock, lambda: 0.0))
    client.follow(WatchedKind(CONFIG_MAPS, project))
    async with client.running():
        await until(lambda: wanted(seen))
    return list(read.values())


def weight(raws: list[Obj]) -> int:
    return sum(len(orjson.dumps(raw)) for raw in raws)


@pytest.mark.parametrize("size", [0, 3_000], ids=["small", "large"])
async def test_F12_the_loop_has_its_turn_within_a_list(tmp_path: Path, size: int) -> None:
    items = [config_map(n, size=size) for n in range(500)]

    def page(limit: int, token: str) -> bytes:
        first = int(token or "0")
        return page_of(items[first : first + limit], str(first + limit) if first + limit < len(items) else "")

    async with serving(Cluster(page).answer, tmp_path) as access:
        found = await stretches(access, lambda seen: len(seen) == len(items))
    assert max(map(len, found)) <= ITEMS
    assert max(map(weight, found)) <= BYTES + 5_000


@pytest.mark.parametrize("size", [0, 3_000], ids=["small", "large"])
async def test_F12_the_loop_has_its_turn_within_a_flood_of_events(tmp_path: Path, size: int) -> None:
    flood = b"".join(event(n, version=n + 2, size=size) for n in range(2000))
    async with serving(Cluster(lambda _limit, _token: page_of([]), flood).answer, tmp_path) as access:
        found = await stretches(access, lambda seen: len(seen) == 2000)
    assert max(map(len, found)) <= ITEMS
    assert max(map(weight, found)) <= BYTES + 5_000


async def test_F12_what_vanished_is_told_even_if_the_client_ends_meanwhile(tmp_path: Path) -> None:
    everything = [config_map(n) for n in range(90)]
    cluster = Cluster(lambda _limit, _token: page_of(everything))
    async with serving(cluster.answer, tmp_path) as access:
        story = told_to(replace(Setting(), limits=ClientLimits()), access, "odd")
        async with story.client.running():
            await story.connected()
        story.changes.clear()
        everything.clear()
        async with story.client.running():
            await story.connected()
        assert sorted(story.changes) == sorted(ObjectKey("default", f"n{n}") for n in range(90))


async def test_F12_too_much_of_one_kind_that_may_be_missing_loses_the_cluster_all_the_same(tmp_path: Path) -> None:
    """Jobs are no required kind, but a flood of them is no trouble of jobs alone."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        names = {"configmaps": "ConfigMap", "secrets": "Secret"}
        kind = names[request.path.rpartition("/")[2]]
        count = 150 if kind == "Secret" else 0
        page = orjson.loads(page_of([config_map(n) for n in range(min(count, int(request.query.get("limit", "0"))))]))
        token = request.query.get("continue", "")
        page["kind"] = f"{kind}List"
        if count and not token:
            page["metadata"]["continue"] = "more"
        for item in page["items"]:
            item["metadata"]["name"] += token
        cluster = Cluster(lambda _limit, _token: orjson.dumps(page))
        return await cluster.answer(request)

    others = (WatchedKind(ApiKind("", "v1", "Secret", "secrets"), lambda raw: raw, required=False),)
    async with serving(answer, tmp_path) as access:
        story = told_to(Setting(limits=holding(120), others=others), access, "odd")
        async with story.client.running():
            await story.lost()
            want = f"cluster odd: list secrets: {too_many_objects(120)}"
            assert story.client.report.message == want


async def test_F12_a_part_of_a_list_with_too_many_values_is_asked_for_in_smaller_parts(tmp_path: Path) -> None:
    dense = [{**config_map(n), "data": {"x": [[] for _ in range(10_000)]}} for n in range(40)]

    def page(limit: int, token: str) -> bytes:
        first = int(token or "0")
        return page_of(dense[first : first + limit], str(first + limit) if first + limit < len(dense) else "")

    cluster = Cluster(page)
    async with following(cluster, tmp_path) as story:
        await story.connected()
        assert len(story.followed.cache) == len(dense)
        assert cluster.limits[:4] == [100, 50, 25, 12]
