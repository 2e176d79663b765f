"""`turnstile explain` on what the hub's own Kueue says: the same with a daemon and from the hub alone."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from config.names import KUEUE_GROUP
from tests.conformance.client import Obj
from tests.conformance.resources import JOBS
from tests.e2e.processes import command
from tests.e2e.scene import Scene

HUB_CPU = 100
"""What the hub's queue has."""


@dataclass(frozen=True)
class Expected:
    """What an explanation says about the hub's state."""

    reason: str
    message: str
    remedy: str


EXPECTED = {
    "unmanaged": Expected("CheckRejected", "Expecting spec.managedBy to be", "create it again with spec.managedBy: "),
    "huge": Expected("ExceedsQuota", "> maximum capacity (100)", "request less, or raise the quota"),
    "lost": Expected("QueueNotReady", "LocalQueue nowhere doesn't exist", "create LocalQueue nowhere in namespace "),
    "off": Expected("Deactivated", "The workload is deactivated", '{"spec":{"active":true}}'),
}


async def submit_all(scene: Scene) -> None:
    """Submit one job for each reason why the hub itself does not send it on."""
    unmanaged = scene.job("unmanaged")
    (await scene.hub.api.post(JOBS.at(scene.name), unmanaged)).expect(201)
    await scene.submit("huge", cpu=2 * HUB_CPU)
    lost = scene.job("lost", managed_by="kueue.x-k8s.io/multikueue")
    lost["metadata"]["labels"][f"{KUEUE_GROUP}/queue-name"] = "nowhere"
    (await scene.hub.api.post(JOBS.at(scene.name), lost)).expect(201)
    await scene.submit("off")
    for job in EXPECTED:
        await scene.until(lambda job=job: scene.workload(scene.hub, job), f"the Workload of {job}")  # type: ignore[misc]
    await scene.until(lambda: scene.has(scene.hub, "off", "QuotaReserved"), "quota for the job that is switched off")
    await scene.patch_workload("off", {"spec": {"active": False}})


async def test_the_hubs_own_reason_comes_first(scene: Scene) -> None:
    await scene.build()
    with tempfile.TemporaryDirectory(prefix="api-") as directory:  # the name of a socket must be short
        socket = Path(directory) / "s"
        await scene.start_turnstile(api={"socket": str(socket)})
        await submit_all(scene)
        hub = ("--kubeconfig", str(scene.directory / "hub.kubeconfig"), "--socket", f"{socket}-none")
        for job, expected in EXPECTED.items():
            for source in (("--socket", str(socket)), hub):

                async def is_told(
                    job: str = job, expected: Expected = expected, source: tuple[str, ...] = source
                ) -> bool:
                    code, found = await command("explain", f"job/{job}", "-n", scene.name, *source)
                    return code == 0 and is_as_expected(found, expected)

                await scene.until(is_told, f"{job} to be explained by {source}")


def is_as_expected(found: Obj, expected: Expected) -> bool:
    state = found["state"]
    return (
        state["reason"] == expected.reason
        and expected.message in state["message"]
        and expected.remedy in state["remedy"]
        and found["next"]["kind"] == "FixNeeded"
        and all(worker["forecast"] is None for worker in found["workers"])
    )
