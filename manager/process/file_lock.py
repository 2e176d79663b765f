"""A lock that the system lets go of when its holder ends, however it ends."""

import fcntl
import os
from pathlib import Path


class LockHeldError(Exception):
    """Another process, or another part of this one, holds the lock."""


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
        except BaseException as error:
            os.close(self._descriptor)
            if isinstance(error, BlockingIOError):
                raise LockHeldError from None
            raise

    def close(self) -> None:
        """Let go of the lock."""
        os.close(self._descriptor)
