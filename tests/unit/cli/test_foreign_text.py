"""Whatever a worker calls its objects and says about them: no screen and no log line lets it move the cursor."""

import io
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from config.sections.process import Logging
from config.types.choices import LogFormat
from manager.cli.app import app
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.doctor import lines_of
from manager.logging.logs import configure_logging, get_log
from tests.support.foreign_text import BAD, unprintable

NOW = "2027-01-15T08:00:00Z"
COST = {"victims": 1, "pods": 1, "podSeconds": 1}
WORKER = {
    "name": BAD,
    "connection": BAD,
    "replicas": 1,
    "forecast": BAD,
    "forecastProblem": BAD,
    "podForecastProblem": BAD,
    "hitRate": None,
    "lostSince": "",
    "clockSkewSeconds": None,
    "workloads": 1,
    "message": f"{BAD}!",
}
WORKLOAD = dict.fromkeys(("name", "namespace", "phase", "cluster", "gate", "owner", "queue", "clusterQueue"), BAD)
WORKLOAD |= {"forecast": BAD, "message": BAD}
VICTIM = dict.fromkeys(("workload", "owner", "clusterQueue", "reason"), BAD)
EXPLAINED_VICTIM = {**VICTIM, "priority": 0, "preemptionCost": 0, "runningSince": NOW, "leavingAlready": False}
POD_VICTIM = {
    **dict.fromkeys(("pod", "node", "podGroup"), BAD),
    "priority": 0,
    "violatesBudget": True,
    "runningSince": "",
}
PLANNED = {
    "name": BAD,
    "verdict": BAD,
    "flavors": {BAD: [BAD]},
    "borrowing": None,
    "victims": [
        {
            **VICTIM,
            "priority": 0,
            "pods": 1,
            "runningSeconds": None,
            "preemptionCost": 0,
            "costInDecision": None,
            "leavingAlready": False,
        }
    ],
    "missing": [dict.fromkeys(("podSet", "resource", "flavor", "missing", "overCapacity"), BAD)],
    "cost": None,
    "largest": None,
    "reliable": False,
    "message": BAD,
    "notes": [BAD],
}
START = {"cluster": BAD, "at": NOW, "gated": True, "forecast": BAD, "result": BAD, "caused": COST}
EPISODE = {
    "workload": f"{BAD}/{BAD}",
    "starts": [START],
    "breaches": [{"first": BAD, "second": BAD, "secondsBetween": 1, "gated": True}],
    "choices": [{"policy": BAD, "cluster": BAD, "cost": {**COST, "pods": 0}}],
    "settled": True,
    "caused": COST,
}
ANSWERS: dict[str, Any] = {
    "overview": {
        "now": NOW,
        "daemon": {"version": BAD, "acts": True, "origin": BAD, "hub": BAD},
        "workers": {"connected": 0, "total": 1, "away": [BAD], "unreliable": [BAD]},
        "workloads": {BAD: 1},
        "gates": {BAD: 1},
        "forecasts": {BAD: 1},
    },
    "workers": {"now": NOW, "workers": [WORKER]},
    "workloads": {"now": NOW, "workloads": [{**WORKLOAD, "created": NOW, "nominated": [BAD]}]},
    "gates": {
        "now": NOW,
        "gates": [{**WORKLOAD, "worker": BAD, "asksSince": NOW, "opened": NOW, "windowEnds": NOW}],
    },
    "forecasts": {
        "now": NOW,
        "forecasts": [
            {
                **WORKLOAD,
                "worker": BAD,
                "verdict": BAD,
                "result": BAD,
                "resultMessage": BAD,
                "opened": NOW,
                "cost": {"victims": 1, "pods": 1},
                "flavors": {BAD: [BAD]},
            }
        ],
    },
    "explanation": {
        **WORKLOAD,
        "now": NOW,
        "created": NOW,
        "problem": "",
        "check": {"name": BAD, "state": BAD},
        "state": {**dict.fromkeys(("reason", "message", "check", "deactivatedBy", "remedy"), BAD), "since": NOW},
        "gates": [{"worker": BAD, "opened": BAD, "windowEnds": BAD}],
        "lastForecast": dict.fromkeys(("worker", "verdict", "result", "resultMessage"), BAD),
        "lastPodForecast": dict.fromkeys(("worker", "verdict", "result", "resultMessage"), BAD),
        "next": {
            **dict.fromkeys(("kind", "worker", "otherWorker", "reason", "rule"), BAD),
            "at": NOW,
            "actions": [BAD],
        },
        "workers": [
            {
                "name": BAD,
                "gate": BAD,
                "replica": {"state": BAD, "since": BAD, "message": f"{BAD}!"},
                "forecast": {"verdict": BAD, "message": BAD, "reliable": True, "victims": [EXPLAINED_VICTIM]},
                "pods": {"verdict": BAD, "message": BAD, "approximate": [BAD], "victims": [POD_VICTIM]},
                "preemption": None,
            },
            {
                "name": BAD,
                "gate": BAD,
                "replica": {"state": BAD, "since": BAD, "message": BAD},
                "forecast": None,
                "pods": None,
                "preemption": {"victims": [{**EXPLAINED_VICTIM, "pods": 1, "forecast": True, "preempted": False}]},
            },
        ],
    },
    "timeline": {
        "namespace": BAD,
        "name": BAD,
        "journalProblem": BAD,
        "events": [{"time": NOW, "event": BAD, "worker": BAD, "message": BAD}],
    },
    "plan": {
        "job": {
            **dict.fromkeys(("kind", "namespace", "name", "queue"), BAD),
            "priority": 0,
            "podSets": [{"count": 1, "name": BAD}],
        },
        "workers": [PLANNED],
        "takes": True,
        "chosen": {"worker": BAD, "others": [BAD], "why": BAD},
        "largest": {"withoutPreemption": None, "podSet": BAD},
        "remarks": [BAD, BAD],
    },
    "shadow": {
        "observes": True,
        "problems": [dict.fromkeys(("kind", "cluster", "message", "remedy"), BAD)],
        "episodes": [EPISODE],
        "totals": {
            "starts": 1,
            "breaches": 1,
            "episodes": 1,
            "forecasts": {BAD: 1},
            "caused": COST,
            "policies": [{"policy": BAD, "compared": 1, "spared": COST}],
        },
    },
}
COMMANDS = {
    "status": ("status",),
    "status workers": ("status", "workers"),
    "status workloads": ("status", "workloads", "-A"),
    "status gates": ("status", "gates", "-A"),
    "status forecasts": ("status", "forecasts", "-A"),
    "explain": ("explain", "team/x"),
    "timeline": ("timeline", "team/x"),
    "plan": ("plan", "-n", "team", "-f"),
    "shadow report": ("shadow", "report"),
}


