"""SIGHUP of the cost controller by itself: it goes on, with what the file and the kubeconfigs say now."""

import base64
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from localcluster.access.auth import TokenUser
from localcluster.cluster import LocalCluster
from manager.app.reloading import STAYS_IN_FORCE
from tests.integration.cost.controller_process import CONFIGURATION, create_job, logged, start
from tests.integration.orchestrator.daemon_process import ended
from tests.integration.orchestrator.reloading import OTHER_TOKEN, watches
from tests.integration.orchestrator.world import SYSTEM
from tests.support.virtual_time import until


@dataclass
class Running:
    """A cost controller, its clusters and its file."""

    process: Any
    directory: Path
    workers: dict[str, LocalCluster]
    sections: dict[str, Any]
    address: str = ""

    def entry(self, name: str, **options: Any) -> dict[str, Any]:
        return {"name": name, "kubeconfig": {"path": str(self.workers[name].kubeconfig_path)}, **options}

    async def reload(self, event: str, **changes: Any) -> dict[str, Any]:
        self.sections = {**self.sections, **changes}
        (self.directory / "turnstile.yaml").write_text(json.dumps({**CONFIGURATION, **self.sections}))
        self.process.send_signal(signal.SIGHUP)
        return await logged(self.process, event)

    async def metrics(self) -> str:
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.get(f"http://{self.address}/metrics") as answer,
        ):
            return await answer.text()


@asynccontextmanager
async def running(directory: Path) -> AsyncIterator[Running]:
    users = [TokenUser("other", OTHER_TOKEN)]
    async with LocalCluster("w1", directory, users=users) as first, LocalCluster("w2", directory) as second:
        for cluster in (first, second):
            create_job(cluster)
        made = Running(None, directory, {"w1": first, "w2": second}, {})
        made.sections = {
            "workers": [made.entry("w1")],
            "kubeconfigPolicy": {"allowedDirectories": [str(directory)]},
            "costController": {"clusters": ["Workers"]},
        }
        made.process = await start(directory, made.sections)
        try:
            made.address = (await logged(made.process, "cost.started"))["http"][0]
            await until(lambda: watches(first) >= 2)
            yield made
        finally:
            made.process.send_signal(signal.SIGTERM)
            code, rest = await ended(made.process)
    assert code == 0, rest
    assert "Traceback" not in rest


async def test_workers_come_and_go_and_the_others_keep_their_watches(tmp_path: Path) -> None:
    async with running(tmp_path) as costs:
        first, second = costs.workers["w1"], costs.workers["w2"]
        before = watches(first)
        entries = [costs.entry("w1", qps=5, burst=10), costs.entry("w2")]
        line = await costs.reload("configuration.reloaded", workers=entries)
        assert line["changed"] == ["workers"]
        await until(lambda: watches(second) >= 2)
        assert watches(first) == before
        await costs.reload("configuration.reloaded", workers=[costs.entry("w2")])
        assert (await logged(costs.process, "cost.ended"))["cluster"] == "w1"


async def test_other_credentials_are_taken_over_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as costs:
        first = costs.workers["w1"]
        document = yaml.safe_load(first.kubeconfig_path.read_text())
        document["users"][0]["user"]["token"] = OTHER_TOKEN
        (tmp_path / "other").write_text(yaml.safe_dump(document))
        before = watches(first)
        entry = {"name": "w1", "kubeconfig": {"path": str(tmp_path / "other")}}
        await costs.reload("configuration.reloaded", workers=[entry])
        await until(lambda: watches(first) >= before + 2)


async def test_a_hub_that_is_needed_from_now_on_is_connected_to(tmp_path: Path) -> None:
    """The kubeconfig of the worker moves to a Secret of a hub, which nothing was asked of before."""
    async with running(tmp_path) as costs, LocalCluster("hub", tmp_path) as hub:
        second = costs.workers["w2"]
        namespace = SYSTEM
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": namespace}})
        kubeconfig = base64.b64encode(second.kubeconfig_path.read_bytes()).decode()
        secret = {"metadata": {"name": "w2"}, "data": {"kubeconfig": kubeconfig}}
        hub.store.create(hub.store.kind("secrets"), secret, namespace)
        entry = {"name": "w2", "kubeconfig": {"secret": {"name": "w2"}}}
        changes = {"hub": {"kubeconfig": str(hub.kubeconfig_path)}, "workers": [entry]}
        await costs.reload("configuration.reloaded", **changes)
        await until(lambda: watches(second) >= 2)


async def test_what_is_written_changes_with_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path) as costs:
        line = await costs.reload("configuration.waiting", costController={"clusters": ["Workers"], "maxCost": 7})
        assert line["message"] == "needs restart: costController.maxCost"


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"gcInterval": "never"}, 'gcInterval: "never" is not allowed: a duration of at least 1s'),
        ({"workers": []}, "costController.clusters lists only Workers, and no worker has a kubeconfig"),
    ],
    ids=["a wrong value", "nothing to do"],
)
async def test_a_wrong_file_changes_nothing_and_is_told_and_counted(
    tmp_path: Path, changes: dict[str, Any], want: str
) -> None:
    async with running(tmp_path) as costs:
        before = watches(costs.workers["w1"])
        line = await costs.reload("configuration.refused", **changes)
        assert want in line["problem"]
        assert line["message"] == STAYS_IN_FORCE
        assert 'turnstile_config_reloads_total{result="failure"} 1.0' in await costs.metrics()
        assert watches(costs.workers["w1"]) == before
