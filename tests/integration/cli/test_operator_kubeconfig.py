"""Commands with the operator's own kubeconfig: split over files, partly missing, with a plugin that does not work."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from localcluster.cluster import LocalCluster
from manager.cli.app import app
from manager.onboarding.objects import cluster as multikueue_cluster
from workerclient.operator.kubeconfig import RUN_BY_HAND

SECRET = "planted-secret"
NO_DAEMON = ("status", "--socket", "none")
LIST = ("worker", "list")


async def turnstile(kubeconfig: str, *arguments: str) -> Result:
    """Run a command with $KUBECONFIG."""
    runner = CliRunner(env={"HOME": "/none", "KUBECONFIG": kubeconfig})
    return await asyncio.to_thread(runner.invoke, app, list(arguments))


def split(source: Path, directory: Path) -> tuple[Path, Path]:
    """Write a kubeconfig as two files: the context with its user, and the cluster."""
    document: dict[str, Any] = yaml.safe_load(source.read_text())
    clusters = {"clusters": document.pop("clusters")}
    first, second = directory / "contexts", directory / "clusters"
    first.write_text(yaml.safe_dump(document))
    second.write_text(yaml.safe_dump(clusters))
    return first, second


@pytest.mark.parametrize("arguments", [LIST, NO_DAEMON], ids=" ".join)
async def test_a_context_in_one_file_and_its_cluster_in_another(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    async with LocalCluster("hub", tmp_path / "hub") as hub:
        stored = multikueue_cluster("w1")
        hub.store.create(hub.store.kind("multikueueclusters", "kueue.x-k8s.io"), stored, "")
        first, second = split(hub.kubeconfig_path, tmp_path)
        gone = tmp_path / "gone"
        listed = os.pathsep.join(map(str, (gone, first, second)))
        result = await turnstile(listed, *arguments)
        assert result.exit_code == 0, result.stderr
        assert "w1" in result.stdout
        warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
        assert warnings == [
            f"warning: $KUBECONFIG lists files that do not exist and are ignored: {gone}; "
            "create them, or remove them from the variable"
        ]


@pytest.mark.parametrize(
    ("arguments", "option", "code"), [(LIST, "hub-", 2), (NO_DAEMON, "", 3)], ids=["list", "status"]
)
async def test_no_file_of_the_list_is_there(tmp_path: Path, arguments: tuple[str, ...], option: str, code: int) -> None:
    names = os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "b")))
    result = await turnstile(names, *arguments)
    assert result.exit_code == code
    said = f"there is no kubeconfig ({tmp_path}/a, {tmp_path}/b); name the hub's with --{option}kubeconfig"
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert line.endswith(said)


@pytest.mark.parametrize("arguments", [LIST, NO_DAEMON], ids=" ".join)
async def test_an_exec_plugin_that_fails(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho {SECRET} >&2\nexit 1\n")
    plugin.chmod(0o700)
    api = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    document = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://hub.invalid"}}],
        "users": [{"name": "u", "user": {"exec": {**api, "command": str(plugin)}}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    result = await turnstile(str(path), *arguments)
    assert result.exit_code == 2
    line = result.stderr.splitlines()[-1]
    assert line.startswith("error: ")
    assert line.endswith(
        f'kubeconfig {path}: "u" cannot authenticate: the exec plugin "{plugin}" ended with exit code 1; {RUN_BY_HAND}'
    )
    assert SECRET not in result.stderr
    assert "Traceback" not in result.stderr
