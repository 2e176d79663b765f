"""Workers come, change and go; checks follow; garbage is collected and nothing foreign is touched."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.model import marks
from gates.model.texts import foreign_replica
from localcluster.catalogue.registry import all_kinds
from localcluster.serving.faults import HalfOpen, Latency
from tests.integration.orchestrator.conditions import check, cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import CHECK, CONFIG, ORIGIN, SYSTEM, running
from tests.integration.orchestrator.world import world as prepared_world
from tests.support.worker_names import W1

Obj = dict[str, Any]
Change = Callable[[Obj], object]


async def test_95_103_a_missing_secret_and_its_arrival_show_in_both_conditions(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        world.hub.delete("secrets", "w1", namespace=SYSTEM)
        await world.start()
        await world.until(lambda: check(world) and cluster(world, "w1"))
        message = 'load client config failed: secrets "w1" not found in namespace "turnstile-system"'
        assert cluster(world, "w1") == ("False", "BadKubeConfig", message)
        assert check(world) == ("False", "NoUsableClusters", "Inactive clusters: [w1]")
        world.put_secret("w1")
        await world.connected()
        await world.until(lambda: check(world) == ("True", "Active", "The admission check is active"))
        assert cluster(world, "w1") == ("True", "Active", "Connected")


async def test_96_a_kubeconfig_file_is_read_again(tmp_path: Path) -> None:
    directory = tmp_path / "kubeconfigs"
    directory.mkdir()
    policy = {"allowed_directories": [str(directory)]}
    async with prepared_world(tmp_path, "w1", kubeconfig_policy=policy) as world:
        file = directory / "w1"
        source = {"kubeConfig": {"location": str(file), "locationType": "Path"}}
        world.hub.change("multikueueclusters", "w1", lambda c: c["spec"].update(clusterSource=source), KUEUE, "")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        assert (cluster(world, "w1") or ())[:2] == ("False", "BadKubeConfig")
        put(file, world["w1"].local.kubeconfig_path.read_text())
        await world.clock.advance(10)
        await world.connected()
        await world.until(lambda: cluster(world, "w1") == ("True", "Active", "Connected"))
        old = world.running_daemon().fleet.links[W1].access
        put(file, file.read_text() + "\n# rotated\n")
        await world.clock.advance(10)
        await world.connected()
        assert world.running_daemon().fleet.links[W1].access == old
        kubeconfig = yaml.safe_load(file.read_text())
        kubeconfig["contexts"][0]["context"]["namespace"] = "another"
        put(file, json.dumps(kubeconfig))
        await world.pass_until(lambda: world.running_daemon().fleet.links[W1].access != old)
        await world.connected()
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])


def put(file: Path, content: str) -> None:
    """Replace a file as a whole, as Secret volumes are: the daemon may be reading it."""
    successor = file.with_suffix(".new")
    successor.write_text(content)
    successor.replace(file)


def server(url: str) -> Change:
    return lambda c: c["clusters"][0]["cluster"].update(server=url)


def user(**entry: Any) -> Change:
    return lambda c: c["users"][0].update(user=entry)


EXEC = {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
INSECURE: dict[str, tuple[Change, str]] = {
    "token file": (user(tokenFile="/etc/token"), "tokenFile is not allowed"),
    "insecure TLS": (
        lambda c: c["clusters"][0]["cluster"].update({"insecure-skip-tls-verify": True}),
        "insecure TLS verification is not allowed for cluster",
    ),
    "no TLS": (server("http://127.0.0.1:6443"), "server URL must use https"),
    "CA file": (
        lambda c: c["clusters"][0]["cluster"].update({"certificate-authority": "/etc/ca.crt"}),
        "certificate-authority file paths are not allowed, use certificate-authority-data",
    ),
    "basic auth": (user(username="u", password="secret-word"), "basic auth is not allowed"),
    "exec plugin": (user(exec=EXEC), "exec plugins are not allowed"),
    "auth provider": (user(**{"auth-provider": {"name": "oidc"}}), "auth providers are not allowed"),
    "bad host": (server("https://exa_mple!/"), "untrusted server endpoint"),
    "client key file": (
        user(**{"client-certificate": "/etc/c", "client-key": "/etc/k"}),
        "client-certificate and client-key file paths are not allowed",
    ),
    "impersonation": (user(token="t", **{"as": "root"}), "impersonation is not allowed"),
    "proxy": (
        lambda c: c["clusters"][0]["cluster"].update({"proxy-url": "http://p:3128"}),
        "proxy-url is not in kubeconfigPolicy.allowedProxies",
    ),
    "garbage": (lambda c: c.update(clusters="garbage"), "failed to parse kubeconfig"),
}


@pytest.mark.parametrize(("change", "words"), INSECURE.values(), ids=INSECURE.keys())
async def test_97_an_insecure_kubeconfig_disconnects_at_once(tmp_path: Path, change: Change, words: str) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        kubeconfig = yaml.safe_load(world["w1"].kubeconfig())
        change(kubeconfig)
        world.put_secret("w1", json.dumps(kubeconfig).encode())
        await world.until(lambda: (cluster(world, "w1") or ("",))[0] == "False")
        found = cluster(world, "w1") or ("", "", "")
        assert found[:2] == ("False", "InsecureKubeConfig")
        assert found[2].startswith("load client config failed: ")
        assert words in found[2]
        assert "secret-word" not in found[2]
        assert "w1" not in world.running_daemon().fleet.links
        assert world["w1"].local.watch_count() == 0
        assert cluster(world, "w2") == ("True", "Active", "Connected")
        world.put_secret("w1")
        await world.until(lambda: cluster(world, "w1") == ("True", "Active", "Connected"))


@pytest.mark.parametrize(
    "location",
    ["/etc/passwd", "relative/path", "{allowed}/../secret", "{allowed}/link", "{allowed}-sibling/w1", "{allowed}"],
    ids=[
        "outside",
        "relative",
        "dots",
        "a symbolic link that leads outside",
        "a sibling with the same beginning",
        "dir",
    ],
)
async def test_98_a_path_outside_of_the_allowed_directories_is_refused(tmp_path: Path, location: str) -> None:
    allowed = tmp_path / "allowed"
    sibling = tmp_path / "allowed-sibling"
    for directory in (allowed, sibling):
        directory.mkdir()
    policy = {"allowed_directories": [str(allowed)]}
    async with prepared_world(tmp_path, "w1", kubeconfig_policy=policy) as world:
        for outside in (tmp_path / "secret", sibling / "w1"):
            outside.write_bytes(world["w1"].kubeconfig())
        (allowed / "link").symlink_to(tmp_path / "secret")
        source = {"kubeConfig": {"location": location.format(allowed=allowed), "locationType": "Path"}}
        world.hub.change("multikueueclusters", "w1", lambda c: c["spec"].update(clusterSource=source), KUEUE, "")
        await world.start()
        await world.until(lambda: cluster(world, "w1"))
        assert (cluster(world, "w1") or ())[:2] == ("False", "BadKubeConfig")
        assert world["w1"].local.watch_count() == 0


async def test_99_101_a_worker_that_comes_back_is_found_without_a_new_kubeconfig(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await world.cut("w1")
        await world.until(lambda: (cluster(world, "w1") or ("",))[0] == "False")
        assert (cluster(world, "w1") or ("", ""))[1] == "ClientConnectionFailed"
        since = world.running_daemon().fleet.links[W1].report.lost_since_ns
        await world.pass_time(120)
        assert world.running_daemon().fleet.links[W1].report.lost_since_ns == since
        await world.mend("w1")
        await world.until(lambda: cluster(world, "w1") == ("True", "Active", "Connected"))
        assert world.running_daemon().fleet.links[W1].report.lost_since_ns is None


async def test_99_looks_in_between_neither_dial_nor_count_and_a_new_kubeconfig_dials_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await world.cut("w1")
        await world.pass_time(120)
        counts = world.running_daemon().fleet.links[W1].workloads.reflector.counts
        dialled = counts.failures
        for _ in range(5):  # the same kubeconfig, read again and again
            world.put_secret("w1")
            world.running_daemon().fleet.poke()
            await world.settled()
        assert counts.failures == dialled
        kubeconfig = yaml.safe_load(world["w1"].kubeconfig())
        kubeconfig["users"][0]["user"]["token"] += "-changed"
        lost_since = world.lost_for("w1")
        world.put_secret("w1", json.dumps(kubeconfig).encode())
        await world.until(lambda: counts.failures > dialled)
        assert world.lost_for("w1") == lost_since
        await world["w1"].local.heal()
        world.put_secret("w1")
        await world.connected()  # without any time passing


async def test_101_a_new_kubeconfig_that_leads_nowhere_is_a_loss_with_a_finite_grace(tmp_path: Path) -> None:
    """Lesson of Kueue 0.19.0: Workloads hung for ever when the reconnection after a new kubeconfig failed."""
    async with running(tmp_path, "w1", worker_lost_timeout="60s") as world:
        await won_by(world, "w1")
        kubeconfig = yaml.safe_load(world["w1"].kubeconfig())
        server("https://127.0.0.1:1")(kubeconfig)
        world.put_secret("w1", json.dumps(kubeconfig).encode())
        await world.until(lambda: (cluster(world, "w1") or ("", ""))[1] == "ClientConnectionFailed")
        await world.pass_time(30)
        assert world.check()["state"] == "Ready"
        await world.pass_time(31)
        assert world.check()["state"] == "Retry"
        world.put_secret("w1")
        await world.connected()


async def test_100_a_worker_whose_watch_hangs_does_not_keep_others_from_connecting(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", "w2") as world:
        hanging = world["w1"].local.faults.add(HalfOpen(), verb="watch")
        await world.start()
        await world.connected("w2")
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world.clock.monotonic() == 0
        await world.known("w1")
        await world.until(lambda: (cluster(world, "w1") or ("", ""))[1] == "ClientConnectionFailed")
        assert "watch" in (cluster(world, "w1") or ("", "", ""))[2]
        world["w1"].local.faults.remove(hanging)
        await world.mend("w1")
        await world.until(lambda: (cluster(world, "w1") or ("",))[0] == "True")


async def test_100_a_frozen_worker_does_not_keep_others_from_connecting(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", "w2") as world:
        world["w1"].local.freeze()
        await world.start()
        await world.connected("w2")
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        world["w1"].local.thaw()


async def test_102_a_change_of_a_clusters_status_alone_reads_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        reads = world.hub.local.faults.add(Latency(0), verb="get", plural="secrets")
        label = {"type": "Other", "status": "True", "reason": "X", "message": "", "lastTransitionTime": world.hub.now()}

        def change(status: Obj) -> None:
            status["conditions"] = [*status["conditions"], label]

        world.hub.change_status("multikueueclusters", "w1", change, KUEUE, "")
        await world.settled()
        assert reads.hits == 0


async def test_103_a_check_without_its_config_or_with_half_of_its_clusters(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", "w2") as world:
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.start()
        await world.until(lambda: check(world))
        want = f'Cannot load the AdmissionChecks parameters: multikueueconfigs.{KUEUE} "{CONFIG}" not found'
        assert check(world) == ("False", "BadConfig", want)
        world.list_workers("w1", "w2", "w3")
        await world.until(lambda: check(world) == ("True", "SomeActiveClusters", "Missing clusters: [w3]"))
        world.hub.delete("secrets", "w2", namespace=SYSTEM)
        want = "Missing clusters: [w3], Inactive clusters: [w2]"
        await world.until(lambda: check(world) == ("True", "SomeActiveClusters", want))


async def test_a_restart_leaves_conditions_as_they_are(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await world.until(lambda: check(world))
        await world.settled()
        before = world.hub.get("admissionchecks", CHECK, KUEUE, "")["metadata"]["resourceVersion"]
        await world.stop()
        await world.start()
        await world.connected()
        await world.settled()
        assert world.hub.get("admissionchecks", CHECK, KUEUE, "")["metadata"]["resourceVersion"] == before


async def test_workers_of_the_configuration_file_need_no_multikueuecluster(tmp_path: Path) -> None:
    policy = {"allowed_directories": [str(tmp_path)]}
    async with prepared_world(tmp_path, "w1", kubeconfig_policy=policy) as world:
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        path = str(world["w1"].local.kubeconfig_path)
        world.options["workers"] = [{"name": "w1", "kubeconfig": {"path": path}}]
        await world.start()
        await world.connected()
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        assert check(world) == ("True", "Active", "The admission check is active")


async def test_104_106_the_collector_takes_only_what_is_ours_and_only_at_the_second_sight(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        identity = world.running_daemon().identity

        def remote(name: str, origin: str | None, hub: str) -> None:
            document = workload(name)
            document["metadata"]["labels"] = {ORIGIN_LABEL: origin} if origin else {}
            document["metadata"]["annotations"] = {marks.HUB: hub, marks.HUB_UID: "gone"}
            world["w1"].create("workloads", document, KUEUE, NAMESPACE)

        remote("ours", identity.origin, identity.hub)
        remote("same-origin-other-hub", identity.origin, "another-hub")
        remote("other-origin", "another", identity.hub)
        remote("unmarked", None, "")
        orphan = job("orphan-job", managed_by=None)
        orphan["metadata"]["labels"] |= {ORIGIN_LABEL: identity.origin, "kueue.x-k8s.io/prebuilt-workload-name": "gone"}
        orphan["metadata"]["annotations"] = {marks.HUB: identity.hub, marks.HUB_UID: "x"}
        world["w1"].create("jobs", orphan, "batch", NAMESPACE)
        world["w1"].create("jobs", job("theirs", managed_by=None), "batch", NAMESPACE)
        await world.settled()
        await world.pass_time(61)
        assert world["w1"].has_workload("ours")
        await world.pass_time(61)
        await world.until(lambda: not world["w1"].has_workload("ours"))
        await world.until(lambda: world["w1"].find("jobs", "orphan-job", "batch") is None)
        for name in ("same-origin-other-hub", "other-origin", "unmarked"):
            assert world["w1"].has_workload(name)
        assert world["w1"].find("jobs", "theirs", "batch") is not None


async def test_104_a_replica_whose_workload_lives_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        uid = world["w1"].workload()["metadata"]["uid"]
        await world.pass_time(300)
        assert world["w1"].workload()["metadata"]["uid"] == uid


async def test_106_two_hubs_share_a_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as first, prepared_world(tmp_path / "second") as second:
        second.workers["w1"] = first["w1"]
        second.options["hub"] = {"origin": "second-hub", "namespace": SYSTEM}
        second.list_workers("w1")
        second.add_cluster("w1")
        first.queue("mine")
        await first.until(lambda: first["w1"].has_workload("mine"))
        await second.start()
        await second.connected("w1")
        second.queue("theirs")
        await second.until(lambda: first["w1"].has_workload("theirs"))
        await first.pass_time(200)
        await second.clock.advance(200)
        assert first["w1"].has_workload("mine")
        assert first["w1"].has_workload("theirs")


async def test_106_two_hubs_that_want_the_same_name_on_a_worker_take_turns(tmp_path: Path) -> None:
    """Also with the same origin by mistake: the identity of the hub keeps them apart."""
    async with running(tmp_path, "w1") as first, prepared_world(tmp_path / "second") as second:
        second.workers["w1"] = first["w1"]
        second.options["hub"] = {"origin": ORIGIN, "namespace": SYSTEM}
        second.list_workers("w1")
        second.add_cluster("w1")
        first.queue()
        await first.until(lambda: first.holders() == ["w1"])
        mine = first["w1"].workload()["metadata"]["uid"]
        await second.start()
        await second.connected("w1")
        second.queue()
        await second.until(lambda: foreign_replica(["w1"]) in second.check()["message"])
        second.release_quota()  # cleaning up touches nothing of the other's
        await second.until(lambda: second.running_daemon().workloads.is_idle)
        second.requeue()
        await second.clock.advance(200)
        assert first["w1"].workload()["metadata"]["uid"] == mine
        first["w1"].admit()
        await first.until(lambda: first.check()["state"] == "Ready")
        first["w1"].finish()
        await first.until(lambda: first.hub.condition("Finished"))
        await first.until(lambda: not first["w1"].has_workload())
        assert second.hub.condition("Finished") is None
        await second.clock.advance(61)
        await second.until(first["w1"].has_workload)
        hub = second.running_daemon().identity.hub
        assert first["w1"].workload()["metadata"]["annotations"][marks.HUB] == hub
        await first.clock.advance(200)
        assert first["w1"].workload()["metadata"]["annotations"][marks.HUB] == hub


async def test_108_coming_and_going_all_the_time_leaves_nothing_behind(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        content = world["w1"].local.kubeconfig_path.read_bytes()
        for number in range(5):
            world.put_secret("w1", content if number % 2 else b"garbage")
            await world.running_daemon().garbage.collect()
            await asyncio.sleep(0.01)
        world.put_secret("w1", content)
        await world.connected()
        await world.settled()
        assert world.holders() == ["w1", "w2"]
        await world.stop()
        await world.until(lambda: world["w1"].local.watch_count() == world["w2"].local.watch_count() == 0)


async def test_a_worker_without_a_job_kind_serves_the_others(tmp_path: Path) -> None:
    """Fault 6 of Kueue v0.19.1: a missing CustomResourceDefinition blocks the whole cluster."""
    kinds = tuple(kind for kind in all_kinds() if kind.plural != "jobsets")
    jobs = {"integrations": ["batch/job", "jobset.x-k8s.io/jobset"]}
    async with running(tmp_path, "w1", "w2", kinds={"w1": kinds}, jobs=jobs) as world:
        document = {"metadata": {"name": "set"}, "spec": {"managedBy": MULTIKUEUE_NAME}}
        owner = world.hub.create("jobsets", document, "jobset.x-k8s.io", NAMESPACE)
        world.queue("set", owner=owner)
        world.queue("plain")
        await world.until(lambda: world.holders("set") == ["w2"] and world.holders("plain") == ["w1", "w2"])
        await world.settled()
        assert "the kind of the job is not installed on: w1" in world.check("set")["message"]
        assert cluster(world, "w1") == ("True", "Active", "Connected"), "few clusters have all kinds of jobs"
