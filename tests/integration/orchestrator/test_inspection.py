"""The daemon's socket and the commands that ask it."""

import asyncio
import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from manager.serving.ranking import RankRequest
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.asking import asking
from tests.integration.orchestrator.commands import command
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, submit, tenant
from tests.screens.training import keep

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
        assert lines[2] == "state     admission check mk is Pending, waits for a worker to admit it"
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
            ["NAME", "CONNECTION", "GATES", "REPLICAS", "FORECASTS", "EXACT", "MESSAGE"],
            ["w1", "Connected", "honoured", "0", "reliable", "-", "-"],
            ["w2", "Connected", "honoured", "1", "reliable", "-", "-"],
        ]
        workloads = await command(made, tmp_path / "t", "status", "workloads", "-o", "json")
        (found,) = json.loads(workloads.stdout)["items"]
        assert (found["namespace"], found["name"], found["check"], found["cluster"]) == ("team", "wl", "Ready", "w2")
        assert found["phase"] == "Admitted"


async def test_a_worker_whose_kubeconfig_is_gone_is_listed_as_refused(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING) as made:
        await made.settled()
        assert made.daemon is not None
        daemon = made.daemon
        made.hub.delete("secrets", "w2", namespace="turnstile-system")
        await made.until(lambda: "Refused" in [each["connection"] for each in daemon.inspector.workers()])
        known = {each["name"]: each for each in daemon.inspector.workers()}
        assert [(name, each["connection"], each["replicas"]) for name, each in sorted(known.items())] == [
            ("w1", "Connected", 0),
            ("w2", "Refused", None),
        ]
        assert known["w2"]["message"].startswith("load client config failed")
        workers = (await daemon.inspector.overview())["workers"]
        assert (workers["total"], workers["connected"], workers["away"]) == (2, 1, ["w2"])
        shown = (await daemon.inspector.live.document(RankRequest()))["workers"]["items"]
        assert [(each["name"], each["quota"] is None) for each in shown] == [("w1", False), ("w2", True)]


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


async def test_victims_are_listed_from_the_daemons_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with forecasting(tmp_path, SETTING, journal={"path": str(path)}) as made:
        submit(made, cpu=8)
        await passing(made, lambda: made.check()["state"] == "Ready")
        await made.settled()
        keep(made, path)
        listed = await command(made, tmp_path / "s", "timeline", "--victims", "-n", "team", "-o", "json")
        (found,) = json.loads(listed.stdout)["items"]
        told = [found[name] for name in ("worker", "namespace", "name", "preemptor", "forecast", "result")]
        assert told == ["w2", "team", "other", "team/wl", True, "exact"]
        nothing = await command(made, tmp_path / "t", "timeline", "--victims", "-n", "elsewhere", "-o", "name")
        assert (nothing.exit_code, nothing.stdout) == (0, "")


async def test_a_daemon_without_a_journal_says_so(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue()]}, journal={"path": None}) as made:
        result = await command(made, tmp_path / "s", "timeline", "--victims")
        assert (result.exit_code, len(result.stderr.splitlines())) == (3, 1)
        assert "no journal is kept: journal.path is null" in result.stderr


BAD_QUESTIONS = {
    "a time that is no number": {"sinceSeconds": "soon"},
    "a negative time": {"sinceSeconds": "-1"},
    "a time that is too long": {"sinceSeconds": "9" * 10},
    "a place that no answer named": {"continue": "x"},
}


async def test_a_bad_question_about_victims_is_refused(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue()]}) as made, asking(made, tmp_path) as asker:
        for name, query in BAD_QUESTIONS.items():
            status, body = await asker.get("victims", **query)
            (field,) = query
            assert (status, body["error"].startswith(f"{field} ")) == (400, True), name
