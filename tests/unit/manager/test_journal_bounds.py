"""S5: what the system says the journal's files take stays bounded, however much is read and decided.

The oracle is `stat` of all files, never what the journal says of itself.
"""

import itertools
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from structlog.testing import capture_logs

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.sections.process import JournalSection
from gates.model.rules import Rule
from gates.model.settings import MINUTE, UngatedPolicy
from gates.model.view import WorkloadView
from manager.journal.file import JournalEntry, JournalFile, WriteOutcome
from manager.journal.reader import read_entries, read_latest
from manager.journal.replay import replayed
from manager.journal.writer import DECISION, Journal, JournaledDecision, JournaledRules, JournalLimits
from tests.unit.gates.groups import NOW, group, hub, worker
from tests.unit.manager.journals import LIMITS, journal, look, named, write, written

pytestmark = pytest.mark.slow
MAX = 2 << 20
SMALL = JournalLimits(timedelta(days=7), MAX)
FILES = ("", "-wal", "-shm", "-lock", "-journal")


def on_disk(path: Path) -> int:
    """Return what the system says that all files of the journal take, the block of their directory included."""
    files = [Path(f"{path}{suffix}") for suffix in FILES]
    return 4096 + sum(file.stat().st_size for file in files if file.exists())


def flood(made: Journal, path: Path, numbers: range, state: WorkloadView | None = None) -> int:
    """Hand decisions over as fast as they are taken; return the most that the files took meanwhile."""
    most = 0
    for number in numbers:
        made.note_reconciliation(named(f"wl-{number}", state))
        if number % 256 == 0:
            written(made)
            most = max(most, on_disk(path))
    written(made)
    return max(most, on_disk(path))


def recorded(path: Path, workload: str | None = None) -> list[JournalEntry]:
    return list(read_entries(path, DECISION, JournaledDecision, JournaledRules, workload))


def is_degraded(made: Journal) -> bool:
    return made.is_degraded


@contextmanager
def held_open(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold a read transaction as a stranger's program might."""
    reader = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchone()
    try:
        yield reader
    finally:
        reader.close()


def test_S5_a_flood_beside_a_paused_replay_stays_within_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, *(named(f"early-{number}") for number in range(600)), limits=SMALL)
    paused = replayed(path)
    next(paused)
    made = journal(path, JournalLimits(timedelta(days=7), 4 * MAX))
    most = flood(made, path, range(100_000), group(hub()))  # the smallest state there is, for the sake of time
    made.close()
    assert made.dropped == 0, "a reader between two pages keeps nothing from being written"
    assert most <= 1.5 * 4 * MAX
    assert recorded(path)[-1].workload == "ns/wl-99999"
    assert sum(1 for _ in paused) > 500, "the reader goes on, with what is left"


def test_S5_a_held_transaction_costs_entries_but_not_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look(), limits=SMALL)
    made = journal(path, SMALL)
    with capture_logs() as logs:
        with held_open(path):
            assert flood(made, path, range(10_000)) <= 2 * MAX
            assert made.dropped > 0
            assert is_degraded(made)
            assert [entry["event"] for entry in logs] == ["journal.full"], "said once"
        dropped = made.dropped
        assert flood(made, path, range(10_000, 20_000)) <= 2 * MAX
        assert made.dropped == dropped, "with the reader gone everything is written again"
        assert not is_degraded(made)
    made.close()
    assert [entry["event"] for entry in logs] == ["journal.full", "journal.has_room"]
    assert recorded(path)[-1].workload == "ns/wl-19999"
    assert on_disk(path) <= 1.5 * MAX


def test_S5_a_journal_without_room_for_large_entries_has_none_because_a_small_one_fits(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look(), limits=SMALL)
    made = journal(path, SMALL)
    large = group(hub(), worker("w1", problem=os.urandom(40_000).hex()))
    with capture_logs() as logs, held_open(path):
        for number in itertools.count():
            made.note_reconciliation(named(f"large-{number}", large))
            written(made)
            if made.dropped:
                break
        made.note_reconciliation(named("small"))
        written(made)
        assert made.dropped == 1, "the small one was written"
        assert is_degraded(made)
        assert [entry["event"] for entry in logs] == ["journal.full"]
    made.close()


def test_S5_readers_that_come_and_go_without_end_leave_the_bound_in_force(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look(), limits=SMALL)
    made = journal(path, SMALL)
    most = 0
    for start in range(0, 12_000, 1000):
        with held_open(path) as reader:
            most = max(most, flood(made, path, range(start, start + 500)))
            reader.execute("COMMIT")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM entries").fetchone()
            most = max(most, flood(made, path, range(start + 500, start + 1000)))
    made.close()
    assert most <= 2 * MAX


