"""Reading and writing over HTTPS, with preconditions, and seeing our own writes at once."""

import pytest

from config.api.meta import Obj, ObjectKey
from localcluster.cluster import LocalCluster
from tests.support.clusters import (
    CONFIG_MAPS,
    WORKLOADS,
    Story,
    config_map,
    following,
    someone_changes,
    someone_deletes,
    workload,
)
from tests.support.virtual_time import until
from workerclient.base.errors import AlreadyExists, Conflict, Invalid, NotFound
from workerclient.objects.resource import Precondition

A = ObjectKey("default", "a")


def precondition(stored: Obj, *, version: bool = True) -> Precondition:
    metadata = stored["metadata"]
    return Precondition(metadata["uid"], metadata["resourceVersion"] if version else None)


async def watch_caught_up(story: Story[Obj]) -> None:
    """Wait until the watch has told everything before now."""
    await story.client.resource(CONFIG_MAPS).create(config_map("mark"))
    await until(lambda: ObjectKey("default", "mark") in story.changes)


async def test_a_write_is_in_the_cache_when_it_returns_and_its_echo_changes_nothing(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed
        stored = await maps.resource.create(config_map("a", color="red"))
        assert maps.cache.get(A) == {"color": "red"}
        stored = await maps.resource.merge_patch(A, {"data": {"color": "blue"}}, precondition(stored))
        assert maps.cache.get(A) == {"color": "blue"}
        stored = await maps.resource.replace({**stored, "data": {"color": "green"}})
        assert maps.cache.get(A) == {"color": "green"}
        await maps.resource.json_patch(A, [{"op": "add", "path": "/data/size", "value": "big"}], precondition(stored))
        assert maps.cache.get(A) == {"color": "green", "size": "big"}
        await watch_caught_up(story)
        assert maps.cache.get(A) == {"color": "green", "size": "big"}


async def test_a_deleted_object_is_gone_from_the_cache_at_once(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed
        stored = await maps.resource.create(config_map("a"))
        await maps.resource.delete(A, precondition(stored, version=False))
        assert maps.cache.get(A) is None
        await watch_caught_up(story)
        assert A not in maps.cache
        with pytest.raises(NotFound) as caught:
            await maps.resource.get(A)
        assert (caught.value.kind, caught.value.name) == ("configmaps", "a")


async def test_an_object_that_waits_for_its_finalizer_stays_in_the_cache(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed
        document = config_map("a")
        document["metadata"]["finalizers"] = ["example.org/wait"]
        stored = await maps.resource.create(document)
        await maps.resource.delete(A, precondition(stored))
        assert A in maps.cache
        someone_changes(cluster, "a", lambda raw: raw["metadata"].pop("finalizers"))
        await until(lambda: A not in maps.cache)


async def test_every_write_fails_when_the_object_is_another_incarnation(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed.resource
        first = await maps.create(config_map("a"))
        someone_deletes(cluster, "a")
        second = await maps.create(config_map("a", color="red"))
        old = precondition(first, version=False)
        with pytest.raises(Conflict):
            await maps.merge_patch(A, {"data": {"x": "y"}}, old)
        with pytest.raises(Conflict):
            await maps.json_patch(A, [{"op": "add", "path": "/data/x", "value": "y"}], old)
        with pytest.raises(Conflict):
            await maps.replace({**first, "data": {}})
        with pytest.raises(Conflict):
            await maps.delete(A, old)
        assert await maps.get(A) == second


async def test_every_write_fails_when_the_object_has_changed_since(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed.resource
        stored = await maps.create(config_map("a"))
        someone_changes(cluster, "a", lambda raw: raw.update(data={"by": "someone"}))
        stale = precondition(stored)
        with pytest.raises(Conflict):
            await maps.merge_patch(A, {"data": {"x": "y"}}, stale)
        with pytest.raises(Conflict):
            await maps.json_patch(A, [{"op": "add", "path": "/data/x", "value": "y"}], stale)
        with pytest.raises(Conflict):
            await maps.replace(stored)
        with pytest.raises(Conflict):
            await maps.delete(A, stale)
        assert (await maps.get(A))["data"] == {"by": "someone"}


async def test_a_status_patch_leaves_the_spec_alone(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        workloads = story.client.resource(WORKLOADS)
        stored = await workloads.create(workload("a"))
        patch = {"spec": {"active": False}, "status": {"nominatedClusterNames": ["w9"]}}
        patched = await workloads.merge_patch(A, patch, precondition(stored), subresource="status")
        assert patched["spec"] == stored["spec"]
        assert patched["status"]["nominatedClusterNames"] == ["w9"]


async def test_creating_twice_and_creating_nowhere_are_told_apart(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed.resource
        await maps.create(config_map("a"))
        with pytest.raises(AlreadyExists):
            await maps.create(config_map("a"))
        with pytest.raises(NotFound) as caught:
            await maps.create(config_map("a", namespace="nowhere"))
        assert (caught.value.kind, caught.value.name) == ("namespaces", "nowhere")


async def test_an_object_that_the_cluster_refuses_is_named_with_its_fields(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        with pytest.raises(Invalid, match=r"cluster w1: create configmaps default/UPPER: .*metadata\.name"):
            await story.followed.resource.create(config_map("UPPER"))


async def test_a_page_is_no_larger_than_asked_and_all_pages_are_one_list(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        maps = story.followed.resource
        for number in range(7):
            await maps.create(config_map(f"m{number}", labels={"odd": str(number % 2)}))
        pages = [page async for page in maps.pages(page_size=2, label_selector="odd=1")]
        assert [len(page.items) for page in pages] == [2, 1]
        assert len({page.resource_version for page in pages}) == 1
        assert [len(page.items) async for page in maps.pages(namespace="kube-system")] == [0]
