"""The story in docs/cli.md: a training job that fits nowhere without preemption, before and after its gate opens."""

import re
from pathlib import Path

from localcluster.kueue.job_workload import pod_set_of
from tests.integration.orchestrator.forecasting import forecasting, pods, queue, result, tenant
from tests.integration.orchestrator.kueue import NAMESPACE, job
from tests.integration.orchestrator.world import World
from tests.screens.camera import Camera, beside
from tests.unit.manager.journals import journal

NAME = "training"
SETTING = {
    "east": [queue(8), tenant("render", 4), tenant("nightly", 4, priority=50)],
    "north": [queue(4), tenant("tests", 2), tenant("docs", 2)],
    "west": [queue(8), tenant("payroll", 8, priority=500)],
}
GATES = {"policy": "LeastDisruption", "non_preempting_grace": "30s"}


async def training(directory: Path) -> dict[str, str]:
    """Play it. Time passes only where nothing is under way, so that every moment is the same each time."""
    path = directory / "journal.db"
    async with forecasting(directory, SETTING, gates=GATES, journal={"path": str(path)}) as made:
        await submitted(made)
        await made.pass_time(12)
        async with beside(made, directory) as camera:
            await _waiting(camera)
            await made.pass_time(18)
            await made.until(lambda: made.check(NAME)["state"] == "Ready" and made.holders(NAME) == ["east"])
            await made.until(lambda: result(made, NAME) == "exact")
            await made.pass_time(60)
            keep(made, path)
            await _running(camera)
            await _rejected(made, camera)
        hub = ("--kubeconfig", str(made.hub.local.kubeconfig_path), "--socket", str(directory / "none"))
        without = Camera(directory, hub)
        await _without_daemon(without)
        return {**camera.screens, **without.screens}


async def submitted(made: World) -> None:
    """Let the tenants run for a while, and then submit a job that asks for as much as the smaller of them hold."""
    await made.until(lambda: made["east"].condition("Admitted", "nightly"))
    await made.until(lambda: made["north"].condition("Admitted", "docs"))
    await made.until(lambda: made["west"].condition("Admitted", "payroll"))
    await made.pass_time(90)
    owner = made.hub.create("jobs", job(NAME, template=pods(4)[0]["template"]), "batch", NAMESPACE)
    made.submit(NAME, owner, podSets=[pod_set_of(owner)], priority=100)
    made.hub.reserve(NAME)
    await made.until(lambda: _asks(made, "east") and _asks(made, "north"))
    await made.until(lambda: made.holders(NAME) == list(SETTING))
    await made.settled()


def keep(made: World, path: Path) -> None:
    """Write the decisions so far to a journal."""
    kept = journal(path, now_ns=made.clock.now_ns)
    for look in made.looks:
        kept.note_reconciliation(look)
    kept.close()


def _asks(made: World, worker: str) -> bool:
    return made[worker].has_workload(NAME) and made[worker].condition("BlockedOnPreemptionGates", NAME) is not None


async def _waiting(camera: Camera) -> None:
    await camera.take("status", "status")
    await camera.take("status-workloads", "status", "workloads", "-A")
    await camera.take("status-workers", "status", "workers", "-o", "wide")
    await camera.take("status-gates", "status", "gates", "-A")
    await camera.take("explain", "explain", f"team/{NAME}")


async def _running(camera: Camera) -> None:
    await camera.take("status-forecasts", "status", "forecasts", "-A")
    await camera.take("status-name", "status", "workloads", "-A", "-o", "name")
    await camera.take("status-json", "status", "workers", "-o", "json")
    await camera.take("explain-running", "explain", f"team/{NAME}")
    await camera.take("timeline", "timeline", f"team/{NAME}")
    await camera.take("timeline-victims", "timeline", "--victims", "-n", "team", "--since", "24h")
    await camera.take("unknown", "explain", "team/nobody")


async def _rejected(made: World, camera: Camera) -> None:
    """Submit a job that does not name its manager."""
    owner = made.hub.create("jobs", job("notebook", managed_by=None), "batch", NAMESPACE)
    made.submit("notebook", owner)
    await made.until(lambda: made.check("notebook")["state"] == "Rejected")
    await made.settled()
    await camera.take("explain-rejected", "explain", "job/notebook", "-n", "team")


async def _without_daemon(camera: Camera) -> None:
    def edit(screen: str) -> str:
        shown = re.sub(r"context \S+ of \S+/\S+\)", "context hub of /home/me/.kube/config)", screen)
        return shown.replace(f"{camera.home}/none", "/run/turnstile/api.sock")

    await camera.take("hub", "explain", "-n", "team", NAME, edit=edit)
