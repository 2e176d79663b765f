"""SIGHUP in shadow mode: the same rules as the orchestrator's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from manager.app.reloading import STAYS_IN_FORCE
from manager.models.model_watches import FOLLOWED_KINDS
from tests.integration.orchestrator.daemon_process import logged
from tests.integration.orchestrator.reloading import OTHER_TOKEN, Running, running, watches
from tests.support.virtual_time import until

SHADOW: dict[str, Any] = {"shadow": {"enabled": True}, "forecast": {"enabled": True}}


def others_token(daemon: Running, name: str) -> str:
    """Write another kubeconfig of the same worker and return where."""
    document = yaml.safe_load((daemon.directory / f"{name}.kubeconfig").read_text())
    document["users"][0]["user"]["token"] = OTHER_TOKEN
    path = daemon.directory / f"{name}.other"
    path.write_text(yaml.safe_dump(document))
    return str(path)


@asynccontextmanager
async def looking_on(directory: Path) -> AsyncIterator[Running]:
    """Run a shadow that has all its watches on the workers: of copies, and of what the models are made of."""
    async with running(directory, **SHADOW) as daemon:
        await until(lambda: all(watches(each) > len(FOLLOWED_KINDS) for each in daemon.workers.values()))
        yield daemon


async def test_a_worker_with_other_credentials_goes_on_and_the_others_keep_their_watches(tmp_path: Path) -> None:
    async with looking_on(tmp_path) as daemon:
        first, second = daemon.workers["w1"], daemon.workers["w2"]
        path = others_token(daemon, "w1")
        before = watches(first), watches(second)
        entry = {"name": "w1", "kubeconfig": {"path": path}, "qps": 5, "burst": 10}
        line = await daemon.reload(workers=[entry, daemon.entry("w2")], gates={"gracePeriod": "3s"})
        assert line["changed"] == ["workers", "gates.gracePeriod"]
        await until(lambda: watches(first) > before[0])
        assert watches(second) == before[1]
        await daemon.reload(workers=[daemon.entry("w2")])
        assert (await logged(daemon.process, "worker.ended"))[-1]["worker"] == "w1"
        assert watches(second) == before[1]


async def test_another_address_of_the_hub_is_taken_over(tmp_path: Path) -> None:
    async with looking_on(tmp_path) as daemon:
        before = watches(daemon.hub)
        document = yaml.safe_load(daemon.hub.kubeconfig_path.read_text())
        document["clusters"][0]["cluster"]["server"] = f"https://localhost:{daemon.hub.port}"
        (tmp_path / "other.kubeconfig").write_text(yaml.safe_dump(document))
        line = await daemon.reload(hub={"kubeconfig": str(tmp_path / "other.kubeconfig")})
        assert line["changed"] == ["hub.kubeconfig"]
        await until(lambda: watches(daemon.hub) > before)


async def test_what_makes_another_mode_of_it_waits_for_a_restart(tmp_path: Path) -> None:
    async with looking_on(tmp_path) as daemon:
        daemon.sections["forecast"] = {"enabled": False}
        await daemon.reload(shadow={"enabled": False, "leaseName": "other"})
        *earlier, _ = await daemon.reload_as_it_is()
        (waiting,) = (each for each in earlier if each["event"] == "configuration.waiting")
        assert waiting["message"] == "needs restart: forecast.enabled, shadow.enabled, shadow.leaseName"


async def test_a_wrong_file_changes_nothing_and_is_told(tmp_path: Path) -> None:
    async with looking_on(tmp_path) as daemon:
        before = {name: watches(cluster) for name, cluster in daemon.workers.items()}
        line = await daemon.reload("configuration.refused", gcInterval="never", workers=[])
        assert 'gcInterval: "never" is not allowed' in line["problem"]
        assert line["message"] == STAYS_IN_FORCE
        assert {name: watches(cluster) for name, cluster in daemon.workers.items()} == before
        await until(lambda: sum(message.startswith("READY=1") for message in daemon.heard) == 2)
