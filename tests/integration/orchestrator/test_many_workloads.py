"""S1: however many Workloads there are, whatever concerns all of them leaves the loop to others in between.

That no piece and no turn of the loop takes long is checked at the end of every world.
"""

import asyncio
from functools import partial
from pathlib import Path

from prometheus_client.exposition import generate_latest

from config.api.meta import ObjectKey
from config.names import ORIGIN_LABEL
from gates.wire.record_readers import replica_record
from tests.integration.orchestrator.asking import fill
from tests.integration.orchestrator.kueue import NAMESPACE, workload
from tests.integration.orchestrator.world import ORIGIN, World, running
from tests.support.worker_names import W1
from workerclient.wire.codec import Identity

MANY = 3_000
COPIES = 80_000


async def let_look(world: World, seconds: float = 0.5) -> None:
    """Let the daemon look at Workloads for some time; none of them is on any cluster, so that nothing is written."""
    daemon = world.running_daemon()
    await world.until(lambda: len(daemon.workloads) + len(world.looks) >= MANY)
    await asyncio.sleep(seconds)
    daemon.workloads.close()
    await world.until(lambda: daemon.workloads.is_idle)
    world.looks.clear()


async def test_S1_a_worker_that_comes_back_to_many_workloads(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        fill(world, MANY)
        world.lag.forget()
        daemon = world.running_daemon()
        world.lag.context.run(asyncio.get_running_loop().call_soon, daemon.router.worker, W1)
        await let_look(world)


async def test_S1_all_workloads_are_looked_at_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        fill(world, MANY)
        world.lag.forget()
        daemon = world.running_daemon()
        world.lag.context.run(asyncio.get_running_loop().call_soon, daemon.router.everything)
        await let_look(world)


async def test_S1_a_look_for_garbage_among_many_copies(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        daemon = world.running_daemon()
        daemon.workloads.close()
        raw = workload("one")
        raw["metadata"] |= {"uid": "one", "namespace": NAMESPACE, "resourceVersion": "1"}
        raw["metadata"]["labels"] = {ORIGIN_LABEL: ORIGIN}
        record = replica_record(raw)
        for number in range(COPIES):
            name = f"w{number:06}"
            for link in daemon.fleet.links.values():
                link.workloads.cache.observe(Identity(ObjectKey(NAMESPACE, name), name, "1"), record)
        world.lag.forget()
        await world.lag.create_task(daemon.garbage.collect())
        world.lag.check()
        world.lag.forget()
        for registry in daemon.registries:
            world.lag.context.run(asyncio.get_running_loop().call_soon, partial(generate_latest, registry))
        await asyncio.sleep(0)
