"""The journal keeps what was decided, survives what happens to processes and disks, and never blocks decisions."""

import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from config.api.identifiers import ReplicaUID
from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast, ForecastVerdict
from gates.model.forecasts import ForecastRecord
from gates.model.rules import Rule
from gates.model.settings import MINUTE, GatePolicy, Settings
from manager.journal.file import JournalEntry, JournalFile, WriteOutcome
from manager.journal.reader import read_entries
from manager.journal.replay import replayed
from manager.journal.schema import JournalError
from manager.journal.writer import DECISION, FORECAST, Journal, JournaledDecision, JournaledRules, JournalLimits
from manager.logging.logs import begin_cause
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, group, hub, worker
from tests.unit.manager.journals import LIMITS, journal, look, named, write, written

IDLE = group(hub(nominated=("w1",)), worker("w1"))


def decisions(path: Path) -> list[JournalEntry]:
    return list(read_entries(path, DECISION, JournaledDecision, JournaledRules))


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    made = [look("a"), look("b", settings=Settings(policy=GatePolicy.LEAST_DISRUPTION))]
    write(tmp_path / "j.db", *made)

    found = decisions(tmp_path / "j.db")

    assert [entry.body for entry in found] == [JournaledDecision(m.now_ns, m.group, m.decision) for m in made]
    assert [entry.rules for entry in found] == [JournaledRules(m.settings, {}) for m in made]
    assert [entry.workload for entry in found] == ["ns/a", "ns/b"]
    assert all(each.is_identical for each in replayed(tmp_path / "j.db"))


def test_forecasts_are_kept_beside_decisions(tmp_path: Path) -> None:
    record = ForecastRecord(W1, ReplicaUID("u"), NOW, Forecast(ForecastVerdict.FITS, NOW))
    made = journal(tmp_path / "j.db")
    made.note_forecast(ObjectKey("ns", "wl"), record)
    made.close()

    (entry,) = read_entries(tmp_path / "j.db", FORECAST, ForecastRecord, JournaledRules)

    assert (entry.body, entry.workload, entry.label) == (record, "ns/wl", "pending")
    assert decisions(tmp_path / "j.db") == []


def test_a_decision_that_does_nothing_again_is_kept_once(tmp_path: Path) -> None:
    seen = replace(IDLE, workers=(worker("w1", busy=True),))
    quiet = look(state=seen)
    assert quiet.decision.actions == ()
    write(tmp_path / "j.db", quiet, quiet, look(), quiet)
    assert len(decisions(tmp_path / "j.db")) == 3


def test_what_is_too_old_is_dropped(tmp_path: Path) -> None:
    limits = JournalLimits(timedelta(minutes=1), LIMITS.max_bytes)
    write(tmp_path / "j.db", look("old", now_ns=NOW - 2 * MINUTE), look("new"), limits=limits)
    assert [entry.workload for entry in decisions(tmp_path / "j.db")] == ["ns/new"]


def test_the_oldest_are_dropped_when_the_file_grows_too_large(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    body = JournaledDecision(NOW, look().group, look().decision)
    file = JournalFile(path, 256 << 20)
    file.append(
        (JournalEntry(NOW, DECISION, f"ns/{number}", Rule.GATE_OPENED, body) for number in range(4000)), WriteOutcome()
    )
    file.close()
    before = path.stat().st_size
    assert before > 3 << 20, "the test is about a file that is too large"
    file = JournalFile(path, 1 << 20)
    while file.tidy(0, NOW):
        pass
    file.close()
    assert path.stat().st_size <= 1 << 20, "the file gives the space back"
    kept = [entry.workload for entry in decisions(path)]
    assert kept == [f"ns/{number}" for number in range(4000 - len(kept), 4000)]
    assert len(kept) > 500


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look())
    assert (tmp_path / "j.db").stat().st_mode & 0o777 == 0o600


def test_a_journal_is_gone_on_with_after_a_restart(tmp_path: Path) -> None:
    write(tmp_path / "j.db", look("a"))
    write(tmp_path / "j.db", look("b"))
    assert [entry.workload for entry in decisions(tmp_path / "j.db")] == ["ns/a", "ns/b"]


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.unit.manager.journals import journal, look, written
made = journal(Path(sys.argv[1]))
for number in range(20):
    made.note_reconciliation(look(f"wl-{number}"))
