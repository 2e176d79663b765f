"""The file of the journal as its one writer uses it, and how little of the disk it takes.

SQLite in WAL mode: every transaction is in the file before the next begins, so a killed process loses at most what it
had not handed over. The newest entries stay, by age and by size. Invariant: what the system says the files take, all
together, is less than twice the size that entries may have. A reader that holds a transaction keeps the log file from
being used again, so nothing is written while it would grow beyond that.
"""

import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gates.reports.recording import FORMAT, RecordingError, dumps
from manager.journal.claiming import lock_journal
from manager.journal.schema import (
    APPLICATION_ID,
    CREATE,
    LATER_COLUMNS,
    JournalError,
    columns_of,
    format_of,
    is_bounded,
    packed,
)
from manager.process.file_lock import FileLock

_BUSY_SECONDS: Final = 1.0
"""Readers never make the writer wait; what does is a program that has no business here."""
_PAGE: Final = 4096
_PAGES_OF_ROW: Final = 2
_GROWTH_OF_TRANSACTION: Final = 2 * 8 * _PAGE
_NOT_OURS: Final = "this is not a journal; journal.path must be a file of its own"
_STEP_ROWS: Final = 2000
"""How many entries are read, and at most dropped, in one step."""
_STEP_PAGES: Final = 1024
"""How many pages are given back to the system in one step."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
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
    repeated: int = 0
    """How many like it were left out since the last entry about the Workload."""
    id: int = 0
    """The place in the file; given when it is written."""
    size: int = 0
    """How many bytes it takes unpacked; known when it is read."""


@dataclass(frozen=True, slots=True)
class _Row:
    entry: JournalEntry
    rules: bytes | None
    body: bytes

    @property
    def growth(self) -> int:
        """Return by how much the files may grow with it: the log file now, the database later."""
        return 2 * (len(self.body) + len(self.rules or b"") + _PAGES_OF_ROW * _PAGE)


@dataclass(slots=True)
class WriteOutcome:
    """What became of entries that were to be added."""

    written: int = 0
    growth: int = 0
    """By how much the files may have grown."""
    without_room: int = 0
    """Left out because a reader keeps the files from shrinking and they would become too large."""
    refused: int = 0
    """Left out because no journal can hold them."""
    problem: str = ""
    """What is wrong with the last that was refused."""


class JournalFile:
    """An open journal, to be used by one thread."""

    def __init__(self, path: Path, max_bytes: int, claim: FileLock | None = None) -> None:
        """Open or create the file; raises `JournalError`, `OSError` or `sqlite3.Error`.

        `claim` is the lock of a daemon that claimed the file before; it outlives the open file.
        """
        self._path = path
        self._max_bytes = max_bytes
        self._share = max_bytes // 16
        """How much one transaction may write."""
        self.limit = 2 * max_bytes - self._share
        """How much all files may take together."""
        self._files = [path, _beside(path, "-wal"), _beside(path, "-shm")]
        self._rules: Any = None
        self._rules_text = b""
        self._lock = lock_journal(path) if claim is None else None
        try:
            self._database = _connected(path)
        except BaseException:
            self._unlock()
            raise
        try:
            self._prepare()
            self._identities = self._identify()
        except BaseException:
            self.close()
            raise

    def append(self, entries: Iterable[JournalEntry], outcome: WriteOutcome) -> None:
        """Add entries, oldest first, as far as there is room; raises `OSError` or `sqlite3.Error`."""
        for rows in self._portions(entries, outcome):
            growth = sum(row.growth for row in rows) + _GROWTH_OF_TRANSACTION
            if not self._has_room(growth):
                self._reset_log()
            if self._has_room(growth):
                self._add(rows)
                outcome.written += len(rows)
                outcome.growth += growth
            else:
                outcome.without_room += len(rows)

    def tidy(self, oldest_ns: int, now_ns: int) -> bool:
        """Do one short step of what keeps the files small; returns whether there is more to do."""
        if self._size_of(self._files[1]) > self._max_bytes // 2:
            self._reset_log()
            if self._size_of(self._files[1]) > self._max_bytes // 2:
                return False  # every change makes the log file longer while there is a reader
        if self._drop_old(oldest_ns, now_ns) or self._drop_oldest():
            return True
        self._database.execute(
            "DELETE FROM rules WHERE NOT EXISTS (SELECT 1 FROM entries WHERE entries.rules = rules.id)"
        )
        if self._give_back():
            return True
        self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return False

    def size(self) -> int:
        """Return how many bytes all files take, or will once the log file is worked in."""
        log, index = (self._size_of(file) for file in self._files[1:])
        return max(self._size_of(self._path), self._pages() * self._page) + log + index

    def has_room(self) -> bool:
        """Return whether a whole transaction would fit."""
        return self._has_room(self._share + _GROWTH_OF_TRANSACTION)

    def is_in_place(self) -> bool:
        """Return whether these files are still the ones that others find under their names."""
        try:
            return self._identify() == self._identities
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Close the file; it is complete without the log file then, unless there is a reader."""
        try:
            self._database.close()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _prepare(self) -> None:
        execute = self._database.execute
        found = self._format()
        execute(f"PRAGMA page_size = {_PAGE}")
        execute("PRAGMA auto_vacuum = INCREMENTAL")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        self._page = int(execute("PRAGMA page_size").fetchone()[0])
        execute(f"PRAGMA wal_autocheckpoint = {max(32, min(1000, 2 * self._share // _PAGE))}")
        execute(f"PRAGMA journal_size_limit = {min(4 << 20, self._share)}")
        execute("BEGIN IMMEDIATE")
        for statement in CREATE:
            execute(statement)
        lacking = LATER_COLUMNS.keys() - columns_of(self._database, "entries")
        for name in sorted(lacking):  # written by a version that had none
            execute(f"ALTER TABLE entries ADD COLUMN {name} {LATER_COLUMNS[name]}")
        execute(f"PRAGMA application_id = {APPLICATION_ID}")
        if found != FORMAT:
            execute(f"PRAGMA user_version = {FORMAT}")
        execute("COMMIT")

    def _format(self) -> int:
        try:
            return format_of(self._database, self._path)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname != "SQLITE_NOTADB":
                raise
            raise JournalError(f"{self._path}: {_NOT_OURS}") from None

    def _portions(self, entries: Iterable[JournalEntry], outcome: WriteOutcome) -> Iterator[list[_Row]]:
        """Pack entries into transactions that are small beside the file."""
        portion: list[_Row] = []
        growth = 0
        for entry in entries:
            try:
                row = self._row(entry)
            except RecordingError as error:
                outcome.refused += 1
                outcome.problem = f"{entry.kind} about {entry.workload}: {error}"
                continue
            if portion and growth + row.growth > self._share:
                yield portion
                portion, growth = [], 0
            portion.append(row)
            growth += row.growth
        if portion:
            yield portion

    def _row(self, entry: JournalEntry) -> _Row:
        """Write an entry as it is stored; raises `RecordingError` for one that would be refused when it is read."""
        if entry.rules != self._rules:  # mostly the same
            self._rules, self._rules_text = entry.rules, dumps(entry.rules)
        rules = self._rules_text if entry.rules is not None else None
        plain = dumps(entry.body)
        row = _Row(entry, rules, packed(plain) if is_bounded(plain) else b"")
        if not row.body or row.growth > self._max_bytes // 4:
            raise RecordingError(f"{len(plain)} bytes are too many for one entry")
        return row

    def _add(self, rows: Sequence[_Row]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for row in rows:
                self._insert(row)
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has rolled it back already
                self._database.execute("ROLLBACK")
            raise

    def _insert(self, row: _Row) -> None:
        rules = None
        if row.rules is not None:
            self._database.execute("INSERT OR IGNORE INTO rules (body) VALUES (?)", (row.rules,))
            (rules,) = self._database.execute("SELECT id FROM rules WHERE body = ?", (row.rules,)).fetchone()
        entry = row.entry
        self._database.execute(
            "INSERT INTO entries (at_ns, kind, workload, label, rules, body, cause, repeated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.at_ns, entry.kind, entry.workload, entry.label, rules, row.body, entry.cause, entry.repeated),
        )

    def _drop_old(self, oldest_ns: int, now_ns: int) -> bool:
        """Drop what is too old; entries are in the order of time, unless the clock was set back."""
        last = 0
        while True:
            found = self._database.execute(
                "SELECT id, at_ns FROM entries WHERE id > ? ORDER BY id LIMIT ?", (last, _STEP_ROWS)
            ).fetchall()
            old = [id_ for id_, at_ns in found if at_ns < oldest_ns]
            if old:
                self._database.execute(
                    "DELETE FROM entries WHERE id BETWEEN ? AND ? AND at_ns < ?", (old[0], old[-1], oldest_ns)
                )
                return True
            if len(found) < _STEP_ROWS or any(oldest_ns <= at_ns <= now_ns for _, at_ns in found):
                return False
            last = found[-1][0]

    def _drop_oldest(self) -> bool:
        """Drop a part of the entries, the oldest, if all together are too large."""
        (free,) = self._database.execute("PRAGMA freelist_count").fetchone()
        excess = (self._pages() - free) * self._page - self._max_bytes
        if excess <= 0:
            return False
        dropped: list[int] = []
        growth = 0
        rows = self._database.execute("SELECT id, length(body) FROM entries ORDER BY id LIMIT ?", (_STEP_ROWS,))
        for id_, length in rows.fetchall():
            dropped.append(id_)
            excess -= length
            growth += length + self._page  # what is dropped is written to the log file too
            if excess <= -self._share or growth >= 2 * self._share:
                break
        if dropped:
            self._database.execute("DELETE FROM entries WHERE id <= ?", (dropped[-1],))
        return bool(dropped)

    def _give_back(self) -> bool:
        """Give pages that are not used back to the system, as far as the file is too large."""
        before = self._pages()
        excess = before - self._max_bytes // self._page
        if excess <= 0:
            return False
        pages = min(excess, _STEP_PAGES, max(1, self._share // self._page))
        self._database.executescript(f"PRAGMA incremental_vacuum({pages})")  # `execute` would free a single page
        return self._pages() < before

    def _reset_log(self) -> None:
        """Checkpoint and truncate the log file if there are no readers; does not wait."""
        self._database.execute("PRAGMA busy_timeout = 0")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._database.execute(f"PRAGMA busy_timeout = {round(_BUSY_SECONDS * 1000)}")

    def _has_room(self, growth: int) -> bool:
        return self.size() + growth <= self.limit

    def _pages(self) -> int:
        return int(self._database.execute("PRAGMA page_count").fetchone()[0])

    def _identify(self) -> list[tuple[int, int]]:
        found = (file.stat() for file in self._files)
        return [(each.st_dev, each.st_ino) for each in found]

    @staticmethod
    def _size_of(file: Path) -> int:
        try:
            return file.stat().st_size
        except FileNotFoundError:
            return 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _connected(path: Path) -> sqlite3.Connection:
    with suppress(FileExistsError):  # SQLite would make it world-readable
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    if not stat.S_ISREG(path.stat().st_mode):
        raise JournalError(f"{path}: {_NOT_OURS}")
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
