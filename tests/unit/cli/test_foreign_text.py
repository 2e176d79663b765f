"""Whatever a worker calls its objects and says about them: no screen and no log line lets it move the cursor."""

import io
import json
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

from config.choices import LogFormat
from config.sections import Logging
from manager.cli.app import app
from manager.cli.conventions.terminal import Screen
from manager.cli.doctor import lines_of
from manager.logs import configure_logging, get_log

BAD = "<b>&\x1b[2J\x1b]0;owned\x07\x9b1m\r\x08two\nlines\u2028\u202e"
NOW = "2027-01-15T08:00:00Z"
TOLL = {"victims": 1, "pods": 1, "podSeconds": 1}
WORKER = {
    "name": BAD,
    "connection": BAD,
    "copies": 1,
    "forecast": BAD,
    "hitRate": None,
    "lostSince": "",
    "clockSkewSeconds": None,
    "workloads": 1,
    "message": f"{BAD}!",
}
WORKLOAD = dict.fromkeys(("name", "namespace", "phase", "cluster", "gate", "owner", "queue", "clusterQueue"), BAD)
WORKLOAD |= {"forecast": BAD, "message": BAD}
VICTIM = dict.fromkeys(("workload", "owner", "clusterQueue", "reason"), BAD)
PLANNED = {
    "name": BAD,
    "verdict": BAD,
    "flavors": {BAD: BAD},
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
START = {"cluster": BAD, "at": NOW, "gated": True, "forecast": BAD, "result": BAD, "caused": TOLL}
EPISODE = {
    "workload": f"{BAD}/{BAD}",
    "starts": [START],
    "breaches": [{"first": BAD, "second": BAD, "secondsBetween": 1, "gated": True}],
    "choices": [{"policy": BAD, "cluster": BAD, "toll": {**TOLL, "pods": 0}}],
    "settled": True,
    "caused": TOLL,
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
        "gates": [{**WORKLOAD, "worker": BAD, "asksSince": NOW, "opened": NOW, "turnEnds": NOW}],
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
                "flavors": {BAD: BAD},
            }
        ],
    },
    "explanation": {
        **WORKLOAD,
        "now": NOW,
        "created": NOW,
        "state": BAD,
        "gates": [BAD],
        "lastForecast": BAD,
        "next": BAD,
        "workers": [{"name": BAD, "gate": BAD, "forecast": f"{BAD}: {BAD}", "says": f"{BAD}!", "victims": [BAD]}],
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
        "problems": [BAD],
        "episodes": [EPISODE],
        "totals": {
            "starts": 1,
            "breaches": 1,
            "episodes": 1,
            "forecasts": {BAD: 1},
            "caused": TOLL,
            "policies": [{"policy": BAD, "compared": 1, "spared": TOLL}],
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
    assert result.exit_code == 0, result.output
    assert not unprintable(result.stdout)
    assert not unprintable(result.stderr)
    if (command, form) != ("status", "name"):  # an overview has no names
        assert "owned" in result.stdout


def test_nor_does_the_doctor() -> None:
    finding = dict.fromkeys(("cluster", "topic", "message", "remedy"), BAD) | {"severity": "error"}
    lines = lines_of({"items": [finding], "clusters": [BAD]}, Screen())
    assert len(lines) == 3
    assert not unprintable("".join(lines))


@pytest.mark.parametrize("form", LogFormat)
def test_nor_does_a_log_line_and_it_stays_short(form: LogFormat) -> None:
    stream = io.StringIO()
    try:
        configure_logging(Logging(format=form), stream)
        get_log().warning("worker.connection", worker=BAD, message="x" * 100_000, victims=[BAD, "y" * 100_000])
    finally:
        structlog.reset_defaults()
    assert not unprintable(stream.getvalue())
    assert len(stream.getvalue()) < 40_000


def unprintable(text: str) -> list[str]:
    """Return the signs that a terminal would obey; lines may end."""
    return sorted({sign for sign in text if not sign.isprintable() and sign != "\n"})
