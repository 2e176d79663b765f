"""`turnstile shadow report` from a journal, and one sentence where there is nothing to report from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from manager.cli.app import app
from tests.support.shadow_journals import episode, write
from tests.unit.manager.journals import look
from tests.unit.manager.journals import write as write_decisions


def report(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["shadow", "report", *arguments])
    return result.exit_code, result.stdout, result.stderr


SCREEN = """\
WORKLOAD       LET PREEMPT  AT                    GATE  FORECAST  VERIFIED  VICTIMS  PODS  POD-HOURS
team/training  eu-1         2027-01-15T08:00:00Z  none  Preempts  exact     2        5     6.2
team/training  us-1         2027-01-15T08:00:00Z  none  Preempts  exact     1        2     1.0

one cluster per timeout: broken 1 time(s)
  team/training: us-1 0s after eu-1, without gates
team/training: FirstComeFirstServed would have chosen eu-1: -1 victims, -2 pods, -1.0 pod-hours
team/training: LeastDisruption would have chosen us-1: -2 victims, -5 pods, -6.2 pod-hours
team/training: PreferNoPreemption would have chosen eu-1: -1 victims, -2 pods, -1.0 pod-hours
forecasts: 2 exact
caused: 3 victims, 7 pods, 7.2 pod-hours
spared by FirstComeFirstServed: 1 victims, 2 pods, 1.0 pod-hours (1 of 1 compared)
spared by LeastDisruption: 2 victims, 5 pods, 6.2 pod-hours (1 of 1 compared)
spared by PreferNoPreemption: 1 victims, 2 pods, 1.0 pod-hours (1 of 1 compared)
"""


def test_the_latest_state_of_each_episode_is_reported(tmp_path: Path) -> None:
    done = episode()
    begun = replace(done, starts=done.starts[:1], breaches=())
    code, output, _ = report("--journal", str(write(tmp_path / "j.db", begun, done)))
    assert code == 0
    assert output == SCREEN


def test_the_screen_of_the_documentation_is_this_one() -> None:
    page = Path(__file__).parents[3] / "docs" / "shadow.md"
    assert f"```console\n$ turnstile shadow report\n{SCREEN}```" in page.read_text()


def test_programs_get_the_same_as_json(tmp_path: Path) -> None:
    path = write(tmp_path / "j.db", episode("a"), episode("b"))
    code, output, _ = report("--journal", str(path), "-o", "json", "--last", "1")
    found = json.loads(output)
    assert code == 0
    assert [each["workload"] for each in found["episodes"]] == ["team/b"]
    assert found["totals"]["breaches"] == 2


def test_a_journal_without_episodes_says_so(tmp_path: Path) -> None:
    assert report("--journal", str(write(tmp_path / "j.db", replace(episode(), starts=()))))[:2] == (
        0,
        "no attempt is recorded: no worker was allowed to preempt, or the shadow that writes this journal "
        "observes nothing; without --journal the running shadow is asked\n",
    )


def test_the_journal_of_an_orchestrator_is_not_a_report_of_shadow_mode(tmp_path: Path) -> None:
    write_decisions(tmp_path / "j.db", look("a"))
    code, output, errors = report("--journal", str(tmp_path / "j.db"))
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert "j.db: an orchestrator wrote this journal, not shadow mode; `turnstile timeline --victims" in errors


def nothing(path: Path) -> None:
    del path


def rubbish(path: Path) -> None:
    path.write_bytes(b"no journal")


UNUSABLE = {
    "there is no such file": (nothing, "does not exist; journal.path in the configuration says"),
    "something else": (rubbish, "file is not a database"),
}


@pytest.mark.parametrize(("make", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_of_no_use_is_told_in_one_sentence(tmp_path: Path, make: object, message: str) -> None:
    assert callable(make)
    make(tmp_path / "j.db")
    code, output, error = report("--journal", str(tmp_path / "j.db"))
    assert (code, output) == (2, "")
    assert message in error
    assert error.count("\n") == 1


def test_without_a_daemon_the_exit_code_is_3(tmp_path: Path) -> None:
    code, output, error = report("--socket", str(tmp_path / "none.sock"))
    assert (code, output) == (3, "")
    assert error.startswith("error: no daemon answers on ")