@pytest.mark.parametrize("max_bytes", [1 << 20, 3 << 20])
def test_S5_large_entries_do_not_break_the_limit(tmp_path: Path, max_bytes: int) -> None:
    path = tmp_path / "j.db"
    made = journal(path, JournalLimits(timedelta(days=7), max_bytes))
    noise = iter(lambda: os.urandom(30_000).hex(), "")
    most = 0
    with capture_logs() as logs:
        for number, text in enumerate(itertools.islice(noise, 200)):
            look_ = named(f"wl-{number}")
            made.note_reconciliation(
                replace(look_, decision=replace(look_.decision, notes=(text * (1 + number % 20),)))
            )
            written(made)
            most = max(most, on_disk(path))
    made.close()
    assert most <= 2 * max_bytes
    assert made.dropped > 0
    assert {entry["event"] for entry in logs} == {"journal.refused"}
    assert recorded(path), "those that are too large do not push all others out"


def test_S5_a_limit_that_was_lowered_is_kept_soon(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, *(named(f"early-{number}") for number in range(9000)))
    assert on_disk(path) > 3 * MAX
    made = journal(path, SMALL)
    flood(made, path, range(2000))
    made.close()
    assert on_disk(path) <= 1.5 * MAX
    assert recorded(path)[-1].workload == "ns/wl-1999"


def test_S5_the_files_are_bounded_again_after_the_writer_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look(), limits=SMALL)
    with held_open(path):
        command = [sys.executable, "-c", KILLED, str(path), str(MAX)]
        assert subprocess.run(command, check=False, timeout=300).returncode == -9
    assert on_disk(path) <= 2 * MAX
    made = journal(path, SMALL)
    assert flood(made, path, range(2000)) <= 2 * MAX
    made.close()
    assert on_disk(path) <= 1.5 * MAX


KILLED = """
import os, signal, sys
from datetime import timedelta
from pathlib import Path
from manager.journal.writer import JournalLimits
from tests.unit.manager.journals import journal, named, written
made = journal(Path(sys.argv[1]), JournalLimits(timedelta(days=7), int(sys.argv[2])))
for number in range(8000):
    made.note_reconciliation(named(f"killed-{number}"))
    if number % 500 == 0:
        written(made)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_S5_no_step_of_tidying_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of one step is bounded by SQLite's own count of instructions, not by a clock."""
    path = tmp_path / "j.db"
    write(path, *(named(f"early-{number}") for number in range(9000)))
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connected)
    file = JournalFile(path, MAX)
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    opened[-1].set_progress_handler(count, 1000)
    steps, most, more = 0, 0, True
    while more:
        counted[0] = 0
        more = file.tidy(0, NOW)
        steps, most = steps + 1, max(most, counted[0])
    file.close()
    assert steps > 3
    assert most < 500, "half a million instructions at most"


