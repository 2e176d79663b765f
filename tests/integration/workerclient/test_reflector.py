"""The cache stays in step through everything that happens to lists and watches."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from localcluster.cluster import LocalCluster, Partition
from localcluster.kinds.clock import ManualClock
from localcluster.serving.faults import Drop, Gone, HalfOpen, StaleList
from tests.support.clusters import (
    Setting,
    access_to,
    config_map,
    following,
    full_jitter,
    someone_changes,
    someone_creates,
    someone_deletes,
    told_to,
)
from tests.support.virtual_time import until
from workerclient.cluster import ClientLimits
from workerclient.objects.cache import Unreadable
from workerclient.objects.connection_report import ConnectionState
from workerclient.objects.reflector_context import ReflectorLimits
from workerclient.transport.session import SessionLimits

A, B, C = (ObjectKey("default", name) for name in "abc")


async def test_a_list_in_chunks_is_whole_and_the_selector_is_obeyed(cluster: LocalCluster) -> None:
    for number in range(12):
        someone_creates(cluster, config_map(f"m{number}", labels={"ours": str(number % 4 != 0).lower()}))
    limits = ClientLimits(reflector=ReflectorLimits(page_size=2))
    async with following(cluster, Setting(limits=limits, label_selector="ours=true")) as story:
        assert len(story.followed.cache) == 9
        someone_creates(cluster, config_map("foreign"))
        someone_creates(cluster, config_map("a", labels={"ours": "true"}))
        await until(lambda: story.changes)
        assert story.changes == [A]
        someone_changes(cluster, "a", lambda raw: raw["metadata"].pop("labels"))
        await until(lambda: A not in story.followed.cache)


async def test_pages_too_large_to_hold_are_asked_for_in_smaller_ones(cluster: LocalCluster) -> None:
    for number in range(20):
        someone_creates(cluster, config_map(f"m{number}", text="x" * 1000))
    limits = ClientLimits(session=SessionLimits(max_response_bytes=4096))
    async with following(cluster, Setting(limits=limits)) as story:
        assert len(story.followed.cache) == 20
        assert story.clock.monotonic() == 0


async def test_changes_of_others_arrive_and_are_told(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        someone_creates(cluster, config_map("a", color="red"))
        someone_changes(cluster, "a", lambda raw: raw.update(data={"color": "blue"}))
        someone_creates(cluster, config_map("b"))
        someone_deletes(cluster, "b")
        await until(lambda: len(story.changes) == 4)
        assert story.changes == [A, A, B, B]
        assert story.followed.cache.get(A) == {"color": "blue"}
        assert B not in story.followed.cache


async def test_a_dropped_watch_resumes_where_it_was_and_nothing_is_lost(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        assert cluster.drop_watches() == 1
        someone_deletes(cluster, "a")
        someone_creates(cluster, config_map("b"))
        await until(lambda: B in story.followed.cache)
        assert A not in story.followed.cache
        assert story.followed.reflector.counts.lists == 1
        assert story.followed.reflector.counts.drops == 1
        assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_a_watch_that_breaks_in_the_middle_of_its_events_loses_none(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        cluster.faults.add(Drop(after_chunks=1), verb="watch", times=5)
        cluster.drop_watches()
        for number in range(20):
            someone_creates(cluster, config_map(f"m{number}"))
            await until(lambda: len(story.followed.cache) > number)  # noqa: B023 - awaited within the loop
        assert story.followed.reflector.counts.lists == 1
        assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_a_watch_that_the_cluster_ends_in_time_is_no_loss(tmp_path: Path) -> None:
    server_clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with LocalCluster("w1", tmp_path, clock=server_clock) as cluster, following(cluster) as story:
        someone_creates(cluster, config_map("other", namespace="kube-system"))
        await until(lambda: story.changes)
        await story.clock.advance(2)
        server_clock.advance(300)
        await until(lambda: story.followed.reflector.counts.watches == 2)
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        counts = story.followed.reflector.counts
        assert (counts.lists, counts.drops) == (1, 0)
        assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_410_lists_again_and_reports_what_vanished(cluster: LocalCluster) -> None:
    someone_creates(cluster, config_map("a"))
    someone_creates(cluster, config_map("b"))
    async with following(cluster) as story:
        cluster.faults.add(Gone(), verb="watch", times=1)
        cluster.drop_watches()
        someone_deletes(cluster, "a")
        someone_changes(cluster, "b", lambda raw: raw.update(data={"x": "y"}))
        await until(lambda: story.followed.reflector.counts.lists == 2)
        await story.connected()
        assert sorted(story.changes) == [A, B]
        assert A not in story.followed.cache
        assert story.followed.cache.get(B) == {"x": "y"}
        assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_a_cluster_that_comes_back_without_its_history_is_listed_again(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        await cluster.restart()
        someone_deletes(cluster, "a")
        await until(lambda: A not in story.followed.cache)
        await story.connected()


async def test_a_half_open_watch_is_found_by_its_silence(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        cluster.freeze()
        await story.clock.advance(149)
        assert story.followed.reflector.counts.drops == 0
        await story.clock.advance(1)
        await until(lambda: story.followed.reflector.counts.drops == 1)
        assert story.connection is ConnectionState.CONNECTED
        dropped_ns = story.clock.now_ns()
        await story.clock.advance(SessionLimits().request_seconds)  # the attempt to open another one is not answered
        await story.lost()
        assert story.client.report.lost_since_ns == dropped_ns
        assert not story.followed.cache.synced
        cluster.thaw()
        await story.connected()
        assert story.client.report.lost_since_ns is None


async def test_one_half_open_watch_on_a_healthy_cluster_is_no_loss(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        cluster.faults.add(HalfOpen(after_chunks=1), verb="watch", times=1)
        cluster.drop_watches()
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        someone_creates(cluster, config_map("b"))
        await story.clock.advance(150)
        await until(lambda: B in story.followed.cache)
        assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_a_list_from_the_past_is_not_believed(cluster: LocalCluster) -> None:
    old_revision = cluster.store.ledger.revision
    async with following(cluster) as story:
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        cluster.faults.add(StaleList(old_revision), verb="list", plural="configmaps", times=2)
        cluster.faults.add(Gone(), verb="watch", times=1)
        cluster.drop_watches()
        await until(lambda: not cluster.faults)
        await story.connected()
        assert story.changes == [A]
        assert A in story.followed.cache


async def test_a_restored_cluster_that_counts_from_the_past_is_believed_in_the_end(tmp_path: Path) -> None:
    async with LocalCluster("w1", tmp_path / "old") as old:
        for number in range(30):
            someone_creates(old, config_map(f"m{number}"))
        async with following(old) as story:
            await old.stop()
            await story.lost()
            async with LocalCluster("w1", tmp_path / "new", port=old.port) as new:
                someone_creates(new, config_map("a"))
                story.client.reconfigure(access_to(new))
                await until(lambda: A in story.followed.cache)
                await story.connected()
                assert len(story.followed.cache) == 1


async def test_a_full_relist_happens_in_its_time_even_if_nothing_went_wrong(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        await story.clock.advance(100)
        someone_creates(cluster, config_map("a"))
        await until(lambda: A in story.followed.cache)
        relist = replace(ReflectorLimits(), relist_seconds=100)
        assert story.followed.reflector.counts.lists == 1
    async with following(cluster, Setting(limits=ClientLimits(reflector=relist))) as story:
        await story.clock.advance(100)
        cluster.drop_watches()
        await until(lambda: story.followed.reflector.counts.lists == 2)
        assert story.followed.cache.synced
        assert story.changes == []


async def test_an_object_that_is_malformed_is_there_as_such_and_the_others_go_on(cluster: LocalCluster) -> None:
    someone_creates(cluster, config_map("a", unreadable="yes"))
    async with following(cluster) as story:
        found = story.followed.cache.get(A)
        assert isinstance(found, Unreadable)
        assert found.problem == "data.unreadable is not allowed"
        someone_creates(cluster, config_map("b"))
        await until(lambda: B in story.followed.cache)
        someone_changes(cluster, "a", lambda raw: raw.update(data={}))
        await until(lambda: story.followed.cache.get(A) == {})


async def test_99_a_cluster_that_stays_away_is_asked_again_fast_at_first_and_then_every_half_minute(
    cluster: LocalCluster,
) -> None:
    async with following(cluster, Setting(jitter=full_jitter)) as story:
        await story.clock.advance(2)
        await cluster.partition(Partition.REFUSED)
        await story.lost()
        lost_ns = story.client.report.lost_since_ns
        pauses = []
        for _ in range(12):
            await until(lambda: story.clock.next_awakening is not None)
            pauses.append(story.clock.next_awakening or 0.0)
            await story.clock.advance(pauses[-1])
        assert pauses == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]
        assert story.client.report.lost_since_ns == lost_ns
        assert "Cannot connect to host" in story.client.report.message
        await cluster.heal()
        await until(lambda: story.clock.next_awakening is not None)
        await story.clock.advance(30)
        await story.connected()


@pytest.mark.parametrize("how", Partition)
async def test_a_partition_is_a_loss_since_its_first_drop_and_its_end_lists_again(
    cluster: LocalCluster, how: Partition
) -> None:
    async with following(cluster) as story:
        await story.clock.advance(5)
        await cluster.partition(how)
        dropped_ns = story.clock.now_ns()
        await until(lambda: story.followed.reflector.counts.drops == 1)
        await story.clock.advance(SessionLimits().request_seconds)
        await story.lost()
        assert story.client.report.lost_since_ns == dropped_ns
        assert story.client.report.reason == "ClientConnectionFailed"
        someone_creates(cluster, config_map("a"))
        await cluster.heal()
        await story.clock.advance(SessionLimits().request_seconds)
        await until(lambda: A in story.followed.cache)
        await story.connected()
        phases = [connection for connection, _ in groupby(report.connection for report in story.reports)]
        assert phases == [ConnectionState.CONNECTED, ConnectionState.LOST, ConnectionState.CONNECTED]


async def test_100_a_watch_that_is_not_answered_gets_more_time_with_every_attempt(cluster: LocalCluster) -> None:
    story = told_to(Setting(), access_to(cluster))
    hanging = cluster.faults.add(HalfOpen(), verb="watch")
    async with story.client.running():
        waited = []
        for attempt in range(1, 5):
            await until(lambda attempt=attempt: hanging.hits == attempt)  # type: ignore[misc]
            begun = story.clock.monotonic()
            while story.followed.reflector.counts.failures < attempt:
                await story.clock.advance(1)
                await asyncio.sleep(0.001)
            waited.append(story.clock.monotonic() - begun)
        assert waited == [10, 20, 30, 30]
        assert story.client.report.message == "cluster w1: watch configmaps: no answer within 30 s"
        cluster.faults.remove(hanging)
        await until(lambda: hanging.hits == 5 or story.connection is ConnectionState.CONNECTED)
        await story.clock.advance(31)
        await story.connected()
