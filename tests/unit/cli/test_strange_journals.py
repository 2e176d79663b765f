"""S9: a journal that came from elsewhere is data. Whatever is in it: bounded, printable, one line and exit code 2."""

import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from config.api.identifiers import WorkerName
from manager.cli.app import app
from tests.support.foreign_text import BAD, unprintable
from tests.support.shadow_journals import episode
from tests.support.shadow_journals import write as write_episodes
from tests.unit.manager.journals import look, write

COMMANDS = {
    "replay": ("replay", "-v"),
    "timeline": ("timeline", "ns/a", "--journal"),
    "shadow report": ("shadow", "report", "--journal"),
}
BOMB = zlib.compress(b"[" + b"0," * (9 << 20) + b"0]")
DEEP = zlib.compress(b"[" * 200_000 + b"]" * 200_000)


def run(command: str, path: Path, *more: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*COMMANDS[command], str(path), *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def changed(path: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement, values)
    database.close()


def sql(*statements: str, values: tuple[Any, ...] = ()) -> Callable[[Path], None]:
    return lambda path: changed(path, *statements, values=values)


def endless_view(table: str) -> Callable[[Path], None]:
    columns = "n AS id, 1 AS at_ns, 'none' AS kind, '' AS workload, '' AS label, 1 AS rules, x'00' AS body"
    counting = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
    return sql(f"DROP TABLE {table}", f"CREATE VIEW {table} AS {counting} SELECT {columns} FROM c")  # noqa: S608


def generated(path: Path) -> None:
    columns = "id INTEGER PRIMARY KEY, at_ns INT, kind TEXT, workload TEXT, label TEXT, rules INT"
    dear = "body BLOB GENERATED ALWAYS AS (zeroblob(900000000))"
    changed(
        path,
        "DROP TABLE entries",
        f"CREATE TABLE entries ({columns}, {dear})",
        "INSERT INTO entries VALUES (1, 1, 'decision', 'ns/a', 'G7', 1), (2, 1, 'episode', 'ns/a', 'open', 1)",
    )


def virtual(path: Path) -> None:
    columns = "at_ns, kind, workload, label, rules, body"
    changed(path, "DROP TABLE entries", f"CREATE VIRTUAL TABLE entries USING fts5(id, {columns})")


def without_key(path: Path) -> None:
    changed(path, "CREATE TABLE copy AS SELECT * FROM entries", "DROP TABLE entries")
    changed(path, "ALTER TABLE copy RENAME TO entries")


def many_tables(path: Path) -> None:
    with sqlite3.connect(path) as database:
        for number in range(3000):
            database.execute(f"CREATE TABLE t{number} (a, b, c)")
    database.close()


def endless_schema(path: Path) -> None:
    """Declare so many views that SQLite, which compares each with all others, would not come to an end in time."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.executemany(
            "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('view', ?1, ?1, 0, ?2)",
            ((f"v{number}", f"CREATE VIEW v{number} AS SELECT 1") for number in range(20_000)),
        )
    database.close()


def cyclic(path: Path) -> None:
    """Have the root of the table point to itself, so that a walk through it never ends."""
    write(path, *(look(f"wl-{number}") for number in range(200)))
    with sqlite3.connect(path) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    database.close()
    data = bytearray(path.read_bytes())
    start = (root - 1) * size
    assert data[start] == 5, "an inner page"
    data[start + 8 : start + 12] = root.to_bytes(4, "big")
    path.write_bytes(data)


STRANGE: dict[str, Callable[[Path], None]] = {
    "S9 many values in few bytes": sql("UPDATE entries SET body = ?", values=(BOMB,)),
    "S9 the same as rules": sql("UPDATE rules SET body = ?", values=(b"[" + b"0," * (4 << 20) + b"0]",)),
    "S9 deep nesting": sql("UPDATE entries SET body = ?", values=(DEEP,)),
    "S9 deep rules": sql("UPDATE rules SET body = ?", values=(b"[" * 200_000,)),
    "S9 a view that never ends": endless_view("entries"),
    "S9 rules that never end": endless_view("rules"),
    "S9 a schema without end": endless_schema,
    "S9 a trigger": sql("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END"),
    "S9 a virtual table": virtual,
    "S9 a computed column": generated,
    "S9 no key": without_key,
    "S9 a tree that leads back to its root": cyclic,
    "S9 text for a time": sql("UPDATE entries SET at_ns = 'yesterday'"),
    "S9 a fraction for a time": sql("UPDATE entries SET at_ns = 1.5"),
    "S9 nothing for a time": sql("PRAGMA writable_schema = ON", "UPDATE entries SET at_ns = x''"),
    "S9 text for a body": sql("UPDATE entries SET body = 'body'"),
    "S9 a number for a body": sql("UPDATE entries SET body = 7"),
    "S9 bytes for a workload": sql("UPDATE entries SET workload = CAST(workload AS BLOB)"),
    "S9 bytes for a rule": sql("UPDATE entries SET label = x'00'"),
    "S9 bytes for a cause": sql("UPDATE entries SET cause = x'00'"),
    "S9 text for a count": sql("UPDATE entries SET repeated = 'often'"),
    "S9 a huge name": sql("UPDATE entries SET workload = workload || printf('%.*c', 2000000, 'x')"),
    "S9 a huge body": sql("UPDATE entries SET body = zeroblob(50000000)"),
    "S9 bytes that are not text": sql("UPDATE entries SET label = CAST(x'ff' AS TEXT)"),
    "S9 rules of text": sql("UPDATE rules SET body = '{}'"),
    "S9 another application": sql("PRAGMA application_id = 7"),
    "S9 a negative format": sql("PRAGMA user_version = -1"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE)
def test_a_strange_journal_is_one_sentence(tmp_path: Path, make: Callable[[Path], None], command: str) -> None:
    path = tmp_path / "j.db"
    both(path)
    make(path)
    before = path.read_bytes()
    code, output, errors = run(command, path)
    if code == 0:  # it does not come across what is strange
        assert command == "shadow report" or (command, make) == ("timeline", cyclic)
    else:
        assert (code, output) == (2, "")
        assert errors.startswith(f"error: {path}: ") or "ns/a" in errors, errors
        assert len(errors.splitlines()) == 1
        assert len(errors) < 1000
    assert path.read_bytes() == before


def both(path: Path) -> None:
    """Write a journal with a decision and an episode."""
    write(path, look("a"))
    write_episodes(path, episode())


BODIES = {
    "S9 NaN": ('"now_ns":1800000000000000000', '"now_ns":NaN'),
    "S9 a fraction for a time": ('"now_ns":1800000000000000000', '"now_ns":1e300'),
    "S9 a number of a thousand digits": ('"now_ns":1800000000000000000', f'"now_ns":{"9" * 1000}'),
    "S9 a number of ten thousand digits": ('"now_ns":1800000000000000000', f'"now_ns":{"9" * 10_000}'),
    "S9 half a sign": ('"rule":"gate-opened"', '"rule":"\\ud800"'),
    "S9 a field of its own": ('"rule":"gate-opened"', '"rule":"gate-opened","\\u001b[2J\\n":1'),
    "S9 a huge field of its own": ('"rule":"gate-opened"', f'"rule":"gate-opened","{"x" * 1_000_000}":1'),
    "S9 a huge value": ('"now_ns":1800000000000000000', f'"now_ns":"{"x" * 1_000_000}"'),
    "S9 a class of its own": ('"is":"OpenGate"', '"is":"\\u001b[2J\\nSystem"'),
    "S9 a list for a class": ('"is":"OpenGate"', '"is":[[]]'),
    "S9 no decision": ('"decision":{', '"decision":null,"x":{'),
}


def rewrite(path: Path, old: str, new: str) -> None:
    with sqlite3.connect(path) as database:
        (body,) = database.execute("SELECT body FROM entries").fetchone()
        text = zlib.decompress(body).decode()
        assert old in text, text
        database.execute("UPDATE entries SET body = ?", (zlib.compress(text.replace(old, new).encode()),))
    database.close()


@pytest.mark.parametrize("command", ["replay", "timeline"])
@pytest.mark.parametrize(("old", "new"), BODIES.values(), ids=BODIES)
def test_a_strange_decision_is_one_sentence(tmp_path: Path, old: str, new: str, command: str) -> None:
    path = tmp_path / "j.db"
    write(path, look("a"))
    rewrite(path, old, new)
    code, output, errors = run(command, path)
    assert (code, output, len(errors.splitlines())) == (2, "", 1), (output, errors)
    assert len(errors) < 1000
    assert not unprintable(errors)


def test_S9_times_that_no_calendar_has_are_shown_as_its_last(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    write(path, look("a"))
    rewrite(path, '"last_transition_ns":', '"last_transition_ns":9999999')
    code, output, errors = run("timeline", path)
    assert (code, errors) == (0, "")
    assert "9999-12-31" in output


def test_S9_no_text_of_a_journal_forges_a_line(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    made = look("a")
    forged = "a\x1b]0;owned\x07\x1b[2J\n2026-01-01T00:00:00Z ns/other P9: nothing"
    write(path, replace(made, decision=replace(made.decision, notes=(BAD,))))
    changed(path, "UPDATE entries SET workload = ?", values=(f"ns/{forged}",))
    code, output, errors = run("replay", path)
    assert code == 1
    assert not unprintable(output + errors)
    assert [line.split()[0] for line in output.splitlines()] == [
        *("2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z", "now:", "was:", "is:", "1"),
    ]
    code, output, errors = run("replay", path, "-w", f"ns/{forged}x")
    assert (code, len(errors.splitlines())) == (2, 1)
    assert not unprintable(errors)


@pytest.mark.parametrize("form", ["table", "wide", "json", "yaml", "name"])
def test_S9_nor_does_any_of_a_timeline_or_a_report(tmp_path: Path, form: str) -> None:
    path = tmp_path / "j.db"
    seen = look("a")
    workers = tuple(replace(worker, name=WorkerName(BAD)) for worker in seen.group.workers)
    write(path, look("a", state=replace(seen.group, workers=workers)))
    attempt = episode()
    starts = tuple(replace(start, cluster=WorkerName(BAD), message=BAD) for start in attempt.starts)
    write_episodes(path, replace(attempt, workload=f"{BAD}/{BAD}", starts=starts))
    for command in ("timeline", "shadow report"):
        code, output, errors = run(command, path, "-o", form)
        assert code == 0, errors
        assert not unprintable(output)
        if form != "name":
            assert "owned" in output


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from manager.cli.app import app
app(sys.argv[1:])
"""


def large_bomb(path: Path) -> None:
    """Write a GiB as 5 MB."""
    packer = zlib.compressobj(1)
    body = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(1024)), packer.flush()])
    changed(path, "UPDATE entries SET body = ?", values=(body,))


def many_bombs(path: Path) -> None:
    """Write many entries that are just small enough, each 8 MiB of text in a few kilobytes."""
    packer = zlib.compressobj(1)
    head = packer.compress(b'{"workload":"' + b"x" * (8 << 20))
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM entries")
        for number in range(300):
            own = packer.copy()
            body = head + own.compress(b'","uid":"%d","attempt_ns":1}' % number) + own.flush()
            values = ("episode" if number % 2 else "decision", "ns/a", "open", body)
            database.execute("INSERT INTO entries (at_ns, kind, workload, label, body) VALUES (1, ?, ?, ?, ?)", values)
    database.close()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("make", [large_bomb, many_bombs, many_tables], ids=["one", "many", "tables"])
def test_S9_memory_is_bounded(tmp_path: Path, make: Callable[[Path], None], command: str) -> None:
    path = tmp_path / "j.db"
    both(path)
    make(path)
    arguments = [sys.executable, "-c", LIMITED, *COMMANDS[command], str(path)]
    ended = subprocess.run(arguments, check=False, timeout=300, capture_output=True, text=True)
    assert ended.returncode in (0, 2), ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 1
