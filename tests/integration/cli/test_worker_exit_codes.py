"""`turnstile worker` exits with 3 if a cluster does not answer or refuses, 2 for bad input, 1 for a failure."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from gates.diagnosis.identity import IS_HUB
from localcluster.cluster import LocalCluster
from manager.cli.app import app


async def worker(hub: Path, *arguments: str) -> Result:
    """Run `turnstile worker` on a hub."""
    runner = CliRunner(env={"HOME": "/none", "KUBECONFIG": str(hub)})
    return await asyncio.to_thread(runner.invoke, app, ["worker", *arguments])


def changed(source: Path, target: Path, section: str, **fields: Any) -> Path:
    """Write a copy of a kubeconfig in which the only cluster or user has other fields."""
    document: dict[str, Any] = yaml.safe_load(source.read_text())
    singular = section.removesuffix("s")
    document[section][0][singular] = {**document[section][0][singular], **fields}
    target.write_text(yaml.safe_dump(document))
    return target


async def hub_kubeconfig(directory: Path) -> Path:
    """Return the kubeconfig of a cluster that has been stopped."""
    async with LocalCluster("hub", directory / "hub") as hub:
        return hub.kubeconfig_path


@pytest.mark.parametrize("arguments", [("list",), ("remove", "w1")], ids=" ".join)
async def test_a_hub_that_does_not_answer(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = await worker(await hub_kubeconfig(tmp_path), *arguments)
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 3
    assert line.startswith("error: cluster hub: ")


async def test_a_worker_that_does_not_answer(tmp_path: Path) -> None:
    gone = await hub_kubeconfig(tmp_path)
    async with LocalCluster("other", tmp_path / "other") as hub:
        result = await worker(hub.kubeconfig_path, "add", "w1", "--kubeconfig", str(gone))
    assert result.exit_code == 3
    assert result.stderr.startswith("error: cluster w1: ")


async def test_a_hub_that_rejects_the_token(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub:
        wrong = {"token": "wrong", "client-certificate-data": None, "client-key-data": None}
        result = await worker(changed(hub.kubeconfig_path, tmp_path / "k", "users", **wrong), "list")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: cluster hub: ")


async def test_an_authority_that_is_not_a_certificate(tmp_path: Path) -> None:
    source = await hub_kubeconfig(tmp_path)
    kubeconfig = changed(source, tmp_path / "k", "clusters", **{"certificate-authority-data": "bm9uZQ=="})
    result = await worker(kubeconfig, "list")
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 2
    assert line.startswith("error: ")
    assert "kubeconfig" in line


async def test_an_operation_that_cannot_be_done(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub, LocalCluster("w1", tmp_path / "w1") as other:
        result = await worker(hub.kubeconfig_path, "add", "w1", "--worker-kubeconfig", str(other.kubeconfig_path))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the hub has no namespace turnstile-system")


async def test_the_hub_cannot_be_its_own_worker(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub:
        result = await worker(hub.kubeconfig_path, "add", "w1", "--worker-kubeconfig", str(hub.kubeconfig_path))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: w1 {IS_HUB}; ")


async def test_a_worker_that_was_never_added_has_no_token_to_renew(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub, LocalCluster("w1", tmp_path / "w1") as other:
        result = await worker(hub.kubeconfig_path, "rotate", "w1", "--worker-kubeconfig", str(other.kubeconfig_path))
    assert (result.exit_code, result.stderr) == (
        2,
        "error: the hub has no Secret turnstile-system/w1; create it with `turnstile worker add w1`\n",
    )


async def test_a_worker_that_the_hub_does_not_have(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub:
        result = await worker(hub.kubeconfig_path, "remove", "worker-9")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: the hub has no worker worker-9; `turnstile worker list` names those it has\n",
    )
