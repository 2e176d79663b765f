"""`turnstile doctor`: what it prints, and how it exits."""

import asyncio
import json
import time
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from config.api.meta import ObjectKey
from gates.diagnosis.objects import queue_missing
from localcluster.cluster import Partition
from manager.cli.app import app
from tests.integration.doctor.command import doctor
from tests.integration.doctor.wards import change_kubeconfig, token_until, ward
from tests.integration.orchestrator.kueue import KUEUE

KUEUES = "Kueue: hub v0.20 or later (schema), w1 v0.20 or later (schema), w2 v0.20 or later (schema)"


async def test_nothing_is_found(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        result = await doctor(made, tmp_path)
        assert result.exit_code == 0, result.stderr
        assert result.stdout.splitlines() == [KUEUES, "no problems: 37 checks on 3 clusters (hub, w1, w2)"]
        as_data = json.loads((await doctor(made, tmp_path, "-o", "json")).stdout)
        assert (as_data["kind"], as_data["clusters"], as_data["items"]) == ("FindingList", ["hub", "w1", "w2"], [])
        assert as_data["checks"] == 37


async def test_findings_are_printed_with_their_remedies_and_one_worker_can_be_asked_for(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made["w1"].delete("localqueues", "main", KUEUE)
        result = await doctor(made, tmp_path)
        assert result.exit_code == 1, result.stderr
        assert result.stdout.splitlines() == [
            f"w1: error: queues: {queue_missing(ObjectKey('team', 'main'))}",
            "  remedy: create it on the worker, with a ClusterQueue that has quota",
            KUEUES,
            "1 finding(s): 37 checks on 3 clusters (hub, w1, w2)",
        ]
        healthy = await doctor(made, tmp_path, "--worker", "w2")
        assert (healthy.exit_code, healthy.stdout) == (
            0,
            "Kueue: hub v0.20 or later (schema), w2 v0.20 or later (schema)\n"
            "no problems: 23 checks on 2 clusters (hub, w2)\n",
        )
        as_yaml = await doctor(made, tmp_path, "-o", "yaml")
        assert "topic: queues" in as_yaml.stdout


async def test_without_a_configuration_file_the_hub_of_the_kubeconfig_is_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manager.cli.conventions.configuration.CONFIG_FILE", str(tmp_path / "none.yaml"))
    monkeypatch.delenv("TURNSTILE_CONFIG", raising=False)
    async with ward(tmp_path, "w1", "w2") as made:
        made["w1"].delete("localqueues", "main", KUEUE)
        arguments = ["doctor", "--kubeconfig", str(made.hub.local.kubeconfig_path)]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    assert result.stderr.startswith(f"{tmp_path}/none.yaml does not exist; using the defaults and the hub of context ")
    assert "w1: error: queues: LocalQueue team/main is missing there" in result.stdout
    assert result.stdout.splitlines()[-1].endswith(" on 3 clusters (hub, w1, w2)")


async def test_a_hub_that_does_not_answer_is_exit_code_3(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        await made.hub.local.partition(Partition.REFUSED)
        result = await doctor(made, tmp_path)
        assert result.exit_code == 3
        assert f"{made.hub.local.url} cannot be reached" in result.stdout
        await made.hub.local.heal()


async def test_a_worker_that_is_not_known_is_exit_code_2(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        result = await doctor(made, tmp_path, "--worker", "w9")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == 'error: --worker: there is no worker "w9" (known: w1)\n'


@pytest.mark.parametrize("is_renewed", [False, True], ids=["a token in the kubeconfig", "a token file"])
async def test_only_a_token_that_nothing_renews_is_said_to_end_soon(tmp_path: Path, *, is_renewed: bool) -> None:
    async with ward(tmp_path, "w1") as made:
        token = token_until(time.time() + 3 * 24 * 3600)
        (tmp_path / "token").write_text(token)
        document = yaml.safe_load(made.hub.local.kubeconfig_path.read_text())
        document["users"][0]["user"] = {"tokenFile": "token"} if is_renewed else {"token": token}
        own = tmp_path / "own"
        own.write_text(yaml.safe_dump(document))
        result = await doctor(made, tmp_path, "--kubeconfig", str(own))
        assert "hub: error: token: cluster hub: " in result.stdout, "no cluster accepts that token"
        assert ("hub: warning: token: the token expires at " in result.stdout) is not is_renewed
        assert token not in result.stdout + result.stderr


async def test_no_secret_is_printed(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        secret = token_until(time.time() - 60)
        change_kubeconfig(made, "w1", "user", token=secret)
        result = await doctor(made, tmp_path, "-o", "json")
        assert result.exit_code == 1
        for token in (secret, made.hub.local.token, made["w2"].local.token):
            assert token not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("kind: Configuration\n", "apiVersion"),
    ],
    ids=["a file that is not there", "a file that is wrong"],
)
def test_a_wrong_configuration_is_exit_code_2(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "turnstile.yaml"
    if content is not None:
        file.write_text(content)
    result = CliRunner().invoke(app, ["doctor", "--config", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
