"""SIGHUP: what may change changes, what is as it was is left alone, and a wrong file changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.loading.loading import did_you_mean
from localcluster.cluster import LocalCluster
from tests.integration.orchestrator.daemon_process import CONFIGURATION, logged
from tests.integration.orchestrator.reloading import OTHER_TOKEN, running, watches
from tests.integration.orchestrator.world import SYSTEM
from tests.support.virtual_time import until


def lists(cluster: LocalCluster) -> int:
    return sum(count for asked, count in cluster.traffic.counts().items() if asked.verb == "list")


async def test_systemd_hears_of_the_reload_and_of_its_end(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        await daemon.reload(gcInterval="30s")
        await until(lambda: sum(message.startswith("READY=1") for message in daemon.heard) == 2)
        (began,) = (message for message in daemon.heard if message.startswith("RELOADING=1"))
        assert began.splitlines()[1].removeprefix("MONOTONIC_USEC=").isdigit()
        assert daemon.heard[-1] == "READY=1\nSTATUS=Acting"


async def test_workers_that_stay_as_they_are_keep_their_watches(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        second = daemon.workers["w2"]
        await daemon.reload(workers=[daemon.entry("w2")])
        lines = await logged(daemon.process, "worker.ended")
        assert lines[-1]["worker"] == "w1"
        before = (watches(second), lists(second), watches(daemon.hub))
        first_before = watches(daemon.workers["w1"])
        await daemon.reload(workers=[daemon.entry("w1"), daemon.entry("w2")])
        await until(lambda: watches(daemon.workers["w1"]) > first_before)
        assert (watches(second), lists(second), watches(daemon.hub)) == before


async def test_options_of_a_worker_change_without_a_new_connection(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        before = {name: watches(worker) for name, worker in daemon.workers.items()}
        line = await daemon.reload(
            workers=[daemon.entry("w1", qps=5, burst=10, gatesUnsupported="exclude"), daemon.entry("w2")],
            gates={"policy": "PreferNoPreemption", "singleClusterPreemptionTimeout": "45s"},
            workerLostTimeout="20m",
        )
        assert line["changed"] == [
            "workers",
            "gates.singleClusterPreemptionTimeout",
            "gates.policy",
            "workerLostTimeout",
        ]
        assert {name: watches(worker) for name, worker in daemon.workers.items()} == before


async def test_topologies_are_followed_from_when_they_are_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, forecast={"enabled": True}) as daemon:
        first, second = daemon.workers.values()
        await until(lambda: watches(first, "workloads") == watches(second, "workloads") == 2)
        await daemon.reload(workers=[daemon.entry("w1", topology=True), daemon.entry("w2")])
        await until(lambda: [watches(first, kind) for kind in ("topologies", "nodes", "pods")] == [1, 1, 1])
        assert watches(second, "nodes") == 0


async def test_forecasts_of_pods_begin_and_change_their_rules_with_a_connection_of_their_own(tmp_path: Path) -> None:
    async with running(tmp_path, forecast={"enabled": True}) as daemon:
        first, second = daemon.workers.values()

        async def followed(*, links: int, with_pods: int) -> None:
            """Wait for the connections so far: each watches Workloads twice, for copies and for forecasts."""
            await until(lambda: watches(first, "workloads") == 2 * links and watches(first, "pods") == with_pods)

        await until(lambda: watches(second, "workloads") == 2)
        await followed(links=1, with_pods=0)
        line = await daemon.reload(workers=[daemon.entry("w1", podForecast=True), daemon.entry("w2")])
        assert line["changed"] == ["workers"]
        await followed(links=2, with_pods=1)
        with_rules = daemon.entry("w1", podForecast=True, podForecastMode="v1.37")
        await daemon.reload(workers=[with_rules, daemon.entry("w2")])
        await followed(links=3, with_pods=2)
        await daemon.reload(workers=[daemon.entry("w1"), daemon.entry("w2")])
        await followed(links=4, with_pods=2)
        assert watches(second, "workloads") == 2, "the other worker is left alone"


async def test_a_rotated_kubeconfig_behind_a_swapped_link_is_taken_over(tmp_path: Path) -> None:
    """As Secret volumes do it: a directory's link is moved to a new directory."""
    async with running(tmp_path) as daemon:
        document = yaml.safe_load((tmp_path / "w1.kubeconfig").read_text())
        for index, token in enumerate((document["users"][0]["user"]["token"], OTHER_TOKEN)):
            folder = tmp_path / f"..{index}"
            folder.mkdir()
            document["users"][0]["user"]["token"] = token
            (folder / "w1").write_text(yaml.safe_dump(document))
        (tmp_path / "..data").symlink_to("..0")
        (tmp_path / "w1.mounted").symlink_to("..data/w1")
        mounted = {"name": "w1", "kubeconfig": {"path": str(tmp_path / "w1.mounted")}}
        await daemon.reload(workers=[mounted, daemon.entry("w2")])
        before, others = watches(daemon.workers["w1"]), watches(daemon.workers["w2"])
        (tmp_path / "..next").symlink_to("..1")
        (tmp_path / "..next").rename(tmp_path / "..data")
        await daemon.reload_as_it_is()
        await until(lambda: watches(daemon.workers["w1"]) > before)
        assert watches(daemon.workers["w2"]) == others


