"""A cluster that is restored from a backup, with and without a jump of its revisions: the cache ends where it is."""

import json
from dataclasses import replace

import pytest

from config.api.meta import Obj, ObjectKey
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import RawAnswer
from tests.support.clusters import (
    Setting,
    Story,
    config_map,
    following,
    someone_changes,
    someone_creates,
    someone_deletes,
)
from tests.support.etcd_backups import restore, take_backup
from tests.support.odd_answers import raw_answer
from tests.support.virtual_time import until
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientLimits
from workerclient.objects.reflector_context import ReflectorLimits

A, B, C = (ObjectKey("default", name) for name in "abc")


def rename(cluster: LocalCluster, name: str, text: str) -> None:
    someone_changes(cluster, name, lambda raw: raw.update(data={"text": text}))


def is_as_it_was(story: Story[Obj]) -> bool:
    cache = story.followed.cache
    shown = {key: cache.get(key) for key in cache}
    return cache.synced and shown == {A: {"text": "old"}, B: {"text": "old"}}


async def make_a_past(cluster: LocalCluster, story: Story[Obj]) -> None:
    rename(cluster, "a", "new")
    someone_deletes(cluster, "b")
    someone_creates(cluster, config_map("c"))
    for number in range(50):
        rename(cluster, "a", f"new {number}")
    await until(lambda: story.followed.cache.get(A) == {"text": "new 49"} and C in story.followed.cache)


@pytest.mark.parametrize("bump", [True, False], ids=["with a bump", "without a bump"])
@pytest.mark.parametrize("page_size", [500, 1])
async def test_F10_a_restored_cluster_is_believed_and_reported(
    cluster: LocalCluster, bump: bool, page_size: int
) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    someone_creates(cluster, config_map("b", text="old"))
    setting = Setting(limits=ClientLimits(reflector=ReflectorLimits(page_size=page_size)))
    async with following(cluster, setting) as story:
        backup = take_backup(cluster, "configmaps")
        await make_a_past(cluster, story)
        restore(cluster, backup, bump=bump)
        for _ in range(100):
            await story.clock.advance(1)
            await until(lambda: story.clock.next_awakening is not None or story.followed.cache.synced)
            if is_as_it_was(story):
                break
        assert is_as_it_was(story)
        assert story.histories == [ApiKind("", "v1", "ConfigMap", "configmaps")]
        assert story.followed.reflector.counts.new_histories == 1
        rename(cluster, "a", "after the restoration")
        await until(lambda: story.followed.cache.get(A) == {"text": "after the restoration"})


async def test_F10_the_list_of_the_hour_heals_a_cache_that_no_watch_would(cluster: LocalCluster) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    someone_creates(cluster, config_map("b", text="old"))
    limits = ClientLimits(reflector=replace(ReflectorLimits(), relist_seconds=100))
    async with following(cluster, Setting(limits=limits)) as story:
        backup = take_backup(cluster, "configmaps")
        await make_a_past(cluster, story)
        restore(cluster, backup, bump=True)
        cluster.store.ledger.collections["configmaps/v1"].forgotten = 0  # so that the watch goes on without a 410
        await until(lambda: story.followed.reflector.counts.watches == 2)
        assert not is_as_it_was(story)
        await story.clock.advance(100)
        cluster.drop_watches()
        await until(lambda: is_as_it_was(story))
        assert len(story.histories) == 1


async def test_F10_a_restored_cluster_that_has_counted_on_past_what_was_known_is_believed(
    cluster: LocalCluster,
) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    someone_creates(cluster, config_map("b", text="old"))
    async with following(cluster) as story:
        backup = take_backup(cluster, "configmaps")
        await make_a_past(cluster, story)
        restore(cluster, backup, bump=False)
        for number in range(200):  # the others were faster
            someone_creates(cluster, config_map(f"other-{number}", namespace="kube-system"))
        cluster.store.ledger.forget_history()
        cluster.drop_watches()
        await until(lambda: story.followed.cache.get(A) == {"text": "old"} and C not in story.followed.cache)
        assert len(story.histories) == 1


async def test_F10_ordinary_lists_report_nothing(cluster: LocalCluster) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    limits = ClientLimits(reflector=replace(ReflectorLimits(), relist_seconds=1, page_size=1))
    async with following(cluster, Setting(limits=limits)) as story:
        for number in range(20):
            rename(cluster, "a", f"text {number}")
            someone_creates(cluster, config_map(f"m{number}"))
            await story.clock.advance(2)
            cluster.drop_watches()
        await until(lambda: story.followed.reflector.counts.lists > 5)
        assert story.histories == []


async def test_F10_a_watch_that_tells_of_a_version_before_the_known_one_leads_to_a_list(cluster: LocalCluster) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    async with following(cluster) as story:
        rename(cluster, "a", "new")
        await until(lambda: story.followed.cache.get(A) == {"text": "new"})
        behind = {"kind": "ConfigMap", "metadata": {"resourceVersion": str(cluster.store.ledger.revision - 1)}}
        bookmark = json.dumps({"type": "BOOKMARK", "object": behind}).encode() + b"\n"
        cluster.faults.add(RawAnswer(raw_answer(bookmark)), verb="watch", times=1)
        cluster.drop_watches()
        await story.clock.advance(1)
        await until(lambda: story.followed.reflector.counts.lists == 2)
        await story.connected()
        assert story.followed.cache.get(A) == {"text": "new"}
        assert story.histories == []  # the list is not older: that server was only behind


async def test_F10_a_silent_watch_is_followed_by_a_list(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        cluster.mute_watches("configmaps")
        someone_creates(cluster, config_map("a", text="unheard"))
        await story.clock.advance(150)
        await until(lambda: story.followed.cache.get(A) == {"text": "unheard"})
        assert story.followed.reflector.counts.lists == 2


async def test_a_watch_that_is_refused_because_its_version_is_still_to_come_leads_to_a_list(
    cluster: LocalCluster,
) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    async with following(cluster) as story:
        message = "Too large resource version: 10027, current: 12"
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 504, "reason": "Timeout"}
        refused = {"type": "ERROR", "object": {**status, "message": message}}
        event = json.dumps(refused).encode() + b"\n"
        cluster.faults.add(RawAnswer(raw_answer(event)), verb="watch", times=1)
        cluster.drop_watches()
        await story.clock.advance(1)
        await until(lambda: story.followed.reflector.counts.lists == 2)
        await story.connected()
        assert story.histories == []  # the list is as new as what was known


async def test_what_was_written_right_before_a_cluster_was_restored_is_not_believed_for_ever(
    cluster: LocalCluster,
) -> None:
    someone_creates(cluster, config_map("a", text="old"))
    async with following(cluster) as story:
        backup = take_backup(cluster, "configmaps")
        cluster.mute_watches("configmaps")  # so that no watch tells of the write
        for number in range(5):
            rename(cluster, "a", f"new {number}")
        await story.followed.resource.create(config_map("c", text="lost"))
        assert C in story.followed.cache
        restore(cluster, backup, bump=False)
        someone_creates(cluster, config_map("b", text="old"))
        cluster.store.ledger.forget_history()
        cluster.drop_watches()
        for _ in range(100):
            await story.clock.advance(1)
            await until(lambda: story.clock.next_awakening is not None or story.followed.cache.synced)
            if story.followed.cache.synced and C not in story.followed.cache:
                break
        assert C not in story.followed.cache
        assert story.followed.cache.get(A) == {"text": "old"}
