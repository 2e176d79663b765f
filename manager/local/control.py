"""How another process cuts a local cluster off and restores it: one line each way over a socket in the directory."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

from config.names import LONGEST_SOCKET_PATH
from localcluster.cluster import LocalCluster, LocalClusterError, Partition

SOCKET: Final = "control.sock"
_LONGEST_LINE: Final = 1000
_OWNER_ONLY: Final = 0o177
_DONE: Final = "done"
_PATIENCE_SECONDS: Final = 30.0


class LinkFault(StrEnum):
    """What can be done to a cluster."""

    CUT = "cut"
    SILENCE = "silence"
    RESTORE = "restore"


_FAULTS: Final = tuple(map(str, LinkFault))


class NotServedError(Exception):
    """No process serves local clusters from this directory; the message says so."""


def refuse_long_path(path: Path) -> None:
    """Raise if there can be no socket at a path."""
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise LocalClusterError(f"--directory: {path} is too long for a socket, of at most {LONGEST_SOCKET_PATH} bytes")


@asynccontextmanager
async def control_socket(directory: Path, clusters: Mapping[str, LocalCluster]) -> AsyncIterator[None]:
    """Answer requests during the enclosed block. The directory is this process's own: what lies there is stale."""
    path = directory / SOCKET
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(_OWNER_ONLY)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError):  # a caller that left, or that sent a line without an end
            asked = (await reader.readline()).decode(errors="replace")
            writer.write(f"{await _carry_out(asked.split(), clusters)}\n".encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, sock=made, limit=_LONGEST_LINE)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _carry_out(words: list[str], clusters: Mapping[str, LocalCluster]) -> str:
    """Do what a line asks for; return what to answer."""
    match words:
        case [fault, name] if fault in _FAULTS and name in clusters:
            await _strike(clusters[name], LinkFault(fault))
            return _DONE
        case [fault, name] if fault in _FAULTS:
            return f'there is no cluster "{name}" here; there are {", ".join(clusters)}'
    return f"a request is one of {', '.join(_FAULTS)} and the name of a cluster"


async def _strike(cluster: LocalCluster, fault: LinkFault) -> None:
    match fault:
        case LinkFault.CUT:
            await cluster.partition(Partition.REFUSED)
        case LinkFault.SILENCE:
            await cluster.partition(Partition.BLACK_HOLE)
        case LinkFault.RESTORE:
            await cluster.heal()
        case _:
            assert_never(fault)


async def request_fault(directory: Path, fault: LinkFault, cluster: str) -> None:
    """Ask the process that serves a directory; raises `NotServedError` or `LocalClusterError`."""
    refuse_long_path(directory / SOCKET)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            reader, writer = await asyncio.open_unix_connection(directory / SOCKET)
            writer.write(f"{fault} {cluster}\n".encode())
            answer = (await reader.readline()).decode(errors="replace").rstrip("\n")
            writer.close()
    except (OSError, TimeoutError):
        raise NotServedError(
            f"no `turnstile local` answers in {directory}; start it, or name its directory with --directory"
        ) from None
    if answer != _DONE:
        raise LocalClusterError(answer or "`turnstile local` ended meanwhile")
