"""Whether a cluster is there, what is missing on it, and how a client changes its access and ends."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from localcluster.access.auth import ANY, Allow, TokenUser
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import Latency, Throttle
from tests.support.clusters import (
    CONFIG_MAPS,
    JOB_SETS,
    WORKLOADS,
    Setting,
    Story,
    access_to,
    config_map,
    following,
    someone_changes,
    someone_creates,
    told_to,
)
from tests.support.virtual_time import until
from workerclient.base.errors import Unauthenticated, Unavailable
from workerclient.objects.connection_report import ConnectionState
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.questions.preflight import Need

A = ObjectKey("default", "a")
READ = ("get", "list", "watch")


async def test_a_client_is_connecting_then_connected(cluster: LocalCluster) -> None:
    story = told_to(Setting(), access_to(cluster))
    created_ns = story.clock.now_ns()
    assert (story.connection, story.client.report.lost_since_ns) == (ConnectionState.CONNECTING, created_ns)
    async with story.client.running():
        await story.connected()
        (report,) = story.reports
        assert (report.reason, report.message, report.lost_since_ns) == ("Active", "Connected", None)


async def test_a_cluster_that_never_was_there_is_lost_since_the_client_was_made(cluster: LocalCluster) -> None:
    access = access_to(cluster)
    await cluster.stop()
    story = told_to(Setting(), access)
    created_ns = story.clock.now_ns()
    await story.clock.advance(3)
    async with story.client.running():
        await story.lost()
        assert story.client.report.lost_since_ns == created_ns
        assert story.client.report.message.startswith("cluster w1: list configmaps: Cannot connect to host 127.0.0.1:")


async def test_a_kind_that_is_missing_takes_nothing_from_the_others_and_is_found_when_it_comes(tmp_path: Path) -> None:
    kinds = [kind for kind in all_kinds() if kind.plural != "jobsets"]
    async with LocalCluster("w1", tmp_path, kinds=kinds) as cluster:
        story = told_to(Setting(), access_to(cluster))
        optional = story.client.follow(WatchedKind(JOB_SETS, lambda raw: raw, required=False)).reflector
        async with story.client.running():
            await until(lambda: optional.state.phase is CachePhase.NOT_SERVED)
            await story.connected()
            report = story.client.report
            assert (report.reason, report.message) == ("Active", "Connected"), "what is not installed is no news"
            await cluster.stop()
            async with LocalCluster("w1", tmp_path / "upgraded", port=cluster.port) as upgraded:
                story.client.reconfigure(access_to(upgraded))
                await until(lambda: optional.state.phase is CachePhase.LIVE)


async def test_a_missing_required_kind_is_a_lost_cluster(tmp_path: Path) -> None:
    kinds = [kind for kind in all_kinds() if kind.plural != "configmaps"]
    async with LocalCluster("w1", tmp_path, kinds=kinds) as cluster:
        story = told_to(Setting(), access_to(cluster))
        async with story.client.running():
            await story.lost()
            assert story.followed.reflector.state.phase is CachePhase.NOT_SERVED
            assert not story.followed.cache.synced


async def test_a_missing_role_is_named_with_its_verb_and_the_others_go_on(tmp_path: Path) -> None:
    user = TokenUser("hub", "restricted", rules=(Allow(READ, ("configmaps",)), Allow(("list",), ("jobsets",))))
    optional = WatchedKind(JOB_SETS, lambda raw: raw, required=False)
    async with LocalCluster("w1", tmp_path, users=[user]) as cluster:
        story = told_to(Setting(others=(optional,)), replace(access_to(cluster), token="restricted"))
        async with story.client.running():
            await until(lambda: "grant the verb" in story.client.report.message)
            assert story.connection is ConnectionState.CONNECTED
            assert 'grant the verb "watch" on jobsets.jobset.x-k8s.io in cluster w1' in story.client.report.message
            someone_creates(cluster, config_map("a"))
            await until(lambda: A in story.followed.cache)


async def test_a_rotated_token_is_taken_over_without_a_loss(tmp_path: Path) -> None:
    users = [TokenUser("old", "old-token"), TokenUser("new", "new-token")]
    async with LocalCluster("w1", tmp_path, users=users) as cluster:
        access = access_to(cluster)
        story = told_to(Setting(), replace(access, token="old-token"))
        async with story.client.running():
            await story.connected()
            slow = cluster.faults.add(Latency(0.05), verb="create")
            async with asyncio.TaskGroup() as group:
                on_its_way = group.create_task(story.followed.resource.create(config_map("slow")))
                await until(lambda: slow.hits == 1)
                story.client.reconfigure(replace(access, token="new-token"))
            assert on_its_way.result()["metadata"]["name"] == "slow"
            await until(lambda: story.followed.reflector.counts.lists == 2)
            await story.connected()
            someone_creates(cluster, config_map("a"))
            await until(lambda: A in story.followed.cache)
            assert cluster.watch_count() == 1
            assert [report.connection for report in story.reports] == [ConnectionState.CONNECTED]


async def test_a_call_that_waits_for_its_next_attempt_ends_when_the_access_changes(cluster: LocalCluster) -> None:
    access = access_to(cluster)
    async with following(cluster) as story:
        cluster.faults.add(Throttle(retry_after=2), verb="create", times=1)
        with pytest.raises(Unavailable, match="the address or credentials of the cluster changed"):
            async with asyncio.timeout(60):
                await asyncio.gather(
                    story.followed.resource.create(config_map("a")), _change_access_meanwhile(story, access)
                )
        await story.followed.resource.create(config_map("a"))


async def _change_access_meanwhile(story: Story[Obj], access: ClusterAccess) -> None:
    await until(lambda: story.clock.next_awakening is not None)
    story.client.reconfigure(access)
    await until(lambda: story.followed.reflector.counts.lists == 2)
    await story.clock.advance(20)


async def test_a_rejected_token_is_reported_without_showing_it(cluster: LocalCluster) -> None:
    story = told_to(Setting(), replace(access_to(cluster), token="wrong-token"))
    async with story.client.running():
        await story.lost()
        assert "renew the credentials of cluster w1" in story.client.report.message
        with pytest.raises(Unauthenticated) as caught:
            await story.followed.resource.get(A)
        assert "wrong-token" not in str(caught.value) + story.client.report.message


async def test_nothing_is_left_when_a_client_ends(cluster: LocalCluster) -> None:
    before = asyncio.all_tasks()
    async with following(cluster, Setting(others=(WatchedKind(WORKLOADS, lambda raw: raw),))) as story:
        assert cluster.watch_count() == 2
    assert asyncio.all_tasks() == before
    await until(lambda: cluster.watch_count() == 0)
    assert story.connection is ConnectionState.LOST
    assert story.client.report.message == "the connection was closed"
    assert not story.followed.cache.synced


async def test_a_client_can_end_while_its_cluster_hangs(cluster: LocalCluster) -> None:
    before = asyncio.all_tasks()
    async with following(cluster):
        cluster.freeze()
        cluster.drop_watches()
        await until(lambda: cluster.watch_count() == 0)
    await until(lambda: asyncio.all_tasks() <= before)  # what is left for a moment are the server's own


async def test_a_dead_or_hanging_cluster_changes_nothing_for_another(tmp_path: Path) -> None:
    async with (
        LocalCluster("w1", tmp_path) as healthy,
        LocalCluster("w2", tmp_path) as hanging,
        following(healthy) as well,
        following(hanging) as ill,
    ):
        hanging.freeze()
        async with asyncio.TaskGroup() as group:
            stuck = [group.create_task(ill.followed.resource.get(A)) for _ in range(100)]
            for number in range(20):
                await well.followed.resource.create(config_map(f"m{number}"))
            assert len(well.followed.cache) == 20
            assert not any(task.done() for task in stuck)
            assert well.clock.monotonic() == 0.0
            for task in stuck:
                task.cancel()
        assert [report.connection for report in well.reports] == [ConnectionState.CONNECTED]


async def test_the_clock_of_the_cluster_is_known_within_a_second(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        skew = story.client.skew
        assert skew is not None
        assert skew.uncertainty_seconds <= 1.0


async def test_a_preflight_names_what_is_not_served_and_what_is_not_allowed(tmp_path: Path) -> None:
    user = TokenUser(
        "hub", "restricted", rules=(Allow(("get", "list"), ("workloads",)), Allow((ANY,), ("configmaps",)))
    )
    kinds = [kind for kind in all_kinds() if kind.plural != "jobsets"]
    async with LocalCluster("w1", tmp_path, users=[user], kinds=kinds) as cluster:
        story = told_to(Setting(), replace(access_to(cluster), token="restricted"))
        async with story.client.running():
            served = await story.client.served_kinds([CONFIG_MAPS, WORKLOADS, JOB_SETS])
            assert served == {CONFIG_MAPS: True, WORKLOADS: True, JOB_SETS: False}
            needs = [Need(CONFIG_MAPS, READ), Need(WORKLOADS, (*READ, "patch")), Need(WORKLOADS, ("patch",), "status")]
            missing = await story.client.missing_permissions(needs)
            assert [str(each) for each in missing] == [
                "watch workloads.kueue.x-k8s.io",
                "patch workloads.kueue.x-k8s.io",
                "patch workloads.kueue.x-k8s.io/status",
            ]


async def test_F1_a_client_that_is_run_again_lists_again_and_counts_as_lost_since_the_first_time(
    cluster: LocalCluster,
) -> None:
    someone_creates(cluster, config_map("a", n="1"))
    story = told_to(Setting(), access_to(cluster), cluster.name)
    async with story.client.running():
        await story.connected()
    await story.clock.advance(5)
    story.client.fail("cannot be understood: odd")
    since = story.client.report.lost_since_ns
    someone_changes(cluster, "a", lambda stored: stored["data"].update(n="2"))
    story.client.reconfigure(access_to(cluster))  # in between, as a renewed token does
    story.changes.clear()
    async with story.client.running():
        await until(lambda: story.followed.cache.synced)
        assert story.followed.cache.get(ObjectKey("default", "a")) == {"n": "2"}
        assert story.changes == [ObjectKey("default", "a")]
        await story.clock.advance(5)
        assert story.client.report.connection is ConnectionState.LOST
        assert story.client.report.message == "cannot be understood: odd"
        assert story.client.report.lost_since_ns == since
        story.client.recover()
        assert str(story.client.report.connection) == "Connected"
        assert story.client.report.lost_since_ns is None
