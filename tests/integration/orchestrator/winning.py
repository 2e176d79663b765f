"""A Workload that runs on a worker."""

from tests.integration.orchestrator.world import World


async def won_by(world: World, name: str = "w1") -> None:
    """Bring a Workload to where it runs on a worker."""
    world.queue()
    await world.until(lambda: len(world.holders()) == len(world.workers))
    world[name].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    await world.until(lambda: world[name].find("jobs", "job-wl", "batch"))
    await world.settled()
