"""The screens of `turnstile plan` and `turnstile doctor` in docs/cli.md."""

import re
import time
from datetime import timedelta
from pathlib import Path

from localcluster.cluster import Partition
from tests.integration.doctor.wards import allowing, grants_of, ward
from tests.integration.orchestrator.forecasting import forecasting, queue, tenant
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.planning import open_hub, write_configuration
from tests.integration.orchestrator.pod_scheduling import furnish, running_pod
from tests.integration.orchestrator.world import World
from tests.screens.camera import Camera, beside
from tests.support.builders import Builder
from tests.support.pod_builders import node

JOB = "docs/examples/training-job.yaml"
SETTING: dict[str, list[Builder]] = {
    "east": [queue(8), tenant("render", 4), tenant("nightly", 2, priority=50)],
    "north": [queue(4), tenant("tests", 2)],
    "west": [queue(16), tenant("payroll", 8, priority=500)],
}


async def planning(directory: Path) -> dict[str, str]:
    """Plan a job while one worker has room for it, and once more without that worker and the next."""
    async with forecasting(directory, SETTING) as made:
        open_hub(made)
        tenants = [(worker, each.name) for worker, all_of in SETTING.items() for each in all_of[1:]]
        await made.until(lambda: all(made[worker].condition("Admitted", name) for worker, name in tenants))
        await made.pass_time(1800)
        async with beside(made, directory) as camera:
            await camera.take("plan", "plan", "-f", JOB)
            made.list_workers("north")
            await made.settled()
            await camera.take("plan-nowhere", "plan", "-f", JOB)
        return camera.screens


async def planning_pods(directory: Path) -> dict[str, str]:
    """Plan a job for which a worker evicts pods as well."""
    workers = [{"name": "east", "pod_forecast": True}]
    async with forecasting(directory, {"east": [queue(8), tenant("render", 8)]}, workers=workers) as made:
        open_hub(made)
        east = made["east"]
        pods = [running_pod("web", 4, "node-1"), running_pod("render-0", 4, "node-2", workload="render")]
        for each in pods:
            each["status"]["startTime"] = east.now()
        furnish(east, node("node-1", 4), node("node-2", 4), *pods)
        default = {"metadata": {"name": "important"}, "value": 100, "globalDefault": True}
        east.create("priorityclasses", default, "scheduling.k8s.io")
        await made.until(lambda: east.condition("Admitted", "render"))
        await made.pass_time(1800)
        async with beside(made, directory) as camera:
            await camera.take("plan-pods", "plan", "-f", JOB)
        return camera.screens


async def examining(directory: Path) -> dict[str, str]:
    """Examine a hub with healthy workers, and then with three that are not."""
    worker = allowing(grant for grant in grants_of("worker.yaml") if grant != ("batch", "jobs", "delete"))
    forecasts = allowing(grants_of("worker-forecasts.yaml", "worker-kueue.yaml"))
    async with ward(directory, "east", "north", "west", limited={"north": (*worker, *forecasts)}) as made:
        _on_the_systems_clock(made)
        hidden = ("--config", str(write_configuration(made, directory / "turnstile.yaml")))
        camera = Camera(directory, hidden)
        await camera.take("doctor-healthy", "doctor", "--worker", "east")
        made["east"].delete("localqueues", "main", KUEUE)
        await made["west"].local.partition(Partition.REFUSED)
        await camera.take("doctor", "doctor", edit=lambda screen: _without_ports(made, screen))
        await made["west"].local.heal()
        return camera.screens


def _on_the_systems_clock(made: World) -> None:
    """Let the clusters show the time that the command has."""
    for cluster in (made.hub, *made.workers.values()):
        cluster.clock.skew = timedelta(seconds=time.time() - made.clock.now_ns() / 1e9)


def _without_ports(made: World, screen: str) -> str:
    """Write the address of the worker that is away as that of a machine."""
    port = made["west"].local.port
    named = screen.replace(f"https://127.0.0.1:{port}", "https://west.example:6443")
    return re.sub(rf"\('127\.0\.0\.1', {port}\)", "('192.0.2.7', 6443)", named)
