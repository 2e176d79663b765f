"""Runs local clusters until told to stop: the one place where the product touches `localcluster`.

Imported only by the commands that need it, so that production never loads an API server. The demo takes from here what
it needs of `localcluster`.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from localcluster.cluster import LocalCluster, LocalClusterError, LocalClusters
from localcluster.fleet import LocalFleet, Member
from localcluster.kinds.api_errors import ApiError
from localcluster.kueue.annotations import NEVER, RUN_SECONDS, STOP_SECONDS
from localcluster.kueue.profile import CURRENT, GATES_OFF, KEP_8303, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from localcluster.sample_queues import QUEUE
from localcluster.store.ledger import Change, ChangeType

__all__ = [
    "CURRENT",
    "GATES_OFF",
    "KEP_8303",
    "NEVER",
    "QUEUE",
    "RUN_SECONDS",
    "STOP_SECONDS",
    "ApiError",
    "Change",
    "ChangeType",
    "KueueProfile",
    "LocalCluster",
    "LocalClusterError",
    "LocalFleet",
    "Member",
    "serve_local_clusters",
]


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
