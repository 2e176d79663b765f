"""The file of the journal: what is in it, how it is bounded, and how it is read back.

SQLite in WAL mode: every transaction is in the file before the next begins, so a killed process loses at most what it
had not handed over. The newest entries stay, by age and by size.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gates.recording import FORMAT, RecordingError, dumps, loads

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS rules (id INTEGER PRIMARY KEY, body BLOB UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ns INTEGER NOT NULL,
    kind TEXT NOT NULL,
    workload TEXT NOT NULL,
    label TEXT NOT NULL,
    rules INTEGER,
    body BLOB NOT NULL,
    cause TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS entries_by_workload ON entries (workload, id);
"""
_READ: Final = """
SELECT at_ns, workload, label, e.body, r.body, cause FROM entries e LEFT JOIN rules r ON r.id = e.rules
WHERE kind = ? AND (? IS NULL OR workload = ?) ORDER BY e.id
"""
_COMPRESSION: Final = 1
_SHARE_DROPPED: Final = 10
"""A file that has grown too large loses one in so many of its entries, the oldest, at a time."""
_BUSY_SECONDS: Final = 5.0


class JournalError(ValueError):
    """A journal that cannot be used; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    at_ns: int
    kind: str
    workload: str
    label: str
    body: Any
    rules: Any = None
    """What many entries share; kept once."""
    cause: str = ""
    """The id that log lines and traces of the same reconcile carry."""


class JournalFile:
    """An open journal, to be used by one thread."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; raises `JournalError`, `OSError` or `sqlite3.Error`."""
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            self._prepare(path)
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, path: Path) -> None:
        execute = self._database.execute
        found = _format_of(self._database)
        if found > FORMAT:
            raise JournalError(_newer(path, found))
        execute("PRAGMA auto_vacuum = INCREMENTAL")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("PRAGMA journal_size_limit = 4194304")
        self._database.executescript(_SCHEMA)
        if not _keeps_causes(self._database):  # written by a version that had none
            execute("ALTER TABLE entries ADD COLUMN cause TEXT NOT NULL DEFAULT ''")
        execute(f"PRAGMA user_version = {FORMAT}")

    def append(self, entries: Iterable[Entry]) -> None:
        """Add entries in one transaction."""
        self._database.execute("BEGIN")
        try:
            for entry in entries:
                self._insert(entry)
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def prune(self, oldest_ns: int, max_bytes: int) -> None:
        """Drop what is too old, and the oldest while the file is too large."""
        execute = self._database.execute
        execute("DELETE FROM entries WHERE at_ns < ?", (oldest_ns,))
        while self.size() > max_bytes:
            low, high = execute("SELECT min(id), max(id) FROM entries").fetchone()
            if low is None:
                break
            execute("DELETE FROM entries WHERE id <= ?", (low + (high - low) // _SHARE_DROPPED,))
        execute("DELETE FROM rules WHERE id NOT IN (SELECT rules FROM entries WHERE rules IS NOT NULL)")
        self._database.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def size(self) -> int:
        """Return how many bytes the entries take."""
        (pages,), (free,), (page,) = (
            self._database.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _insert(self, entry: Entry) -> None:
        rules = None
        if entry.rules is not None:
            body = dumps(entry.rules)
            self._database.execute("INSERT OR IGNORE INTO rules (body) VALUES (?)", (body,))
            (rules,) = self._database.execute("SELECT id FROM rules WHERE body = ?", (body,)).fetchone()
        body = zlib.compress(dumps(entry.body), _COMPRESSION)
        self._database.execute(
            "INSERT INTO entries (at_ns, kind, workload, label, rules, body, cause) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.at_ns, entry.kind, entry.workload, entry.label, rules, body, entry.cause),
        )


def read_entries(path: Path, kind: str, body: Any, rules: Any, workload: str | None = None) -> Iterator[Entry]:
    """Read the entries of a kind, of one Workload or all, oldest first, as these types; raises `JournalError`."""
    if not path.is_file():
        raise JournalError(
            f"{path}: there is no such file; journal.path in the configuration says where the journal is"
        )
    try:
        with closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        ) as database:
            found = _format_of(database)
            if found > FORMAT:
                raise JournalError(_newer(path, found))
            if not found:
                raise JournalError(f"{path}: this is not a journal of turnstile")
            query = _READ if _keeps_causes(database) else _READ.replace("cause", "''")
            for at_ns, about, label, packed, shared, cause in database.execute(query, (kind, workload, workload)):
                common = loads(rules, shared) if shared is not None else None
                yield Entry(at_ns, kind, about, label, loads(body, zlib.decompress(packed)), common, cause)
    except (sqlite3.Error, zlib.error) as error:
        message = f"{path}: the journal is damaged or cut off ({error}); copy it again with its -wal file"
        raise JournalError(message) from error
    except RecordingError as error:
        raise JournalError(f"{path}: {error}; use the version of turnstile that wrote it") from error


def _format_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _keeps_causes(database: sqlite3.Connection) -> bool:
    return any(column[1] == "cause" for column in database.execute("PRAGMA table_info(entries)"))


def _newer(path: Path, found: int) -> str:
    return f"{path}: the journal has format {found}, this version reads up to {FORMAT}; use a newer turnstile"
