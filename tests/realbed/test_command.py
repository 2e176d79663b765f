"""The bed's command line, as far as it needs no bed."""

import subprocess
import sys
from pathlib import Path

import pytest


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
