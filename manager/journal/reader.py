"""Reads a journal: of a daemon that writes it meanwhile, or one that came from elsewhere.

Nothing is held between two pages, neither a transaction nor the file, so that a slow reader never keeps the writer from
using its log file again. A file is data: it is read by declared types, in bounded memory and with bounded work, and
nothing that its author may have put into the schema is run.
"""

import sqlite3
import stat
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from config.reading.files import unreadable
from gates.reports.recording import RecordingError, loads
from manager.journal.file import JournalEntry
from manager.journal.schema import MAX_PLAIN, JournalError, columns_of, format_of, is_bounded, unpacked
from workerclient.base.errors import excerpt

_PAGE_ROWS: Final = 500
_PAGE_BYTES: Final = 8 << 20
"""Packed; a page of large entries has fewer of them."""
_LATEST_BYTES: Final = 64 << 20
"""Unpacked."""
_BUSY_SECONDS: Final = 5.0
_WORK_STEP: Final = 100_000
_MAX_STEPS: Final = 1_000
"""A page may take so many steps of so many instructions of SQLite; that reads some millions of entries."""
_MAX_TEXT: Final = 1024
_WHERE: Final = "journal.path in the configuration says where the journal is"
_TYPES: Final[tuple[Any, ...]] = (int, int, str, str, bytes, (bytes, type(None)), str, int)

_Row = tuple[int, int, str, str, bytes, bytes | None, str, int]


@dataclass(frozen=True, slots=True)
class _Question:
    kind: str
    workload: str | None
    order: Literal["ASC", "DESC"]
    """Oldest first, or newest first."""

    def is_next(self, id_: int, last: int) -> bool:
        return id_ > last if self.order == "ASC" else id_ < last


def read_entries(path: Path, kind: str, body: Any, rules: Any, workload: str | None = None) -> Iterator[JournalEntry]:
    """Read the entries of a kind, of one Workload or all, oldest first, as these types; raises `JournalError`."""
    question = _Question(kind, workload, "ASC")
    last = 0
    while rows := _page(path, question, last, _PAGE_ROWS):
        for row in rows:
            yield _entry(path, row, kind, body, rules)
        last = rows[-1][0]


def read_latest(
    path: Path, kind: str, body: Any, rules: Any, workload: str, limit: int, before_id: int | None = None
) -> list[JournalEntry]:
    """Read the latest entries about a Workload, newest first; raises `JournalError`.

    `before_id` is the `id` of the last entry of the page before; a page without entries is the end. Where entries are
    large, a page has fewer than `limit`.
    """
    question = _Question(kind, workload, "DESC")
    last = before_id if before_id is not None else 2**63 - 1
    found: list[JournalEntry] = []
    size = 0
    while len(found) < limit and size < _LATEST_BYTES:
        rows = _page(path, question, last, min(_PAGE_ROWS, limit - len(found)))
        if not rows:
            break
        last = rows[-1][0]
        for row in rows:
            entry = _entry(path, row, kind, body, rules)
            found.append(entry)
            size += entry.size
            if size >= _LATEST_BYTES:
                break
    return found


def has_entries(path: Path, kind: str) -> bool:
    """Tell whether a journal holds any entry of a kind; raises `JournalError`."""
    return bool(_page(path, _Question(kind, None, "ASC"), 0, 1))


@dataclass(frozen=True, slots=True)
class ScannedEntries:
    """What was found in a piece of a journal."""

    entries: list[JournalEntry]
    scanned: int
    """How many entries were looked at."""
    last_id: int | None
    """Where the next piece begins; None at the end."""


