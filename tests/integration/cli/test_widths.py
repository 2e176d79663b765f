"""No line of a screen is longer than the terminal, and what matters is still there: the scenes of docs/cli.md."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manager.cli.ask.explain import report_of
from manager.cli.ask.listings import listing_of
from manager.cli.ask.plan_report import lines_of
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import Report, TableView, rendered
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.display.fitting import cells
from tests.integration.orchestrator.forecasting import forecasting
from tests.integration.orchestrator.planning import open_hub
from tests.screens.camera import ROOT, Camera, beside
from tests.screens.training import GATES, NAME, SETTING, submitted

WIDTHS = (40, 60, 80, 100, 120, 200)
LOST = "cluster north: list workloads.kueue.x-k8s.io: Cannot connect to host 192.0.2.7:6443 ssl:default [Connect " * 2
COMMANDS = {
    "workers": ("status", "workers"),
    "workloads": ("status", "workloads", "-A"),
    "gates": ("status", "gates", "-A"),
    "explain": ("explain", f"team/{NAME}"),
    "plan": ("plan", "-n", "team", "-f", "docs/examples/training-job.yaml"),
}
ESSENTIAL = {
    "workers": ("NAME", "CONNECTION", "MESSAGE"),
    "workloads": ("NAMESPACE", "NAME", "PHASE", "MESSAGE"),
    "gates": ("NAMESPACE", "NAME", "WORKER", "GATE"),
    "explain": ("WORKER", "WOULD", "SAYS"),
    "plan": ("WORKER", "WOULD", "MESSAGE"),
}


async def documents(camera: Camera) -> dict[str, Any]:
    """Return what the daemon answers, and a worker that is lost with a long reason."""
    found = {}
    for name, command in COMMANDS.items():
        done = await camera.run(*command, "-o", "json")
        assert done.returncode in (0, 1), done.stdout
        found[name] = json.loads(done.stdout)
    lost = found["workers"]["items"][1]
    lost |= {"connection": "Lost", "message": LOST, "forecast": "none", "forecastProblem": LOST}
    return found


def results(found: dict[str, Any]) -> Iterator[tuple[str, TableView | Report]]:
    for name, document in found.items():
        now = {"now": document.get("asOf"), "source": document["source"]}
        if name == "explain":
            yield name, report_of({**document, **now})
        elif name == "plan":
            plans = [document]
            yield name, Report("Plan", document, lambda screen, wide: lines_of(plans, screen, is_wide=wide), [])  # noqa: B023
        else:
            yield name, listing_of(name, {**now, name: document["items"]}, has_namespaces=True)


async def test_every_screen_fits_and_shows_what_matters(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING, gates=GATES) as made:
        await submitted(made)
        open_hub(made)
        await made.pass_time(12)
        async with beside(made, tmp_path) as camera:
            found = await documents(camera)
    for name, result in results(found):
        for width in WIDTHS:
            screen = TerminalScreen(is_terminal=True, has_colours=True, width=width)
            lines = list(rendered(result, Form.TABLE, screen))
            assert all(cells(line) <= width for line in lines), (name, width, lines)
            heads = next(line for line in lines if "NAME" in line or "WORKER" in line)
            shown = heads.replace("\x1b[1m", "").replace("\x1b[0m", "").split()
            if width >= 60:
                assert set(ESSENTIAL[name]) <= set(shown), (name, width, lines)
            if name == "workers" and width >= 80:
                assert any("  list workloads.kueue.x-k8s" in line for line in lines), "why it is lost"
        wide = list(rendered(result, Form.WIDE, TerminalScreen(is_terminal=True, width=40)))
        assert wide == list(rendered(result, Form.WIDE, TerminalScreen())), "-o wide has no limit"


def test_the_width_is_that_of_the_terminal(tmp_path: Path) -> None:
    source = ROOT / "docs" / "examples"
    manager, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 48, 0, 0))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1"}
    command = [sys.executable, "-P", "-m", "manager", "predict", "-f", str(source)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=terminal, stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    lines = os.read(manager, 1 << 16).decode().splitlines() if done.returncode == 0 else [done.stderr.decode()]
    os.close(manager)
    assert done.returncode == 0, done.stderr
    assert lines
    assert max(map(cells, lines)) <= 48
