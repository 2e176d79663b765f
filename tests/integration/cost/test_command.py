"""`turnstile cost-controller` as a process, with a model of an installed package; and what keeps it from starting."""

import asyncio
import json
import signal
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from localcluster.cluster import LocalCluster
from tests.integration.cost.controller_process import create_job, logged, start
from tests.integration.cost.world import COST
from tests.support.cost_plugins import install
from tests.support.virtual_time import until

MODEL = "def always(facts):\n    return 42\n"


def cost_in(cluster: LocalCluster) -> str | None:
    (raw,) = cluster.store.list(cluster.store.kind("jobs", "batch"))
    cost: str | None = raw["metadata"].get("annotations", {}).get(COST)
    return cost


async def test_it_writes_costs_on_the_hub_and_on_listed_workers_until_it_is_told_to_stop(tmp_path: Path) -> None:
    packages = install(tmp_path / "site", "our-costs", MODEL, always="always")
    async with LocalCluster("hub", tmp_path) as hub, LocalCluster("w1", tmp_path) as worker:
        for cluster in (hub, worker):
            create_job(cluster)
        sections = {
            "hub": {"kubeconfig": str(hub.kubeconfig_path)},
            "workers": [
                {"name": "w1", "kubeconfig": {"path": str(worker.kubeconfig_path)}},
                {"name": "w2", "kubeconfig": {"path": str(tmp_path / "missing")}},
                {"name": "w3"},
            ],
            "kubeconfigPolicy": {"allowedDirectories": [str(tmp_path)]},
            "costController": {"model": "always"},
        }
        process = await start(tmp_path, sections, packages)
        assert (await logged(process, "worker.skipped"))["worker"] == "w3"
        address = (await logged(process, "cost.started"))["http"][0]
        assert (await logged(process, "worker.refused"))["worker"] == "w2"
        await until(lambda: (cost_in(hub), cost_in(worker)) == ("42", "42"))
        await logged(process, "cost.updated")
        await logged(process, "cost.updated")
        async with aiohttp.ClientSession() as session, session.get(f"http://{address}/metrics") as response:
            metrics = await response.text()
        for name in ("hub", "w1"):
            assert f'turnstile_cost_updates_total{{cluster="{name}"}} 1.0' in metrics
            assert f'turnstile_cost_reconcile_errors_total{{cluster="{name}"}} 0.0' in metrics
        process.send_signal(signal.SIGTERM)
        await logged(process, "cost.stopped")
        assert await process.wait() == 0


@pytest.mark.parametrize(
    ("section", "code", "want"),
    [
        (
            {"model": "missing"},
            1,
            'costController.model: "missing" is not installed: must be one of checkpoint,',
        ),
        ({"clusters": ["Workers"]}, 1, "costController.clusters lists only Workers, and no worker has"),
        ({"clusters": ["Hub"]}, 1, "hub.kubeconfig is not set, and this process does not run in a pod"),
        ({"clusters": []}, 2, "costController.clusters"),
        ({"runningIncrement": 2000}, 2, "costController.runningIncrement"),
    ],
    ids=["no such model", "no worker", "no hub", "nowhere", "more than the bound"],
)
async def test_it_says_in_one_line_why_it_cannot_start(
    tmp_path: Path, section: dict[str, Any], code: int, want: str
) -> None:
    process = await start(tmp_path, {"costController": section})
    async with asyncio.timeout(120):
        _, errors = await process.communicate()
    assert process.returncode == code
    assert want in errors.decode().replace('\\"', '"')
    assert len(errors.decode().splitlines()) == 1


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            sections = {
                "hub": {"kubeconfig": str(hub.kubeconfig_path)},
                "http": {"port": taken.getsockname()[1]},
            }
            process = await start(tmp_path, sections)
            async with asyncio.timeout(120):
                _, errors = await process.communicate()
    assert process.returncode == 1
    assert json.loads(errors)["error"].startswith("http.port: ")
