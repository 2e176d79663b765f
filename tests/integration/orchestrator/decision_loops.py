"""Decisions that are made again and again."""

from config.api.meta import ObjectKey
from tests.integration.orchestrator.kueue import NAMESPACE
from tests.integration.orchestrator.world import World

LOOPS = "turnstile_decision_loops_total"


async def look_at(world: World, times: int) -> None:
    """Have a Workload looked at for no reason, as often as a mistake would."""
    daemon = world.daemon
    assert daemon is not None
    for _ in range(times):
        daemon.workloads.add(ObjectKey(NAMESPACE, "wl"))
        await world.until(lambda: daemon.workloads.is_idle)


def loops(world: World) -> float:
    assert world.daemon is not None
    return world.daemon.metrics.registry.get_sample_value(LOOPS) or 0
