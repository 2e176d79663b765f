"""A lock that the system lets go of when its holder ends, however it ends."""

import fcntl
import os
from pathlib import Path
from typing import Final

_LONGEST_NUMBER: Final = 20


class LockHeldError(Exception):
    """Another process, or another part of this one, holds the lock; the text names the process if it is known."""


class FileLock:
    """Holds a file locked from its making until it is closed.

    The file stays when the lock is let go of: removing it would let two holders lock two files of one name.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock; raises `LockHeldError` or `OSError`."""
        self._path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._descriptor, _LONGEST_NUMBER, 0).strip()
            os.close(self._descriptor)
            raise LockHeldError(f" (process {holder.decode()})" if holder.isdigit() else "") from None
        except BaseException:
            os.close(self._descriptor)
            raise

    def close(self) -> None:
        """Let go of the lock."""
        os.close(self._descriptor)
