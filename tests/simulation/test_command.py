"""The command: many histories, each the same wherever it is played, and one line for what cannot be used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.command import Tally, main, progress
from tests.simulation.drawing import draw
from tests.simulation.events.catalogue import TROUBLE
from tests.simulation.plan import VERSION

ROOT = Path(__file__).parents[2]
SEEDS = os.environ.get("SIMULATION_SEEDS", "60")
BASE = os.environ.get("SIMULATION_BASE", "1")
KEPT = sorted((Path(__file__).parent / "seeds").glob("*.json"))
"""Histories that once violated a law."""


def simulate(*arguments: str, hash_seed: str = "random") -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_sample_of_histories_violates_no_law() -> None:
    run = simulate("--seeds", SEEDS, "--base", BASE, "--processes", "2")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_histories_that_once_violated_a_law_do_so_no_more(path: Path) -> None:
    run = simulate("--replay", str(path), "--trace")
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr


@pytest.mark.slow
def test_a_seed_is_the_same_history_in_any_process() -> None:
    together = simulate("--seeds", "6", "--base", "7", "--processes", "1", "--digests", hash_seed="1")
    last = simulate("--seeds", "1", "--base", "12", "--processes", "1", "--digests", hash_seed="2")
    assert together.stderr == last.stderr == ""
    digests = [line for line in together.stdout.splitlines() if line.startswith("seed ")]
    assert len(digests) == 6
    assert digests[-1] in last.stdout.splitlines()


def test_a_line_shows_how_far_a_run_has_come() -> None:
    line = progress(Tally(histories=250), 1000, 50.0)
    assert line == f"[{'#' * 7}{'.' * 23}] 250/1000, 5.0 seeds/s, 150 s left, 0 violations\n"
    assert "time unknown" in progress(Tally(), 1000, 0.0)


BAD_ARGUMENTS = {
    "no seeds": (["--seeds", "0"], 'SEEDS: "0" is not allowed: must be a whole number from 1 on'),
    "seeds that are no number": (["--seeds", "many"], 'SEEDS: "many" is not allowed'),
    "a base that is no number": (["--base", "-1"], "BASE: "),
    "an unknown kind of event": (["--only", "flood"], '--only: "flood" is not a kind of event, must be one of: wire:'),
}


@pytest.mark.parametrize(("arguments", "line"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_bad_arguments_get_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([f"{arguments[0]}={arguments[1]}"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(line)
    assert told.count("\n") == 1


SETTING = json.loads(draw(1, TROUBLE).dumps())["setting"]


def plan_with(**changes: object) -> str:
    return json.dumps({**json.loads(draw(1, TROUBLE).dumps()), **changes})


BAD_FILES = {
    "of another version": (plan_with(version=VERSION + 1), f"version is {VERSION + 1}, must be {VERSION}"),
    "with an unknown event": (plan_with(events=[{"at": 1.0, "kind": "flood"}]), 'event "flood" is not known'),
    "with an unknown moment": (
        plan_with(events=[{"at": 1.0, "kind": "watches are cut", "target": "hub", "after": "lunch"}]),
        'moment "lunch" is not known',
    ),
    "with a worker of an unknown Kueue": (
        plan_with(setting={**SETTING, "workers": [{**SETTING["workers"][0], "kueue": "v1"}]}),
        'Kueue "v1" of worker w1 is not known',
    ),
    "with an event about something else": (
        plan_with(events=[{"at": 1.0, "kind": "daemon is killed", "target": "daemon-9"}]),
        'target "daemon-9" of event "daemon is killed" is not known',
    ),
    "that is not JSON": ("seed 7", "not JSON"),
    "that holds something else": ("[]", "version is null"),
    "without a setting": (json.dumps({"version": VERSION}), "not a history"),
}


@pytest.mark.parametrize(("content", "line"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_cannot_be_played_gets_one_line(
    content: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "seed.json"
    path.write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["--replay", str(path)])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1