async def test_a_rotated_kubeconfig_of_the_hub_is_taken_over_and_the_lease_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        before = watches(daemon.hub)
        other = tmp_path / "other.kubeconfig"
        document = yaml.safe_load(daemon.hub.kubeconfig_path.read_text())
        document["clusters"][0]["cluster"]["server"] = f"https://localhost:{daemon.hub.port}"
        other.write_text(yaml.safe_dump(document))
        line = await daemon.reload(hub={"kubeconfig": str(other)})
        assert line["changed"] == ["hub.kubeconfig"]
        await until(lambda: watches(daemon.hub) > before)
        lease = daemon.hub.store.get(daemon.hub.store.kind("leases", "coordination.k8s.io"), "turnstile", SYSTEM)
        renewed = lease["spec"]["renewTime"]

        def was_renewed() -> bool:
            kind = daemon.hub.store.kind("leases", "coordination.k8s.io")
            spec = daemon.hub.store.get(kind, "turnstile", SYSTEM)["spec"]
            return bool(spec["renewTime"] > renewed and spec["leaseTransitions"] == lease["spec"]["leaseTransitions"])

        await until(was_renewed)


async def test_what_needs_a_restart_is_named_and_the_rest_is_taken_over(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        daemon.sections["http"] = {"port": 1}
        changes: dict[str, Any] = {
            "leaderElection": {"leaseName": "other"},
            "gcInterval": "30s",
            "jobs": {"integrations": []},
        }
        daemon.sections.update(changes)
        daemon.write(json.dumps({**CONFIGURATION, **daemon.sections}))
        *earlier, line = await daemon.reload_as_it_is()
        (waiting,) = (each for each in earlier if each["event"] == "configuration.waiting")
        assert waiting["message"] == "needs restart: jobs.integrations, leaderElection.leaseName, http.port"
        assert line["changed"] == ["gcInterval"]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong value": ({"gcInterval": "never"}, 'gcInterval: "never" is not allowed: a duration of at least 1s'),
    "an unknown field": ({"gate": {}}, f"gate: {did_you_mean('gates')}"),
    "an open port": ({"http": {"bindAddress": "0.0.0.0"}}, "http.certificateFile: is required: a path, because"),  # noqa: S104 - it is refused
    "no such kubeconfig": ({"hub": {"kubeconfig": "/nowhere/kubeconfig"}}, "hub.kubeconfig: kubeconfig file"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_file_changes_nothing_and_is_told_in_one_line(tmp_path: Path, case: str) -> None:
    changes, want = WRONG[case]
    async with running(tmp_path) as daemon:
        before = {name: watches(cluster) for name, cluster in daemon.workers.items()}
        line = await daemon.reload("configuration.refused", **changes, workers=[daemon.entry("w1")])
        assert want in line["problem"]
        assert line["level"] == "error"
        assert line["message"] == "the configuration that was read before stays in force"
        await until(lambda: sum(message.startswith("READY=1") for message in daemon.heard) == 2)
        assert {name: watches(cluster) for name, cluster in daemon.workers.items()} == before


async def test_a_file_that_is_no_yaml_is_told(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        daemon.write("a: [\n")
        *_, line = await daemon.reload_as_it_is("configuration.refused")
        assert "turnstile.yaml:" in line["problem"]
