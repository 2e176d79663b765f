"""Replays the kubectl sessions of docs/local-clusters.md against a `turnstile local` process.

The documentation is the test's data: every command is run, every printed line compared, with ages normalised.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.console_sessions import Step, fenced_blocks, steps_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "local-clusters.md"
_HOME = "/home/you"
_INTERRUPT = "^C"

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


def normalised(lines: list[str]) -> list[str]:
    """Return lines with ages, hashes in names and trailing blanks made equal."""
    aged = [re.sub(r"\b\d+s\b", "AGE", line).rstrip() for line in lines]
    return [re.sub(r"\b(job-\w+)-[0-9a-f]{5}\b", r"\1-HASH", line) for line in aged]


@dataclass(frozen=True, slots=True)
class Workplace:
    """A directory with the document's files, where a process serves clusters and a session takes place."""

    directory: Path
    session: list[Step]


@pytest.fixture(params=[0, 2], ids=["without Kueue", "with Kueue"])
def workplace(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Workplace]:
    """Run the command of one console block of the document; the block behind it is the session."""
    home = tmp_path_factory.mktemp("home")
    for block in fenced_blocks(DOCUMENT, "yaml"):
        name, _, text = block.partition("\n")
        (home / name.removeprefix("# ")).write_text(text)
    command, session = fenced_blocks(DOCUMENT, "console")[request.param : request.param + 2]
    (start,) = steps_of(command)
    script = Path(sys.executable).with_name("turnstile")
    arguments = start.command.split()[1:]
    process = subprocess.Popen([script, *arguments], cwd=home, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        printed = [process.stdout.readline().rstrip("\n") for _ in start.output]
        assert printed == [line.replace(_HOME, str(home)) for line in start.output]
        yield Workplace(home, steps_of(session))
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, "Ctrl-C is the normal end"
        if process.stdout is not None:
            process.stdout.close()


def test_the_session_prints_what_the_document_shows(workplace: Workplace) -> None:
    environment = dict(os.environ)
    for step in workplace.session:
        if step.exported is not None:
            name, value = step.exported
            environment[name] = value
            continue
        printed = _run(step, workplace.directory, environment)
        assert normalised(printed) == normalised(step.output), f"$ {step.command}\n" + "\n".join(printed)


def _run(step: Step, directory: Path, environment: dict[str, str]) -> list[str]:
    if step.output and step.output[-1] == _INTERRUPT:
        return [*_run_until_interrupted(step, directory, environment), _INTERRUPT]
    done = subprocess.run(
        ["bash", "-c", step.command],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.splitlines()


def _run_until_interrupted(step: Step, directory: Path, environment: dict[str, str]) -> list[str]:
    """Read as many lines as the document shows, then press Ctrl-C, which also counts where tests run in background."""
    command = ["env", "--default-signal=INT", "bash", "-c", f"exec {step.command}"]
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline().rstrip("\n") for _ in step.output[:-1]]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    return printed
