"""The daemon's socket and the commands that ask it."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.commands import command
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, submit, tenant

SETTING = {"w1": [queue(), tenant("low")], "w2": [queue(8), tenant("other", 2)]}


async def test_a_waiting_workload_is_explained_with_a_forecast_of_every_worker(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING, dispatcher={"mode": "External"}) as made:
        submit(made, cpu=4)
        await passing(made, lambda: made["w1"].condition("Admitted", "low"))
        await made.settled()
        result = await command(made, tmp_path / "s", "explain", "team/wl")
        assert result.exit_code == 0, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0] == "Workload team/wl"
        assert lines[1].startswith("queue     LocalQueue main, ClusterQueue cq, for ")
        assert lines[2] == "state     check mk is Pending"
        assert lines[3] == "next      no worker asks to preempt; the first worker to admit wins"
        assert lines[5].split() == ["WORKER", "GATE", "WOULD", "SAYS"]
        assert "Preempts 1 workload(s), 1 pod(s), for cpu=f" in lines[6]
        assert "Fits in cpu=f" in lines[7]
        assert lines[8].startswith("  w1 would preempt team/low, priority 0, running for ")
        assert made.holders() == [], "asking changes nothing"


async def test_status_lists_workers_and_workloads(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING) as made:
        submit(made)
        await passing(made, lambda: made.check()["state"] == "Ready")
        await made.settled()
        workers = await command(made, tmp_path / "s", "status", "workers")
        assert [line.split() for line in workers.stdout.splitlines()] == [
            ["NAME", "CONNECTION", "REPLICAS", "FORECASTS", "EXACT", "MESSAGE"],
            ["w1", "Connected", "0", "reliable", "-", "-"],
            ["w2", "Connected", "1", "reliable", "-", "-"],
        ]
        workloads = await command(made, tmp_path / "t", "status", "workloads", "-o", "json")
        (found,) = json.loads(workloads.stdout)["items"]
        assert (found["namespace"], found["name"], found["check"], found["cluster"]) == ("team", "wl", "Ready", "w2")
        assert found["phase"] == "Admitted"


async def test_an_unknown_workload_is_one_sentence(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue()]}) as made:
        result = await command(made, tmp_path / "s", "explain", "team/nobody")
        assert (result.exit_code, result.stderr) == (2, "error: there is no Workload team/nobody on the hub\n")


async def test_the_socket_is_for_its_owner_and_replaces_one_that_was_left(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue()]}) as made:
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(tmp_path / "s"))
        assert (tmp_path / "s").stat().st_mode & 0o777 != 0o600
        assert made.daemon is not None
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(serve_api(tmp_path / "s", made.daemon.inspector))
            await made.until(lambda: (tmp_path / "s").exists() and (tmp_path / "s").stat().st_mode & 0o777 == 0o600)
            serving.cancel()


async def test_a_socket_that_cannot_be_made_costs_a_warning(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue()]}) as made:
        assert made.daemon is not None
        await serve_api(tmp_path / "missing" / "s", made.daemon.inspector)


@pytest.mark.parametrize("arguments", [("status",), ("status", "gates"), ("explain", "ns/wl"), ("timeline", "ns/wl")])
def test_without_a_daemon_there_is_one_sentence_and_exit_code_3(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = CliRunner(env={"HOME": str(tmp_path), "KUBECONFIG": ""}).invoke(
        app, [*arguments, "--socket", str(tmp_path / "none")]
    )
    assert result.exit_code == 3
    assert f"; the hub cannot be read instead: there is no kubeconfig ({tmp_path}/.kube/config)" in result.stderr
    assert result.stderr.startswith(f"error: no daemon answers on {tmp_path}/none (No such file or directory); is ")
    assert len(result.stderr.splitlines()) == 1