written(made)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_nothing_that_was_written(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "j.db")], check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL
    assert len(decisions(tmp_path / "j.db")) == 20
    assert all(each.is_identical for each in replayed(tmp_path / "j.db"))


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.unit.manager.journals import journal, look
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
made = journal(Path(sys.argv[1]))
for number in range(1000):
    made.note_reconciliation(look(f"wl-{number}"))
made.close()
print("dropped", made.dropped)
"""


def test_a_full_disk_costs_the_journal_and_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "j.db")]
    ended = subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "journal.unwritable" in ended.stdout
    assert "Traceback" not in ended.stderr + ended.stdout
    assert int(ended.stdout.split()[-1]) > 0


UNWRITABLE = {
    "the directory does not exist": "missing/j.db",
    "a directory is in the way": "directory",
    "the file is something else": "text",
}


@pytest.mark.parametrize("name", UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_journal_that_cannot_be_written_costs_a_warning_and_is_tried_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "text").write_text("these are not the bytes of a database, but many of them " * 100)
    now = [0.0]
    with capture_logs() as logs:
        made = journal(tmp_path / name, monotonic=lambda: now[0])
        made.note_reconciliation(look("a"))
        written(made)
        made.note_reconciliation(look("b"))
        written(made)
        assert [entry["event"] for entry in logs] == ["journal.unwritable"], "one warning for the outage"
        now[0] = 61.0
        _mend(tmp_path, name)
        made.note_reconciliation(look("c"))
        made.close()
    assert made.dropped == 2
    assert [entry.workload for entry in decisions(tmp_path / name)] == ["ns/c"]


def _mend(directory: Path, name: str) -> None:
    (directory / "missing").mkdir()
    (directory / "directory").rmdir()
    (directory / "text").unlink()


def test_a_thread_that_is_behind_delays_no_writer(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = Journal(path, LIMITS, lambda: NOW, lambda: 0.0, lambda: 1.0)
    with capture_logs() as logs:
        for number in range(12_000):
            made.note_reconciliation(named(f"wl-{number}"))
    assert made.dropped == 2_000
    assert [entry["event"] for entry in logs] == ["journal.behind"]
    made.start()
    written(made)
    made.close()
    assert made.dropped == 2_000
    assert [entry.workload for entry in decisions(path)] == [f"ns/wl-{number}" for number in range(10_000)]


def test_the_journal_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with capture_logs() as logs:
        write(path, look())
    assert "format 99" in logs[0]["error"]
    with pytest.raises(JournalError, match=r"format 99, this version reads up to \d+; use a newer turnstile"):
        decisions(path)


def test_entries_carry_the_cause_of_their_reconcile(tmp_path: Path) -> None:
    made = journal(tmp_path / "j.db")
    causes = []
    for name in ("a", "b"):
        causes.append(begin_cause())
        made.note_reconciliation(look(name))
        made.note_forecast(
            ObjectKey("ns", name), ForecastRecord(W1, ReplicaUID("u"), NOW, Forecast(ForecastVerdict.FITS, NOW))
        )
    made.close()
    assert [entry.cause for entry in decisions(tmp_path / "j.db")] == causes
    forecasts = read_entries(tmp_path / "j.db", FORECAST, ForecastRecord, JournaledRules)
    assert [entry.cause for entry in forecasts] == causes


def test_a_journal_from_before_causes_is_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look("a"))
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE entries DROP COLUMN cause")
    database.close()
    assert [(entry.workload, entry.cause) for entry in decisions(path)] == [("ns/a", "")]
    cause = begin_cause()
    write(path, look("b"))
    assert [(entry.workload, entry.cause) for entry in decisions(path)] == [("ns/a", ""), ("ns/b", cause)]


def test_it_says_that_it_cannot_write_until_it_can(tmp_path: Path) -> None:
    seconds = [0.0]
    (tmp_path / "j.db").mkdir()
    made = journal(tmp_path / "j.db", monotonic=lambda: seconds[0])
    made.note_reconciliation(look("a"))
    written(made)
    assert (made.is_degraded, made.dropped, made.waiting) == (True, 1, 0)
    (tmp_path / "j.db").rmdir()
    seconds[0] = 61.0
    made.note_reconciliation(look("b"))
    written(made)
    assert (made.is_degraded, made.dropped) == (False, 1)
    made.close()
