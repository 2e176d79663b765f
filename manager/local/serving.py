"""Serves local clusters from a directory until told to stop, alone or as a fleet with the daemon."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localcluster.cluster import LocalCluster, LocalClusterError, LocalClusters
from localcluster.kueue.stand_in import LocalKueue
from manager.app.service import stop_signal
from manager.local.control import SOCKET, control_socket, refuse_long_path
from manager.local.daemon_process import DaemonFiles
from manager.local.fleet import make_fleet, running_daemon
from manager.local.instructions import announce_clusters, announce_fleet
from manager.process.file_lock import FileLock, LockHeldError

_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What the user asked for."""

    names: Sequence[str]
    directory: Path
    with_kueue: bool = False
    is_fleet: bool = False


async def serve_local(options: LocalOptions, tell: Callable[[str], None]) -> None:
    """Start everything, say how to use it once all of it answers, and serve until SIGINT or SIGTERM."""
    stopped = stop_signal()
    directory = options.directory
    refuse_long_path(directory / SOCKET)
    if options.is_fleet:
        fleet = make_fleet(options.names, directory)
        with _own_directory(directory, fleet.clusters):
            async with fleet, control_socket(directory, fleet.clusters), running_daemon(fleet, directory) as daemon:
                for line in announce_fleet(fleet.hub, fleet.workers, DaemonFiles(directory)):
                    tell(line)
                await _until_stopped(stopped, daemon, tell)
        return
    clusters = LocalClusters(options.names, directory)
    with _own_directory(directory, clusters):
        async with clusters, _kueues(clusters, options), control_socket(directory, clusters):
            for line in announce_clusters(list(clusters.values())):
                tell(line)
            await stopped.wait()


async def _until_stopped(
    stopped: asyncio.Event, daemon: asyncio.subprocess.Process, tell: Callable[[str], None]
) -> None:
    """Wait for the signal; a daemon that ends before it does not take the clusters with it."""
    waits = {asyncio.create_task(stopped.wait()), asyncio.create_task(daemon.wait())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not stopped.is_set():
            tell(
                f"the daemon ended with exit code {daemon.returncode}; its log says why. The clusters are still served"
            )
            await stopped.wait()
    finally:
        for each in waits:
            each.cancel()


@asynccontextmanager
async def _kueues(clusters: Mapping[str, LocalCluster], options: LocalOptions) -> AsyncIterator[None]:
    async with AsyncExitStack() as kueues:
        for cluster in clusters.values() if options.with_kueue else ():
            await kueues.enter_async_context(LocalKueue(cluster.store).running())
        yield


@contextmanager
def _own_directory(directory: Path, clusters: Mapping[str, LocalCluster]) -> Iterator[None]:
    """Use the directory alone; afterwards remove kubeconfigs that lead nowhere any more."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(directory / _LOCK)
    except LockHeldError:
        raise LocalClusterError(
            f"another `turnstile local` serves from {directory}; stop it, or choose another place with --directory"
        ) from None
    except OSError as error:
        raise LocalClusterError(f"cannot make directory {directory}: {error.strerror}") from error
    with closing(lock):
        try:
            yield
        finally:
            for cluster in clusters.values():
                cluster.remove_files()
