"""`turnstile timeline --journal`: from a file alone, also while a daemon writes it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.names import CONFIG_API_VERSION, CONFIG_KIND
from manager.cli.app import app
from tests.unit.manager.journals import journal, look, write, written


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["timeline", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_a_journal_is_read_without_asking_anybody(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look("a"), look("b"))
    code, output, errors = run("ns/a", "--journal", str(tmp_path / "j.db"))
    assert (code, errors) == (0, "")
    assert [line.split(maxsplit=4) for line in output.splitlines()] == [
        ["TIME", "AFTER", "EVENT", "WORKER", "MESSAGE"],
        ["2027-01-15T07:00:00Z", "+0.0s", "QuotaReserved", "-", "-"],
        ["2027-01-15T08:00:00Z", "+3600.0s", "Signalled", "w1", "asks to preempt"],
        ["2027-01-15T08:00:00Z", "+3600.0s", "GateOpened", "w1", "FirstComeFirstServed; no other worker asked"],
    ]


def test_a_journal_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    writing = journal(tmp_path / "j.db")
    writing.note_reconciliation(look("a"))
    written(writing)
    try:
        assert run("ns/a", "--journal", str(tmp_path / "j.db"))[0] == 0
    finally:
        writing.close()


def test_the_configuration_says_where_the_journal_is(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look("a"))
    document = {"apiVersion": CONFIG_API_VERSION, "kind": CONFIG_KIND, "journal": {"path": str(tmp_path / "j.db")}}
    (tmp_path / "c.yaml").write_text(json.dumps(document))
    assert run("a", "-n", "ns", "--config", str(tmp_path / "c.yaml"), "-o", "name")[:2] == (
        0,
        "workload.kueue.x-k8s.io/a\n",
    )


BAD = {
    "no such Workload": (("ns/nobody", "--journal", "j.db"), "j.db: no decision about Workload ns/nobody is recorded"),
    "no such file": (("ns/a", "--journal", "none"), "none: does not exist; journal.path in the configuration"),
    "a text": (("ns/a", "--journal", "text"), "text: the journal is damaged or cut off"),
    "a job": (("job/x", "-n", "ns", "--journal", "j.db"), "a journal lists Workloads, not jobs"),
    "two journals": (("ns/a", "--journal", "j.db", "--config", "c"), "--journal and --config both name a journal"),
    "no configuration": (("ns/a", "--config", "none"), "none: "),
}


@pytest.mark.parametrize(("arguments", "want"), BAD.values(), ids=BAD)
def test_what_cannot_be_told_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], want: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "j.db", look("a"))
    Path("text").write_text("hello " * 1000)
    code, output, errors = run(*arguments)
    assert (code, output, len(errors.splitlines())) == (2, "", 1), errors
    assert want in errors
