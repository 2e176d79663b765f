"""The bed's command line: what it refuses, and what it says when a bed cannot be."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conformance.servers import why_no_real_server


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.realbed", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("verb", "code"), [("status", 1), ("down", 0)])
def test_without_a_bed_it_says_so(tmp_path: Path, verb: str, code: int) -> None:
    done = command(verb, "--directory", tmp_path)
    assert (done.returncode, done.stdout) == (code, "no bed is up\n")


@pytest.mark.parametrize("count", ["0", "21", "two", "-1"])
def test_a_wrong_number_of_workers_is_refused(tmp_path: Path, count: str) -> None:
    done = command("up", "--directory", tmp_path, f"--workers={count}")
    assert done.returncode == 2
    assert f"argument --workers: '{count}' is not allowed: a whole number from 1 to 20" in done.stderr


@pytest.mark.parametrize("gates", ["PriorityBoost", "PriorityBoost=yes", "=true", "A=true;B=true"])
def test_wrong_feature_gates_are_refused(tmp_path: Path, gates: str) -> None:
    done = command("up", "--directory", tmp_path, f"--feature-gates={gates}")
    assert done.returncode == 2
    assert f"'{gates}' is not allowed: NAME=true or NAME=false, separated by commas" in done.stderr


def test_a_stale_note_of_another_process_is_no_bed(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"pid": 1, "lines": ["…"]}')
    assert command("status", "--directory", tmp_path).stdout == "no bed is up\n"


@pytest.mark.real
def test_a_crash_in_the_set_up_of_a_real_bed_is_explained_and_leaves_nothing_running(tmp_path: Path) -> None:
    if reason := why_no_real_server():
        pytest.skip(f"no real Kueue: {reason}")
    done = command("up", "--directory", tmp_path, "--workers=1", "--feature-gates=Nonsense=true")
    assert done.returncode == 1
    assert "worker-1-kueue ended with exit code 1" in done.stderr
    assert "unrecognized feature gate: Nonsense" in done.stderr
    assert [each for each in command_lines() if str(tmp_path) in each] == []
    assert command("status", "--directory", tmp_path).stdout == "no bed is up\n"


def command_lines() -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().decode(errors="replace"))
    return found
