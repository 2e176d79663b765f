"""The one way in which a file named by a user is read: bounded, with one sentence for each thing that can be wrong."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

IS_DIRECTORY: Final = "is a directory: name a file in it"
_CHUNK: Final = 1 << 16


class UnreadableFileError(ValueError):
    """Why a file could not be read; the sentence names the remedy, not the file."""


def read_bounded(path: Path, limit: int, *, confined: bool = False, regular: bool = False) -> bytes:
    """Return the file's content; `limit` bytes at most, so that a wrong path cannot exhaust memory.

    `regular` is for a file that is read again and again: a pipe or a device could hang the reader.

    `confined` is for a path from a less trusted source that the caller has resolved: a symbolic link that
    took its place meanwhile is not followed, and only a regular file is read (a pipe could hang the reader).
    """
    # Without O_NONBLOCK, opening a FIFO without a writer would hang forever.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if confined else 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise UnreadableFileError(unreadable(error)) from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableFileError(IS_DIRECTORY)
        if (confined or regular) and not stat.S_ISREG(mode):
            raise UnreadableFileError("is not a regular file")
        os.set_blocking(descriptor, True)
        return _read(descriptor, limit)
    except OSError as error:
        raise UnreadableFileError(unreadable(error)) from error
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int) -> bytes:
    content = bytearray()
    while chunk := os.read(descriptor, _CHUNK):
        content += chunk
        if len(content) > limit:
            raise UnreadableFileError(f"is larger than {limit >> 10} KiB, which is the limit")
    return bytes(content)


def unreadable(error: OSError) -> str:
    """Say why a file, or what is in a directory, cannot be read."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "does not exist"
        case errno.EACCES | errno.EPERM:
            return "is not readable: permission denied; run this as a user who may read it, or change its mode"
        case errno.EISDIR:
            return "is a directory: name a file in it"
        case errno.ELOOP:
            return "is a symbolic link that may not be followed"
        case errno.ENAMETOOLONG:
            return "has a name that is too long; most file systems allow 255 bytes"
        case _:
            return f"is not readable: {error.strerror}"