def scan_latest(
    path: Path,
    kind: str,
    body: Any,
    rules: Any,
    *,
    contains: bytes,
    since_ns: int,
    before_id: int | None = None,
) -> ScannedEntries:
    """Read entries about any Workload, newest first, whose text contains something; raises `JournalError`.

    It ends where a whole piece is older than the time: a clock that was set back does not end it early.
    """
    question = _Question(kind, None, "DESC")
    rows = _page(path, question, before_id if before_id is not None else 2**63 - 1, _PAGE_ROWS)
    found = [row for row in rows if row[1] >= since_ns]
    entries = [_entry(path, row, kind, body, rules) for row in found if contains in _plain(path, row)]
    return ScannedEntries(entries, len(rows), rows[-1][0] if found else None)


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with the content of a journal into a `JournalError`.

    Every value has the type that it should have, but not all that they add up to is something turnstile would write.
    """
    try:
        yield
    except JournalError:
        raise
    except Exception as error:
        reason = excerpt(f"{type(error).__name__}: {error}")
        raise JournalError(f"{path}: the journal contains impossible values ({reason})") from error


def _check_is_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise JournalError(f"{path}: {unreadable(error)}; {_WHERE}") from None
    if stat.S_ISDIR(mode):
        raise JournalError(f"{path}: is a directory: name a file in it; {_WHERE}")
    if not stat.S_ISREG(mode):
        raise JournalError(f"{path}: is not a regular file; {_WHERE}")


def _page(path: Path, question: _Question, last: int, limit: int) -> list[_Row]:
    """Return the rows after the last one that is known, read in a transaction of their own."""
    _check_is_file(path)
    try:
        with closing(_opened(path)) as database:
            if not format_of(database, path):
                raise JournalError(f"{path}: this is not a journal of turnstile")
            _limit_work(database)
            rows = _rows(database, question, last, limit)
    except JournalError:
        raise
    except Exception as error:  # of SQLite, or of decoding its strings
        raise JournalError(_damaged(path, error)) from error
    for row in rows:
        is_typed = all(isinstance(value, kind) for value, kind in zip(row, _TYPES, strict=True))
        if not is_typed or any(len(text) > _MAX_TEXT for text in (row[2], row[3], row[6])):
            raise JournalError(f"{path}: the journal is damaged: an entry has values that turnstile never writes")
        if not question.is_next(row[0], last):
            raise JournalError(f"{path}: the journal is damaged: its entries are out of order")
        last = row[0]
    return rows


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_PLAIN)
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
            database.execute(f"PRAGMA {setting}").fetchall()
    except BaseException:
        database.close()
        raise
    return database


def _limit_work(database: sqlite3.Connection) -> None:
    steps = iter(range(_MAX_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, _WORK_STEP)


def _rows(database: sqlite3.Connection, question: _Question, last: int, limit: int) -> list[_Row]:
    known = columns_of(database, "entries")
    cause = "cause" if "cause" in known else "''"
    repeated = "repeated" if "repeated" in known else "0"
    about, values = ("workload = ? AND", [question.workload]) if question.workload is not None else ("", [])
    query = f"""
    SELECT e.id, at_ns, workload, label, e.body, r.body, {cause}, {repeated}
    FROM entries e LEFT JOIN rules r ON r.id = e.rules
    WHERE {about} kind = ? AND e.id {">" if question.order == "ASC" else "<"} ? ORDER BY e.id {question.order} LIMIT ?
    """  # noqa: S608 - made of constants
    found: list[_Row] = []
    size = 0
    for row in database.execute(query, (*values, question.kind, last, limit)):
        found.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if size >= _PAGE_BYTES:
            break
    return found


def _entry(path: Path, row: _Row, kind: str, body: Any, rules: Any) -> JournalEntry:
    id_, at_ns, workload, label, packed, shared, cause, repeated = row
    try:
        plain = unpacked(packed)
        if shared is not None and not is_bounded(shared):
            raise JournalError("rules are larger than any that turnstile writes")
        common = loads(rules, shared) if shared is not None else None
        size = len(plain) + len(shared or b"")
        return JournalEntry(at_ns, kind, workload, label, loads(body, plain), common, cause, repeated, id_, size)
    except (JournalError, zlib.error) as error:
        raise JournalError(_damaged(path, error)) from error
    except RecordingError as error:
        raise JournalError(f"{path}: {excerpt(str(error))}; use the version of turnstile that wrote it") from error


def _plain(path: Path, row: _Row) -> bytes:
    try:
        return unpacked(row[4])
    except (JournalError, zlib.error) as error:
        raise JournalError(_damaged(path, error)) from error


def _damaged(path: Path, error: Exception) -> str:
    reason = excerpt(str(error))
    return f"{path}: the journal is damaged or cut off ({reason}); copy it again with its -wal file"
