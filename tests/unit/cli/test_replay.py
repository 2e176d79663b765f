"""`turnstile replay`: identical decisions, honest differences, and one sentence for a file of no use."""

import gzip
import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gates.model.rules import Rule
from manager.cli.app import app
from manager.journal.schema import too_new
from tests.unit.manager.journals import look, write


def replay(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["replay", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_every_decision_is_made_again(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look("a"), look("b"))
    code, output, _ = replay(str(tmp_path / "j.db"), "--verbose")
    assert code == 0
    assert output.splitlines() == [
        "2027-01-15T08:00:00Z ns/a gate-opened: RecordOpenings, OpenGate",
        "2027-01-15T08:00:00Z ns/b gate-opened: RecordOpenings, OpenGate",
        "2 decisions replayed, 2 identical, 0 different",
    ]


def test_a_decision_that_would_be_another_today_is_shown(tmp_path: Path) -> None:
    made = look("a")
    write(tmp_path / "j.db", replace(made, decision=replace(made.decision, rule=Rule.DISPATCHED)), look("b"))
    code, output, _ = replay(str(tmp_path / "j.db"))
    assert code == 1
    assert "ns/a dispatched: RecordOpenings, OpenGate\n  now: gate-opened: RecordOpenings, OpenGate\n" in output
    assert output.endswith("2 decisions replayed, 1 identical, 1 different\n")


def test_a_document_names_what_differs(tmp_path: Path) -> None:
    made = look("a")
    write(tmp_path / "j.db", replace(made, decision=replace(made.decision, rule=Rule.DISPATCHED)), look("b"))
    code, output, _ = replay(str(tmp_path / "j.db"), "-o", "json")
    found = json.loads(output)
    assert (code, found["kind"], found["decisions"], found["identical"], found["different"]) == (1, "Replay", 2, 1, 1)
    (item,) = found["items"]
    assert (item["workload"], item["recorded"]["rule"], item["recorded"]["actions"]) == (
        "ns/a",
        "dispatched",
        ["RecordOpenings", "OpenGate"],
    )
    assert item["made"] == {**item["recorded"], "rule": str(made.decision.rule)}
    assert len(json.loads(replay(str(tmp_path / "j.db"), "-v", "-o", "json")[1])["items"]) == 2


def test_a_journal_with_the_former_rule_codes_is_replayed(tmp_path: Path) -> None:
    """The file was written when rules were called P5, G7 and so on; since then five messages were reworded."""
    path = tmp_path / "j.db"
    path.write_bytes(gzip.decompress(Path("tests/data/journal-rule-codes.db.gz").read_bytes()))
    code, output, _ = replay(str(path), "-o", "json", "--verbose")
    found = json.loads(output)
    assert (code, found["decisions"], found["identical"], found["different"]) == (1, 80, 75, 5)
    for item in found["items"]:
        made, was = item["made"], item["recorded"]
        assert (made["rule"], made["actions"]) == (was["rule"], was["actions"]), "only the wording of a message differs"
        assert item["recorded"]["rule"] in set(Rule)
    recorded = [(item["recorded"]["rule"], item["recorded"]["actions"]) for item in found["items"]]
    assert (Rule.CHECK_REJECTED, []) in recorded


def test_one_workload_can_be_picked(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look("a"), look("b"))
    assert replay(str(tmp_path / "j.db"), "-w", "ns/b")[1] == "1 decisions replayed, 1 identical, 0 different\n"


def damaged(path: Path) -> None:
    write(path, *(look(f"wl-{number}") for number in range(400)))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def of_the_future(path: Path) -> None:
    write(path, look())
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def with_unknown_content(path: Path) -> None:
    write(path, look())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE rules SET body = ?", (b'{"settings":{"hindsight":1},"policies":{}}',))
    database.close()


def without_rules(path: Path) -> None:
    write(path, look())
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM rules")
    database.close()


def with_garbage(path: Path) -> None:
    write(path, look())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entries SET body = x'00'")
    database.close()


BAD = {
    "no file": (lambda path: path.exists(), "does not exist; journal.path in the configuration says where"),
    "a directory": (lambda path: path.mkdir(), "is a directory: name a file in it"),
    "a text": (lambda path: path.write_text("hello " * 1000), "the journal is damaged or cut off"),
    "an empty file": (lambda path: path.write_bytes(b""), "this is not a journal of turnstile"),
    "a truncated journal": (damaged, "the journal is damaged or cut off"),
    "a newer version's journal": (of_the_future, too_new(99)),
    "content that is not known": (with_unknown_content, "use the version of turnstile that wrote it"),
    "lost rules": (without_rules, "the journal is damaged: a decision has lost its rules"),
    "garbage": (with_garbage, "the journal is damaged or cut off"),
}


@pytest.mark.parametrize(("make", "want"), BAD.values(), ids=BAD)
def test_a_file_of_no_use_is_one_sentence(tmp_path: Path, make: object, want: str) -> None:
    assert callable(make)
    make(tmp_path / "j.db")
    code, _, errors = replay(str(tmp_path / "j.db"))
    assert code == 2
    assert want in errors
    assert errors.startswith(f"error: {tmp_path}/j.db: ")
    assert len(errors.splitlines()) == 1


def test_a_workload_that_is_not_in_it_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look())
    code, _, errors = replay(str(tmp_path / "j.db"), "--workload", "wl")
    assert (code, len(errors.splitlines())) == (2, 1)
    assert "no decision about Workload wl is recorded; Workloads are named NAMESPACE/NAME" in errors


def test_a_copy_without_its_log_file_is_read(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look())
    shutil.copy(tmp_path / "j.db", tmp_path / "copy.db")
    assert replay(str(tmp_path / "copy.db"))[0] == 0
