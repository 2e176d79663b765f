"""A worker that comes and goes all the time: what runs elsewhere is not reconciled each time."""

from pathlib import Path

from config.api.identifiers import WorkerName
from manager.reconcile.flapping import BURST, PAUSE_SECONDS
from tests.integration.orchestrator.world import running

RUNNING = 10


async def test_F12_a_worker_that_comes_and_goes_does_not_wake_all_workloads_each_time(tmp_path: Path) -> None:
    async with running(tmp_path, "good", "flaps") as world:
        names = [f"wl-{n}" for n in range(RUNNING)]
        for name in names:
            world.queue(name)
        await world.until(lambda: all(map(world["good"].has_workload, names)))
        for name in names:
            world["good"].admit(name)
        await world.until(lambda: all(world.check(name)["state"] == "Ready" for name in names))
        await world.settled()
        assert world.daemon is not None
        client = world.daemon.fleet.links[WorkerName("flaps")].client
        decided, began = len(world.decisions), world.clock.monotonic()
        for n in range(50):
            client.fail(f"lost for the time {n}")
            await world.pass_time(0.1)
            client.recover()
            await world.pass_time(0.1)
        seconds = world.clock.monotonic() - began
        looks = (len(world.decisions) - decided) / RUNNING
        assert looks <= BURST + seconds / PAUSE_SECONDS + 2, f"{looks} looks at each Workload in {seconds} s"
        # What depends on a worker that flapped is still looked at, and others are not put off.
        world["good"].finish("wl-0")
        await world.until(lambda: world.hub.condition("Finished", "wl-0"))
        world.queue("late")
        await world.pass_time(PAUSE_SECONDS)
        assert world["flaps"].has_workload("late")
