"""S9: whatever bytes a journal consists of, the commands that read it end with one sentence, not with a traceback.

Three ways to harm a good journal: bytes of the file, values of a row, and values inside of what a row holds.
Exit code 1 is for a decision that differs, which is found out here without the commands.
"""

import json
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from gates.decision.decide import decide
from gates.reports.recording import loads
from manager.cli.app import app
from manager.journal.writer import JournaledDecision, JournaledRules
from tests.support.foreign_text import BAD, unprintable
from tests.support.shadow_journals import episode
from tests.support.shadow_journals import write as write_episodes
from tests.unit.manager.journals import look, write

EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "40"))
COMMANDS: Final = (
    ("replay", "-v", "{}"),
    ("replay", "{}", "-w", "ns/a"),
    ("timeline", "ns/a", "--journal", "{}"),
    ("timeline", "ns/a", "-o", "json", "--journal", "{}"),
    ("shadow", "report", "--journal", "{}"),
    ("shadow", "report", "-o", "yaml", "--journal", "{}"),
)


@cache
def good() -> bytes:
    """Return the bytes of a journal with decisions and episodes."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "j.db"
        write(path, look("a"), look("b"), look("a", now_ns=look("a").now_ns + 10**9))
        write_episodes(path, episode(), episode("other"))
        return path.read_bytes()


def check(path: Path) -> None:
    """Have every command read a journal."""
    for command in COMMANDS:
        result = CliRunner().invoke(app, [part.format(path) for part in command])
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert not unprintable(result.stdout + result.stderr), command
        judge(command[0], result, path)


def judge(command: str, result: Result, path: Path) -> None:
    errors = result.stderr.splitlines()
    match result.exit_code:
        case 0:
            assert len(errors) <= 1
        case 1:
            assert command == "replay"
            assert differs(path)
        case 2:
            assert len(errors) == 1
            assert errors[0].startswith("error: ")
        case code:
            raise AssertionError(f"exit code {code}")


def differs(path: Path) -> bool:
    """Return whether a decision of the journal is made otherwise, by reading it plainly."""
    database = sqlite3.connect(path)
    rows = database.execute(
        "SELECT e.body, r.body FROM entries e JOIN rules r ON r.id = e.rules WHERE kind = 'decision'"
    )
    try:
        for body, shared in rows:
            found, rules = loads(JournaledDecision, zlib.decompress(body)), loads(JournaledRules, shared)
            if decide(found.group, found.now_ns, rules.settings, rules.policies) != found.decision:
                return True
    except (sqlite3.Error, zlib.error, ValueError):
        pass  # differs or not: the rest of it cannot be read
    finally:
        database.close()
    return False


@contextmanager
def placed(data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "j.db"
        path.write_bytes(data)
        yield path


def harmed(data: bytes, at: int, how: str, others: bytes) -> bytes:
    """Return bytes of which some were overwritten, cut out, doubled or cut off."""
    at %= len(data) or 1
    match how:
        case "over":
            return data[:at] + others + data[at + len(others) :]
        case "out":
            return data[:at] + data[at + len(others) :]
        case "twice":
            return data[:at] + data[at : at + 4096] + data[at:]
        case _:
            return data[: max(1, at)]


PLACES: Final = st.integers(0, 4200) | st.integers(0, 1 << 17)
WAYS: Final = st.sampled_from(["over", "over", "over", "out", "twice", "off"])


@settings(max_examples=EXAMPLES)
@given(harms=st.lists(st.tuples(PLACES, WAYS, st.binary(min_size=1, max_size=64)), min_size=1, max_size=6))
def test_S9_harmed_bytes(harms: list[tuple[int, str, bytes]]) -> None:
    data = good()
    for harm in harms:
        data = harmed(data, *harm)
    with placed(data) as path:
        check(path)


VALUES: Final = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary(max_size=40)
    | st.text(max_size=20)
    | st.sampled_from([BAD, "decision", "episode", "ns/a", 10**18])
)


@settings(max_examples=EXAMPLES)
@given(
    table=st.sampled_from(["entries", "entries", "rules"]),
    column=st.sampled_from(["id", "at_ns", "kind", "workload", "label", "rules", "body", "cause", "repeated"]),
    value=VALUES,
    row=st.integers(1, 5),
)
@example(table="entries", column="workload", value=BAD, row=1)
@example(table="entries", column="id", value=-5, row=1)
def test_S9_harmed_rows(table: str, column: str, value: object, row: int) -> None:
    with placed(good()) as path:
        database = sqlite3.connect(path)
        try:
            with database:
                database.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (value, row))  # noqa: S608
        except (sqlite3.Error, UnicodeEncodeError):
            return  # no such file can be
        finally:
            database.close()
        check(path)


JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(), max_size=8)
    | st.sampled_from([BAD, "w1", "G7", 10**30, -(10**30), "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["is", "name", BAD]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place inside of a document: what holds it, and under which key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in list(items) for place in ((value, key), *places(each))]


@settings(max_examples=2 * EXAMPLES)
@given(data=st.data(), which=st.sampled_from(["decision", "episode", "rules"]))
def test_S9_harmed_content(data: st.DataObject, which: str) -> None:
    with placed(good()) as path:
        database = sqlite3.connect(path)
        query = "SELECT id, body FROM rules" if which == "rules" else "SELECT id, body FROM entries WHERE kind = ?"
        row, body = database.execute(query, () if which == "rules" else (which,)).fetchone()
        document = json.loads(body if which == "rules" else zlib.decompress(body))
        for _ in range(data.draw(st.integers(1, 2))):
            harm_document(document, data)
        text = json.dumps(document).encode()
        with database:
            if which == "rules":
                database.execute("UPDATE rules SET body = ? WHERE id = ?", (text, row))
            else:
                database.execute("UPDATE entries SET body = ? WHERE id = ?", (zlib.compress(text), row))
        database.close()
        check(path)


def harm_document(document: Any, data: st.DataObject) -> None:
    """Change one place inside of a document."""
    found = places(document)
    if not found:
        return
    holder, key = found[data.draw(st.integers(0, len(found) - 1))]
    match data.draw(st.sampled_from(["other", "other", "other", "none", "more"])):
        case "other":
            holder[key] = data.draw(JSON)
        case "none":
            del holder[key]
        case "more" if isinstance(holder, dict):
            holder[data.draw(st.sampled_from(["more", BAD]))] = data.draw(JSON)
        case _:
            holder.append(holder[key])
