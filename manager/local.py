"""Runs local clusters until told to stop: the one place where the product touches `localcluster`.

Imported only by the command that needs it, so that production never loads an API server.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from localcluster.cluster import LocalCluster, LocalClusterError, LocalClusters

__all__ = ["LocalClusterError", "serve_local_clusters"]


async def serve_local_clusters(
    names: Sequence[str], directory: Path, announce: Callable[[Sequence[LocalCluster]], None]
) -> None:
    """Start the clusters, announce them once all of them answer, and serve until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with LocalClusters(names, directory) as clusters:
        announce(list(clusters.values()))
        await stopped.wait()
