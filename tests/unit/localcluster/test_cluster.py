"""Starting and stopping local clusters."""

import asyncio
import stat
from pathlib import Path

import aiohttp
import pytest
import yaml

from localcluster.cluster import LocalCluster, LocalClusterError, LocalClusters
from tests.unit.localcluster.serving import WIDGET, served_kinds, session_for, widget

PATH = "/apis/example.dev/v1/namespaces/default/widgets"


async def test_a_new_cluster_has_its_namespaces_and_files(cluster: LocalCluster) -> None:
    names = [obj["metadata"]["name"] for obj in cluster.store.list(cluster.store.kind("namespaces"))]
    config = yaml.safe_load(cluster.kubeconfig_path.read_text())

    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert stat.S_IMODE(cluster.kubeconfig_path.stat().st_mode) == 0o600
    assert config["clusters"][0]["cluster"]["server"] == cluster.url
    assert sorted(path.name for path in cluster.kubeconfig_path.parent.iterdir()) == ["ca.crt", "kubeconfig"]


async def test_a_restart_keeps_the_objects_and_the_port_but_not_the_history(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    revision = cluster.store.create(WIDGET, widget("a"), "default").version.revision
    cluster.store.create(WIDGET, widget("b"), "default")
    url = cluster.url
    await cluster.restart()

    assert cluster.url == url
    async with client.get(PATH) as response:
        assert len((await response.json())["items"]) == 2
    async with client.get(PATH, params={"watch": "1", "resourceVersion": str(revision)}) as response:
        assert b'"code":410' in await response.content.readline()


async def test_a_port_in_use_is_one_clear_error_and_nothing_is_left_running(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    second = LocalCluster("second", tmp_path, kinds=served_kinds(), port=cluster.port)
    before = len(asyncio.all_tasks())

    with pytest.raises(LocalClusterError, match=rf'cluster "second": cannot listen on 127.0.0.1:{cluster.port}: '):
        await second.start()

    await second.stop()
    assert len(asyncio.all_tasks()) == before


async def test_several_clusters_start_together_and_know_nothing_of_each_other(tmp_path: Path) -> None:
    async with LocalClusters(["hub", "worker-1"], tmp_path, kinds=served_kinds()) as clusters:
        clusters["hub"].store.create(WIDGET, widget("a"), "default")
        async with session_for(clusters["worker-1"]) as client, client.get(PATH) as response:
            assert (await response.json())["items"] == []
    assert list(clusters) == ["hub", "worker-1"]


@pytest.mark.parametrize(
    ("names", "want_message"),
    [
        (["hub", "hub"], "cluster names must differ; given more than once: hub"),
        (["Hub_1"], 'cluster name "Hub_1": a lowercase RFC 1123 label'),
        ([""], 'cluster name "": '),
    ],
)
def test_impossible_names_are_refused(tmp_path: Path, names: list[str], want_message: str) -> None:
    with pytest.raises(LocalClusterError, match=want_message):
        LocalClusters(names, tmp_path, kinds=served_kinds())


async def test_a_directory_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(LocalClusterError, match=r"cannot make directory .*file/hubs: Not a directory"):
        await LocalClusters(["hub"], tmp_path / "file" / "hubs", kinds=served_kinds()).__aenter__()


async def test_the_collector_works_by_itself_behind_the_server(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    owner = cluster.store.create(WIDGET, widget("owner"), "default").version.obj
    child = widget("child")
    reference = {"apiVersion": "example.dev/v1", "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
    child["metadata"]["ownerReferences"] = [reference]
    cluster.store.create(WIDGET, child, "default")

    async with client.delete(PATH + "/owner") as response:
        assert response.status == 200
    async with client.get(PATH) as response:
        assert (await response.json())["items"] == []
