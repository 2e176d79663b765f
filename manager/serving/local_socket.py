"""The socket file of a daemon: never open to other users, and never in place of another file."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from manager.base.errors import TakenPathError
from manager.process.file_lock import FileLock, LockHeldError

_OWNER_ONLY: Final = 0o177


@contextmanager
def local_socket(path: Path) -> Iterator[socket.socket]:
    """Hold a bound socket during the enclosed block; its file goes afterwards.

    Raises `TakenPathError` if the place is taken, and `OSError` if there can be no socket there at all.
    """
    try:
        lock = FileLock(path.with_name(f"{path.name}-lock"))
    except LockHeldError as holder:
        raise _taken(path, str(holder)) from None
    with closing(lock):
        _make_room(path)
        with closing(_bound(path)) as made:
            identity = _identity(path)
            try:
                yield made
            finally:
                with suppress(OSError):
                    if _identity(path) == identity:
                        path.unlink()


def _make_room(path: Path) -> None:
    """Remove the socket of a process that was killed; nothing else."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise TakenPathError(f"api.socket: {path} exists and is not a socket; remove it, or set another path")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
        caller.settimeout(0)  # a full backlog still means that a process listens
        try:
            caller.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                raise TakenPathError(f"api.socket: {path} belongs to another program: {error.strerror}") from error
    raise _taken(path)


def _bound(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(_OWNER_ONLY)  # setting the mode afterwards would leave a moment in which any user may connect
    try:
        made.bind(str(path))
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _taken(path: Path, holder: str = "") -> TakenPathError:
    return TakenPathError(f"api.socket: another daemon{holder} answers at {path}; give each its own path, or null")