def test_S5_what_is_too_old_goes_though_the_clock_was_set_back(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    far = [replace(named(f"far-{number}"), now_ns=NOW + 10**9 * 86400 * 365) for number in range(2500)]
    old = [replace(named(f"old-{number}"), now_ns=NOW - 2 * MINUTE) for number in range(2500)]
    write(path, *far, *old)
    file = JournalFile(path, LIMITS.max_bytes)
    while file.tidy(NOW - MINUTE, NOW):
        pass
    file.close()
    kept = {entry.workload.partition("-")[0] for entry in recorded(path)}
    assert kept == {"ns/far"}


def test_S5_rules_that_no_entry_uses_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(
        path,
        replace(look("old"), now_ns=NOW - 2 * MINUTE, policies={WorkerName("q"): next(iter(UngatedPolicy))}),
        look("new"),
    )
    file = JournalFile(path, LIMITS.max_bytes)
    while file.tidy(NOW - MINUTE, NOW):
        pass
    file.close()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM rules").fetchone() == (1,)
    database.close()


def test_S5_the_volume_of_the_pod_has_room_for_the_journal_at_its_largest() -> None:
    values = yaml.safe_load(Path("deploy/helm/turnstile/values.yaml").read_text())
    deployment = yaml.safe_load(Path("deploy/kustomize/base/deployment.yaml").read_text())
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    for limit in (values["stateSizeLimit"], volumes["state"]["emptyDir"]["sizeLimit"]):
        assert int(limit.removesuffix("Mi")) << 20 >= 2 * JournalSection().max_size


# --- the same decision again and again


IDLE = group(hub(nominated=("w1",)), worker("w1", busy=True))


def test_S5_the_same_decision_in_a_row_is_kept_once_a_minute_with_its_count(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    seconds = [0.0]
    made = journal(path, monotonic=lambda: seconds[0])
    for number in range(100_000):
        seconds[0] = number / 1000
        made.note_reconciliation(replace(look_a, now_ns=NOW + number * 1_000_000))
    made.note_reconciliation(look("a", state=replace(IDLE, workload=look_a.group.workload)))
    made.close()
    found = recorded(path)
    assert len(found) <= 5
    assert sum(1 + entry.repeated for entry in found) == 100_001, "none is lost without being counted"
    assert [entry.at_ns - NOW for entry in found[:-1]] == [0, 59_999_000_000, 60_000_000_000, 99_999_000_000]


look_a = look("a")


def test_S5_decisions_that_take_turns_are_thinned_too(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    pair = [replace(look_a, decision=replace(look_a.decision, steps=(), notes=(note,))) for note in ("yes", "no")]
    for number in range(10_000):
        made.note_reconciliation(pair[number % 2])
    made.close()
    found = recorded(path)
    assert len(found) < 50
    assert sum(1 + entry.repeated for entry in found) == 10_000


def test_S5_different_decisions_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    for number in range(300):
        made.note_reconciliation(replace(look_a, decision=replace(look_a.decision, notes=(str(number),))))
    made.close()
    assert [entry.body.decision.notes for entry in recorded(path)] == [(str(number),) for number in range(300)]


def test_S5_what_is_created_removed_and_created_again_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look_a, replace(look_a, decision=replace(look_a.decision, rule=Rule.FINISHED_OR_NO_QUOTA)), look_a)
    assert [entry.label for entry in recorded(path)] == [Rule.GATE_OPENED, Rule.FINISHED_OR_NO_QUOTA, Rule.GATE_OPENED]


@pytest.mark.parametrize("end", ["forgotten", "closed"])
def test_S5_the_count_is_written_when_the_workload_is_forgotten_or_the_journal_closed(tmp_path: Path, end: str) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    for _ in range(10):
        made.note_reconciliation(look_a)
    if end == "forgotten":
        made.forget(ObjectKey("ns", "a"))
        made.note_reconciliation(look_a)
    made.close()
    assert [entry.repeated for entry in recorded(path)] == ([0, 8, 0] if end == "forgotten" else [0, 8])


# --- a page of one Workload


def ids(path: Path, **more: Any) -> list[str]:
    found = read_latest(path, DECISION, JournaledDecision, JournaledRules, "ns/a", **more)
    return [entry.body.decision.notes[0] for entry in found]


def test_S5_the_latest_decisions_of_one_workload_come_in_pages(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    for number in range(1200):
        made.note_reconciliation(replace(look_a, decision=replace(look_a.decision, notes=(str(number),))))
        made.note_reconciliation(named(f"other-{number}"))
    made.close()
    assert ids(path, limit=3) == ["1199", "1198", "1197"]
    seen, before = [], None
    while page := read_latest(path, DECISION, JournaledDecision, JournaledRules, "ns/a", 700, before):
        seen += [int(entry.body.decision.notes[0]) for entry in page]
        before = page[-1].id
    assert seen == list(range(1199, -1, -1))


def test_S5_the_latest_decisions_are_found_without_reading_all(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look_a)
    with sqlite3.connect(path) as database:
        query = "SELECT id FROM entries WHERE workload = ? AND kind = ? AND id < ? ORDER BY id DESC LIMIT ?"
        (row,) = database.execute(f"EXPLAIN QUERY PLAN {query}", ("ns/a", DECISION, 5, 5)).fetchall()
    database.close()
    assert "USING INDEX entries_by_workload (workload=? AND id<?)" in row[3]


# --- what happens to files


def test_S5_a_journal_that_is_deleted_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    made.note_reconciliation(look("a"))
    written(made)
    for suffix in FILES[:3]:
        Path(f"{path}{suffix}").unlink()
    with capture_logs() as logs:
        made.note_reconciliation(look("b"))
        made.close()
    assert [entry["event"] for entry in logs] == ["journal.replaced"]
    assert [entry.workload for entry in recorded(path)] == ["ns/b"]
    assert made.dropped == 0


def test_S5_a_journal_that_is_replaced_by_another_is_gone_on_with(tmp_path: Path) -> None:
    path, other = tmp_path / "j.db", tmp_path / "other.db"
    write(other, look("x"))
    made = journal(path)
    made.note_reconciliation(look("a"))
    written(made)
    for suffix in FILES[:3]:
        Path(f"{path}{suffix}").rename(tmp_path / f"moved.db{suffix}")
    other.rename(path)
    made.note_reconciliation(look("b"))
    made.close()
    assert [entry.workload for entry in recorded(path)] == ["ns/x", "ns/b"]
    assert [entry.workload for entry in recorded(tmp_path / "moved.db")] == ["ns/a"], "what was moved is complete"


@pytest.mark.parametrize("suffix", FILES[1:3])
def test_S5_a_log_file_that_is_deleted_loses_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "j.db"
    made = journal(path)
    made.note_reconciliation(look("a"))
    written(made)
    Path(f"{path}{suffix}").unlink()
    made.note_reconciliation(look("b"))
    made.close()
    assert [entry.workload for entry in recorded(path)] == ["ns/a", "ns/b"]


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, title TEXT)")
        database.execute("INSERT INTO entries VALUES (1, 'theirs')")
    database.close()


def marked_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA application_id = 1234")
    database.close()


def busy_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE users (name TEXT)")
        database.execute("PRAGMA user_version = 1")
    database.close()


def harmed_schema(path: Path) -> None:
    """Leave a schema that SQLite complains of in words that are no text."""
    write(path, look())
    path.write_bytes(
        path.read_bytes().replace(b"CREATE INDEX entries_by_workload", b"CREAT\x80 INDEX entries_by_workload")
    )


def test_S5_a_damaged_file_ends_in_a_warning_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    harmed_schema(path)
    with capture_logs() as logs:
        made = write(path, look())
    assert [entry["event"] for entry in logs] == ["journal.unwritable"]
    assert made.dropped == 1


NOT_OURS = {
    "a string": lambda path: path.write_text("these are the minutes of a meeting " * 200),
    "a database with the name of a table": foreign_database,
    "a database of another application": marked_database,
    "a database with other tables": busy_database,
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("make", NOT_OURS.values(), ids=NOT_OURS)
def test_S10_the_journal_replaces_nothing_that_is_not_its_own(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "j.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with capture_logs() as logs:
        made = write(path, look())
    assert [entry["event"] for entry in logs] == ["journal.unwritable"]
    assert logs[0]["error"].startswith(f"{path}: ")
    assert "journal.path must be a file of its own" in logs[0]["error"]
    assert made.dropped == 1
    assert (path.read_bytes() if path.is_file() else None) == before
    assert not Path(f"{path}-wal").exists()


def test_S10_a_second_daemon_leaves_the_journal_of_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    first = journal(path)
    first.note_reconciliation(look("a"))
    written(first)
    seconds = [0.0]
    second = journal(path, monotonic=lambda: seconds[0])
    with capture_logs() as logs:
        second.note_reconciliation(look("b"))
        written(second)
    assert [entry["event"] for entry in logs] == ["journal.unwritable"]
    assert f"another daemon (process {os.getpid()}) writes to it; give each its own journal.path" in logs[0]["error"]
    first.note_reconciliation(look("c"))
    first.close()
    seconds[0] = 61.0
    second.note_reconciliation(look("d"))
    second.close()
    assert [entry.workload for entry in recorded(path)] == ["ns/a", "ns/c", "ns/d"]


def test_S5_a_journal_that_another_process_locks_is_written_again_later(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look("a"))
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    seconds = [0.0]
    made = journal(path, monotonic=lambda: seconds[0])
    with capture_logs() as logs:
        made.note_reconciliation(look("b"))
        written(made)
    assert [entry["event"] for entry in logs] == ["journal.unwritable"]
    assert "locked" in logs[0]["error"]
    blocker.close()
    seconds[0] = 61.0
    made.note_reconciliation(look("c"))
    made.close()
    assert made.dropped == 1
    assert [entry.workload for entry in recorded(path)] == ["ns/a", "ns/c"]


def test_S5_one_decision_that_cannot_be_recorded_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    bad = replace(look_a, decision=replace(look_a.decision, notes=("half a sign: \ud800",)))
    with capture_logs() as logs:
        made = write(path, look("before"), bad, look("after"))
    assert [entry["event"] for entry in logs] == ["journal.refused"]
    assert made.dropped == 1
    assert [entry.workload for entry in recorded(path)] == ["ns/before", "ns/after"]


def test_S5_appending_stops_at_twice_the_limit_not_after_it(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    file = JournalFile(path, MAX)
    outcome = WriteOutcome()
    body = JournaledDecision(NOW, look_a.group, look_a.decision)
    with held_open(path):
        for number in range(9000):
            file.append([JournalEntry(NOW, DECISION, f"ns/{number}", Rule.GATE_OPENED, body)], outcome)
            assert on_disk(path) <= 2 * MAX
    file.close()
    assert outcome.without_room > 0
    assert on_disk(path) <= 2 * MAX, "working the log file in does not make it larger than that either"
