"""The tables of the journal, and how a file shows that it is one.

A file from elsewhere, or one that a configuration names by mistake, is not trusted: a table with a name of the journal
must be a plain table with plain columns, because a view or a computed column runs what its author wrote.
"""

import sqlite3
import zlib
from pathlib import Path
from typing import Final

from gates.reports.recording import FORMAT

APPLICATION_ID: Final = 0x5475726E
"""Marks the databases of this application; those of versions before it have 0 and are known by their tables."""
CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS rules (id INTEGER PRIMARY KEY, body BLOB UNIQUE NOT NULL)",
    """CREATE TABLE IF NOT EXISTS entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ns INTEGER NOT NULL,
        kind TEXT NOT NULL,
        workload TEXT NOT NULL,
        label TEXT NOT NULL,
        rules INTEGER,
        body BLOB NOT NULL,
        cause TEXT NOT NULL DEFAULT '',
        repeated INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX IF NOT EXISTS entries_by_workload ON entries (workload, id)",
    "CREATE INDEX IF NOT EXISTS entries_by_rules ON entries (rules)",
)
LATER_COLUMNS: Final = {"cause": "TEXT NOT NULL DEFAULT ''", "repeated": "INTEGER NOT NULL DEFAULT 0"}
"""What journals of earlier versions lack."""
_FIRST_COLUMNS: Final = {
    "entries": {"id", "at_ns", "kind", "workload", "label", "rules", "body"},
    "rules": {"id", "body"},
}
MAX_PLAIN: Final = 16 << 20
"""The most bytes of one entry, unpacked."""
_MAX_VALUES: Final = 250_000
_SCHEMA_STEP: Final = 1_000
_SCHEMA_STEPS: Final = 100
"""Reading the schema may take so many steps of so many instructions of SQLite: some thousand tables. The time that it
takes grows with the square of their number, and SQLite counts none of it."""
_COMPRESSION: Final = 1


class JournalError(ValueError):
    """A journal that cannot be used; the message is one sentence with the remedy."""


def format_of(database: sqlite3.Connection, path: Path) -> int:
    """Return the format of a journal, 0 for a database that holds nothing yet; raises `JournalError` for any other.

    Whatever limits the work of a connection is to be set afterwards.
    """
    _read_schema(database, path)
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (found,) = database.execute("PRAGMA user_version").fetchone()
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master LIMIT 1000")}
    is_named_so = application == APPLICATION_ID or not names or names >= _FIRST_COLUMNS.keys()
    if application not in (0, APPLICATION_ID) or not is_named_so or found < 0:
        raise JournalError(_foreign(path))
    if found > FORMAT:
        raise JournalError(f"{path}: {too_new(found)}")
    is_plain = all(_is_plain(database, table, columns) for table, columns in _FIRST_COLUMNS.items())
    if names and (not is_plain or _has_triggers(database)):
        raise JournalError(_foreign(path))
    return int(found) if names else 0


def columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of the columns that a table stores."""
    return {str(row[1]) for row in database.execute(f"PRAGMA table_xinfo({table})") if row[6] == 0}


def is_bounded(plain: bytes) -> bool:
    """Return whether JSON can be read without taking far more memory than its length: small values take the most."""
    return len(plain) <= MAX_PLAIN and sum(map(plain.count, (b"[", b"{", b","))) <= _MAX_VALUES


def packed(plain: bytes) -> bytes:
    """Return an entry's body as it is stored."""
    return zlib.compress(plain, _COMPRESSION)


def unpacked(body: bytes) -> bytes:
    """Return an entry's body; raises `JournalError` or `zlib.error`."""
    inflater = zlib.decompressobj()
    plain = inflater.decompress(body, MAX_PLAIN + 1)
    if not is_bounded(plain):
        raise JournalError("an entry is larger than any that turnstile writes")
    if not inflater.eof:
        raise JournalError("an entry is cut off")
    return plain


def _read_schema(database: sqlite3.Connection, path: Path) -> None:
    """Have SQLite read what the file declares, which it does before anything else, as long as that is not too much."""
    steps = iter(range(_SCHEMA_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, _SCHEMA_STEP)
    try:
        database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        raise JournalError(_foreign(path)) from error
    finally:
        database.set_progress_handler(None, 0)


def _has_triggers(database: sqlite3.Connection) -> bool:
    """Return whether adding or dropping entries would run triggers."""
    (found,) = database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()
    return bool(found)


def _is_plain(database: sqlite3.Connection, table: str, columns: set[str]) -> bool:
    """Return whether this is a table with row ids whose columns are stored."""
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ? AND rootpage > 0"
    if database.execute(query, (table,)).fetchone() != (1,):
        return False
    kinds = [(row[2], row[4]) for row in database.execute(f"PRAGMA table_list({table})") if row[0] == "main"]
    keys = [(row[1], row[2].upper()) for row in database.execute(f"PRAGMA table_xinfo({table})") if row[5]]
    return kinds == [("table", 0)] and keys == [("id", "INTEGER")] and columns <= columns_of(database, table)


def too_new(found: int) -> str:
    """Say that a journal was written by a newer version."""
    return f"the journal has format {found}, this version reads up to {FORMAT}; use a newer turnstile"


def _foreign(path: Path) -> str:
    return f"{path}: this is a database, but not a journal of turnstile; journal.path must be a file of its own"
