"""Replays docs/tutorial.md: every command, on a fleet in a directory of its own, and the shape of what it prints."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.console_sessions import Step, fenced_blocks, steps_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "tutorial.md"
HOME = "/home/you"
ANYTHING = "…"
BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 120
CHANGES = ("kubectl create", "turnstile local")
"""Commands that may run only once; what others print is waited for."""

pytestmark = [
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
    pytest.mark.slow,
]


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a directory whose name is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        yield Path(name)


def shape(line: str) -> str:
    """Return a line without what differs from run to run: times, hashes, and which worker or job it was."""
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", line)
    line = re.sub(r"\b(job-\w+(-\d)?)-[0-9a-f]{5}\b", r"\1-HASH", line)
    line = re.sub(r"[+]?\b(\d+m)?\d+(\.\d+)?s\b", "AGE", line)
    line = re.sub(r"\b(worker|batch)-\d\b", r"\1-N", line)
    line = re.sub(r"\b\d+ (decisions|identical)", r"N \1", line)
    return re.sub(r" +", " ", line).rstrip()


def unlike(step: Step, printed: list[str]) -> str:
    """Return what is missing from the output, or too much; empty if it has the shape that the document shows."""
    left = [shape(line) for line in printed if line.strip()]
    wanted = [shape(line) for line in step.output if line.strip()]
    for line in wanted:
        if line == ANYTHING:
            continue
        pattern = ".*".join(map(re.escape, line.split(ANYTHING)))
        found = next((each for each in left if re.fullmatch(pattern, each)), None)
        if found is None:
            return f"missing: {line}"
        left.remove(found)
    return "" if ANYTHING in wanted or not left else f"not shown: {left}"


def run_like_a_user(step: Step, home: Path, environment: dict[str, str]) -> None:
    """Run a command until it prints what the document shows; one that changes something runs once."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        difference = unlike(step, done.stdout.splitlines())
        if not difference:
            return
        is_final = step.command.startswith(CHANGES) or time.monotonic() > deadline
        assert not is_final, f"$ {step.command}\n{done.stdout}\n{difference}"


def start_fleet(start: Step, home: Path) -> subprocess.Popen[str]:
    """Run `turnstile local --fleet` as the document says, and read what it prints until it serves."""
    process = subprocess.Popen(
        [BIN / start.command.split()[0], *start.command.split()[1:]], cwd=home, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    printed: list[str] = []
    for line in process.stdout:
        printed.append(line.rstrip("\n"))
        if printed[-1] == start.output[-1]:
            break
    shown = Step(start.command, [line.replace(HOME, str(home)) for line in start.output])
    assert not unlike(shown, printed), printed
    return process


def test_the_tutorial_does_what_it_shows(home: Path) -> None:
    first, *blocks = fenced_blocks(DOCUMENT, "console")
    (start,) = (step for step in steps_of(first) if step.output)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PWD": str(home)}
    process = start_fleet(start, home)
    try:
        for step in (step for block in blocks for step in steps_of(block)):
            if step.exported is not None:
                name, value = step.exported
                environment[name] = re.sub(r"\$(\w+)", lambda found: environment[found[1]], value)
                continue
            run_like_a_user(step, home, environment)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, "Ctrl-C is the normal end"
    finally:
        if process.poll() is None:
            process.kill()
        if process.stdout is not None:
            process.stdout.close()
    left = {path.name for path in (home / ".turnstile").iterdir()}
    assert {"batch.yaml", "daemon.log", "journal.db", "turnstile.yaml"} <= left
    assert not left & {"hub", "worker-1", "worker-2", "api.sock", "control.sock"}
