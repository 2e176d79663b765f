"""What do objects that stay terminating on workers cost? The daemon with 50 of them, and with the same ones running.

Plain pods of the hub run on two real workers. Then each worker's pod gets a finalizer that no controller removes and
the hub's pods are deleted, so that every pod stays terminating for as long as the measurement takes.
"""

import argparse
import asyncio
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import Controller, new_scene, real
from benchmarks.race import cpu_seconds
from config.names import KUEUE_GROUP
from tests.conformance.client import Obj
from tests.conformance.resources import PODS
from tests.e2e.clusters import Cluster, run_real
from tests.e2e.scene import Queue, Scene
from tests.realbed import objects
from tests.realbed.bed import BedOptions
from tests.realbed.build import ToolchainError, install_go
from tests.realbed.cluster import TURNSTILE_NAMESPACE
from tests.realbed.kueue import KueueOptions

_FINALIZER = "example.com/hold"
_SETTLE_SECONDS = 20.0
_ROLE = "turnstile-pods"


@dataclass(frozen=True, slots=True)
class Cost:
    """What the daemon used in one phase."""

    cpu_seconds: float
    journal_bytes: int
    log_bytes: int


def _may_use_pods(side: Cluster) -> None:
    """Grant what the shipped roles leave out because pods are not among the default integrations."""
    kind = "rbac.authorization.k8s.io"
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    rules = [{"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": verbs}]
    role = {"apiVersion": f"{kind}/v1", "kind": "ClusterRole", "metadata": {"name": _ROLE}, "rules": rules}
    binding = {
        "apiVersion": f"{kind}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": _ROLE},
        "roleRef": {"apiGroup": kind, "kind": "ClusterRole", "name": _ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": "turnstile", "namespace": TURNSTILE_NAMESPACE}],
    }
    objects.apply(real(side).real.server, [role, binding])


def _pod(number: int) -> Obj:
    container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": "1"}}}
    labels = {f"{KUEUE_GROUP}/queue-name": "jobs", f"{KUEUE_GROUP}/priority-class": "low"}
    spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p-{number}", "labels": labels}, "spec": spec}


async def _running(scene: Scene) -> list[tuple[Cluster, Obj]]:
    found = []
    for side in scene.workers.values():
        listed = (await side.api.get(PODS.at(scene.name))).ok()["items"]
        found += [(side, pod) for pod in listed if (pod.get("status") or {}).get("phase") == "Running"]
    return found


async def _terminating(scene: Scene) -> int:
    return sum("deletionTimestamp" in pod["metadata"] for _, pod in await _running(scene))


async def _measure(scene: Scene, journal: Path, seconds: float) -> Cost:
    """Return what the daemon used while nothing else happened."""
    turnstile = scene.turnstile
    assert turnstile is not None

    def state() -> Cost:
        files = journal.parent.glob(f"{journal.name}*")
        return Cost(
            cpu_seconds(turnstile.pid), sum(each.stat().st_size for each in files), turnstile.log_file.stat().st_size
        )

    await asyncio.sleep(_SETTLE_SECONDS)
    before = state()
    await asyncio.sleep(seconds)
    after = state()
    return Cost(
        after.cpu_seconds - before.cpu_seconds,
        after.journal_bytes - before.journal_bytes,
        after.log_bytes - before.log_bytes,
    )


async def compare(pods: int, seconds: float) -> None:
    """Measure both phases on one bed and print the table."""
    options = KueueOptions(frameworks=("pod",))
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="terminating-")))
        clusters = await stack.enter_async_context(run_real(directory / "bed", BedOptions(hub=options, worker=options)))
        for side in (clusters.hub, *clusters.workers.values()):
            _may_use_pods(side)
        scene = new_scene(clusters, directory, Controller.TURNSTILE)
        stack.push_async_callback(scene.tear_down)
        await scene.build(Queue(cpu=str(pods)), hub=Queue(cpu=str(2 * pods)))
        journal = scene.directory / "journal.db"
        await scene.start_turnstile(jobs={"integrations": ["pod"]}, journal={"path": str(journal)})
        for number in range(pods):
            (await scene.hub.api.post(PODS.at(scene.name), _pod(number))).expect(201)

        async def all_run() -> bool:
            return len(await _running(scene)) == pods

        await scene.until(all_run, f"{pods} pods to run on the workers")
        running = await _measure(scene, journal, seconds)
        held = await _running(scene)
        for side, pod in held:
            patch = {"metadata": {"finalizers": [*pod["metadata"].get("finalizers", []), _FINALIZER]}}
            (await side.api.patch(PODS.at(scene.name, pod["metadata"]["name"]), patch)).ok()
        await scene.hub.api.delete(PODS.at(scene.name), {"propagationPolicy": "Background"})

        async def all_terminate() -> bool:
            return await _terminating(scene) == pods

        await scene.until(all_terminate, f"{pods} pods to be terminating on the workers")
        terminating = await _measure(scene, journal, seconds)
        assert await _terminating(scene) == pods, "a pod is gone that its finalizer should have kept"
        _print(pods, seconds, running, terminating)
        for side, pod in held:
            await side.api.patch(PODS.at(scene.name, pod["metadata"]["name"]), {"metadata": {"finalizers": None}})


def _print(pods: int, seconds: float, running: Cost, terminating: Cost) -> None:
    print(f"| in {seconds:g} s | {pods} pods running | {pods} pods terminating |\n|---|---|---|")
    print(f"| CPU seconds of the daemon | {running.cpu_seconds:.1f} | {terminating.cpu_seconds:.1f} |")
    print(f"| growth of the journal, bytes | {running.journal_bytes} | {terminating.journal_bytes} |")
    print(f"| growth of the log, bytes | {running.log_bytes} | {terminating.log_bytes} |")
    print(f"ratio of CPU seconds: {terminating.cpu_seconds / max(running.cpu_seconds, 0.01):.2f}", flush=True)


def main() -> int:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.terminating", description=__doc__)
    parser.add_argument("--pods", type=int, default=50, help="how many pods (default 50)")
    parser.add_argument("--seconds", type=int, default=600, help="length of each of the two phases (default 600)")
    arguments = parser.parse_args()
    for name, limit in (("pods", 1000), ("seconds", 86_400)):
        if not 1 <= getattr(arguments, name) <= limit:
            parser.error(f"--{name}: must be a whole number from 1 to {limit}")
    try:
        install_go()
        asyncio.run(compare(arguments.pods, arguments.seconds))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
