"""Workers that a ClusterProfile describes."""

import json
from pathlib import Path
from typing import Any

import yaml

from localcluster.catalogue.registry import all_kinds
from tests.integration.orchestrator.conditions import cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.world import SYSTEM, World
from tests.integration.orchestrator.world import world as prepared_world

Obj = dict[str, Any]

PROFILE_GROUP = "multicluster.x-k8s.io"


def refer_to_profile(world: World, name: str) -> None:
    source = {"clusterProfileRef": {"name": name}}
    world.hub.change("multikueueclusters", "w1", lambda c: c["spec"].update(clusterSource=source), KUEUE, "")


def put_profile(world: World, name: str, namespace: str = SYSTEM, changes: Obj | None = None) -> None:
    """Create a ClusterProfile as an inventory does: it says where the cluster is, but not how to log in."""
    entry = yaml.safe_load(world["w1"].local.kubeconfig_path.read_text())["clusters"][0]["cluster"]
    world.hub.create("clusterprofiles", {"metadata": {"name": name}, "spec": {}}, PROFILE_GROUP, namespace)
    providers = [{"name": "inventory", "cluster": {**entry, **(changes or {})}}]
    world.hub.change_status(
        "clusterprofiles", name, lambda s: s.update(accessProviders=providers), PROFILE_GROUP, namespace
    )


def login(world: World, directory: Path) -> Obj:
    """Return the settings with a command that logs in to the worker."""
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": world["w1"].local.token},
    }
    command = directory / "login"
    command.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    command.chmod(0o700)
    return {"enabled": True, "access_providers": [{"name": "inventory", "command": str(command)}]}


async def test_107_cluster_profiles_that_are_switched_off_are_refused_as_that(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        put_profile(world, "p")
        refer_to_profile(world, "p")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        found = cluster(world, "w1") or ("", "", "")
        assert found[:2] == ("False", "MultiKueueClusterProfileFeatureDisabled")
        assert found[2].startswith("load client config failed: MultiKueueClusterProfile feature gate is disabled")


async def test_107_a_cluster_profile_is_looked_for_in_our_namespace_only(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        world.options["cluster_profiles"] = login(world, tmp_path)
        put_profile(world, "p", NAMESPACE)
        refer_to_profile(world, "p")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        want = f'load client config failed: clusterprofiles.{PROFILE_GROUP} "p" not found in namespace "{SYSTEM}"'
        assert cluster(world, "w1") == ("False", "BadClusterProfile", want)
        put_profile(world, "p")  # where it belongs: noticed without any other event
        await world.connected()
        await world.until(lambda: cluster(world, "w1") == ("True", "Active", "Connected"))
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])


async def test_107_a_cluster_profile_without_a_known_provider_and_a_switch_to_another(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        world.options["cluster_profiles"] = login(world, tmp_path)
        put_profile(world, "good")
        put_profile(world, "insecure", changes={"insecure-skip-tls-verify": True})
        other = {"accessProviders": [{"name": "other", "cluster": {}}]}
        world.hub.create("clusterprofiles", {"metadata": {"name": "bad"}, "spec": {}}, PROFILE_GROUP, SYSTEM)
        world.hub.change_status("clusterprofiles", "bad", lambda s: s.update(other), PROFILE_GROUP, SYSTEM)
        refer_to_profile(world, "bad")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        want = "load client config failed: no access provider configured; the ClusterProfile offers: other"
        assert cluster(world, "w1") == ("False", "BadClusterProfile", want)
        refer_to_profile(world, "good")
        await world.until(lambda: cluster(world, "w1") == ("True", "Active", "Connected"))
        refer_to_profile(world, "insecure")
        want = "load client config failed: insecure TLS verification is not allowed for cluster inventory"
        await world.until(lambda: cluster(world, "w1") == ("False", "BadRestConfig", want))
        assert world["w1"].local.watch_count() == 0


async def test_107_a_hub_without_cluster_profiles_says_so(tmp_path: Path) -> None:
    kinds = tuple(kind for kind in all_kinds() if kind.plural != "clusterprofiles")
    async with prepared_world(tmp_path, "w1", kinds={"hub": kinds}, cluster_profiles={"enabled": True}) as world:
        refer_to_profile(world, "p")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        want = f"load client config failed: the hub does not serve clusterprofiles.{PROFILE_GROUP} at version v1alpha1"
        assert cluster(world, "w1") == ("False", "BadClusterProfile", want)
