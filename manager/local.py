"""Runs local clusters until told to stop: the one place where the product touches `localcluster`.

Imported only by the command that needs it, so that production never loads an API server.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from localcluster.cluster import LocalCluster, LocalClusterError, LocalClusters
from localcluster.kueue.stand_in import LocalKueue

__all__ = ["LocalClusterError", "serve_local_clusters"]


async def serve_local_clusters(
    names: Sequence[str],
    directory: Path,
    announce: Callable[[Sequence[LocalCluster]], None],
    *,
    with_kueue: bool = False,
) -> None:
    """Start the clusters, announce them once all of them answer, and serve until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with LocalClusters(names, directory) as clusters, AsyncExitStack() as kueues:
        for cluster in clusters.values() if with_kueue else ():
            await kueues.enter_async_context(LocalKueue(cluster.store).running())
        announce(list(clusters.values()))
        await stopped.wait()
