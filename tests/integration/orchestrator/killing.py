"""Kills the daemon at one of its writes."""

import asyncio
from collections.abc import Callable

from tests.integration.orchestrator.kueue import Cluster
from tests.integration.orchestrator.world import World
from tests.support.virtual_time import until


class Killer:
    """Kills the daemon at its n-th write and starts another one."""

    def __init__(self, world: World, at: int) -> None:
        self.world = world
        self.left = at
        for cluster in (world.hub, *world.workers.values()):
            for collection in cluster.store.ledger.collections.values():
                collection.listen(self.listener(cluster))

    def listener(self, cluster: Cluster) -> Callable[[object], None]:
        return lambda _change: None if cluster.is_test_writing else self.written()

    def written(self) -> None:
        self.left -= 1
        if self.left == 0 and self.world.task is not None:
            self.world.task.cancel()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition through a death of the daemon."""
        waiting = asyncio.create_task(until(condition))
        while not waiting.done():
            if self.world.task is not None and self.world.task.done():
                await self.world.stop()
                await self.world.start()
            await asyncio.sleep(0.001)
        await waiting