class _Daemon(BaseHTTPRequestHandler):
    """Gives the answer that the end of the path names."""

    def do_GET(self) -> None:
        body = json.dumps(ANSWERS[self.path.partition("?")[0].rpartition("/")[2]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextmanager
def answering(socket: Path) -> Iterator[None]:
    with ThreadingUnixStreamServer(str(socket), _Daemon) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml", "name"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_lets_a_worker_move_the_cursor(tmp_path: Path, command: str, form: str) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}))
    files = [str(job)] if command == "plan" else []
    with answering(tmp_path / "s"):
        arguments = [*COMMANDS[command], *files, "-o", form, "--socket", str(tmp_path / "s")]
        result = CliRunner().invoke(app, arguments)
    has_names = (command, form) != ("status", "name")  # those of an overview are refused
    assert result.exit_code == (0 if has_names else 2), result.output
    assert not unprintable(result.stdout)
    assert not unprintable(result.stderr)
    assert ("owned" in result.stdout) == has_names


def test_nor_does_the_doctor() -> None:
    finding = dict.fromkeys(("cluster", "topic", "message", "remedy"), BAD) | {"severity": "error"}
    kueue = {BAD: {"version": BAD, "source": BAD}}
    lines = lines_of({"items": [finding], "clusters": [BAD], "checks": 1, "kueue": kueue}, TerminalScreen())
    assert len(lines) == 4
    assert not unprintable("".join(lines))


@pytest.mark.parametrize("form", LogFormat)
def test_nor_does_a_log_line_and_it_stays_short(form: LogFormat) -> None:
    stream = io.StringIO()
    try:
        configure_logging(Logging(format=form), stream)
        get_log().warning("worker.lost", worker=BAD, error="x" * 100_000, victims=[BAD, "y" * 100_000])
    finally:
        structlog.reset_defaults()
    assert not unprintable(stream.getvalue())
    assert len(stream.getvalue()) < 40_000


FORGED = "x\n2026-01-01T00:00:00Z [info     ] gate.opened worker=w1\r\x1b[2J\x85\u2028gate.opened\n\n{}"


def raised(problem: str) -> Exception:
    try:
        raise ValueError(problem) from KeyError(problem)
    except ValueError as error:
        error.add_note(problem)
        return error


@pytest.mark.parametrize("form", LogFormat)
def test_S10_no_text_of_an_exception_begins_a_line_of_the_log(form: LogFormat) -> None:
    stream = io.StringIO()
    try:
        configure_logging(Logging(format=form), stream)
        get_log().error("loop.failed", problem=FORGED, exc_info=raised(FORGED))
        get_log().error(FORGED, **{FORGED: FORGED})
        get_log().error("group.failed", exc_info=ExceptionGroup(FORGED, [raised(FORGED)]))
    finally:
        structlog.reset_defaults()
    lines = stream.getvalue().splitlines()
    began = [line for line in lines if not line.startswith("    ")]
    assert len(began) == 3, began
    assert not unprintable(stream.getvalue())
    if form is LogFormat.JSON:
        assert len(lines) == 3
        assert all(json.loads(line)["level"] == "error" for line in lines)
    else:
        assert all("[error" in line for line in began)


@pytest.mark.parametrize("form", LogFormat)
def test_S10_what_a_library_says_on_its_own_is_a_line_too(form: LogFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    stream = io.StringIO()
    library = logging.getLogger("aiohttp.server")
    monkeypatch.setattr(library, "propagate", False)  # pytest listens at the root
    try:
        configure_logging(Logging(format=form), stream)
        library.error("Error handling request from %s", FORGED, exc_info=raised(FORGED))
        library.info("not worth a line")
    finally:
        structlog.reset_defaults()
    (line,) = (line for line in stream.getvalue().splitlines() if not line.startswith("    "))
    assert "library.trouble" in line
    assert "aiohttp.server" in line
    assert not unprintable(stream.getvalue())
