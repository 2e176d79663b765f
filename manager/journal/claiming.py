"""The lock of a journal: one daemon writes to it."""

from pathlib import Path

from manager.base.errors import TakenPathError
from manager.journal.schema import JournalError
from manager.process.file_lock import FileLock, LockHeldError


def claim_journal(path: Path) -> FileLock | None:
    """Lock a journal before it is opened; raises `TakenPathError` if another daemon has it.

    What else is wrong is found when it is opened, and keeps no daemon from its work.
    """
    try:
        return lock_journal(path)
    except JournalError as error:
        raise TakenPathError(f"journal.path: {error}") from None
    except OSError:
        return None


def taken_by(holder: str) -> str:
    """Say who has the journal; `holder` names the process, or is empty."""
    return f"another daemon{holder} writes to it; give each its own journal.path"


def lock_journal(path: Path) -> FileLock:
    """Lock a journal; raises `JournalError` if another daemon has it."""
    try:
        return FileLock(path.with_name(f"{path.name}-lock"))
    except LockHeldError as holder:
        raise JournalError(f"{path}: {taken_by(str(holder))}") from None
