"""`make race`: how fast a hub's controller gets many jobs admitted on two real workers, and what it asks of them.

Kueue's own MultiKueue controller as released, the same without its limit of requests to workers, Turnstile as shipped,
and Turnstile that sends a job where it is forecast to fit, run one after the other on the same bed, each once nothing
is left of the one before. Requests are counted from the API servers' audit logs, so that each client's share is known;
CPU is what the processes used. etcd does not wait for the disk here, which flatters all.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import Controller, new_scene, real, set_to_work
from tests.conformance.client import Obj
from tests.conformance.resources import CLUSTER_QUEUES, EVENTS, NAMESPACES, WORKLOADS
from tests.e2e.clusters import Cluster, Clusters, run_real
from tests.e2e.scene import Queue, Scene, condition_of
from tests.realbed import audit
from tests.realbed.bed import BedOptions
from tests.realbed.build import ToolchainError, install_go
from tests.realbed.cluster import TURNSTILE_NAMESPACE

_SUBMITTED_AT_ONCE = 20
_POLL_SECONDS = 0.5
_DEADLINE_SECONDS = 900.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Result:
    """One controller's race."""

    controller: Controller
    seconds: float
    placed: Counter[str]
    requests: dict[str, float]
    """The controller's own requests about Workloads and Jobs, per Workload, by API server."""
    conflicts: int
    """Its writes on the hub that ended in 409."""
    admitted_twice: int
    """Workloads that had quota on both workers before one copy was withdrawn."""
    controller_cpu: float
    servers_cpu: float


def cpu_seconds(pid: int) -> float:
    """Return what a process used of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def race(clusters: Clusters, directory: Path, jobs: int, controller: Controller) -> Result:
    """Let one controller run its race."""
    scene = new_scene(clusters, directory, controller)
    sides = [real(side) for side in (clusters.hub, *clusters.workers.values())]
    try:
        await set_to_work(scene, controller, Queue(cpu=str(jobs * 3 // 4)), Queue(cpu=str(2 * jobs)))
        pid = scene.turnstile.pid if scene.turnstile is not None else real(clusters.hub).real.kueue.running.pid
        marks = {side.name: audit.position(side.real.directory) for side in sides}
        before = cpu_seconds(pid), sum(cpu_seconds(side.real.server.running.pid) for side in sides)
        began = time.monotonic()
        await _submit(scene, jobs)
        admitted = await _all_admitted(scene, jobs)
        seconds = time.monotonic() - began
        after = cpu_seconds(pid), sum(cpu_seconds(side.real.server.running.pid) for side in sides)
        records = {side.name: audit.since(side.real.directory, marks[side.name]) for side in sides}
        own = {name: [each for each in found if _is_own(each, name, controller)] for name, found in records.items()}
        return Result(
            controller=controller,
            seconds=seconds,
            placed=Counter(str(each["status"].get("clusterName")) for each in admitted),
            requests={name: len(found) / jobs for name, found in own.items()},
            conflicts=sum(each.code == 409 for each in own[clusters.hub.name]),
            admitted_twice=len(
                set.intersection(*[await _given_quota(side, scene.name) for side in clusters.workers.values()])
            ),
            controller_cpu=after[0] - before[0],
            servers_cpu=after[1] - before[1],
        )
    finally:
        await scene.tear_down()
        await _all_gone(scene)


def _is_own(record: audit.Record, cluster: str, controller: Controller) -> bool:
    """Return whether a request is the controller's, which has an account of its own wherever it is a guest."""
    if controller.is_turnstile:
        return record.user.endswith(f":{TURNSTILE_NAMESPACE}:turnstile")
    return record.agent.startswith("kueue") if cluster == "hub" else record.user == "hub"


async def _submit(scene: Scene, jobs: int) -> None:
    slots = asyncio.Semaphore(_SUBMITTED_AT_ONCE)

    async def submit(number: int) -> None:
        async with slots:
            await scene.submit(f"job-{number}", cpu=1)

    async with asyncio.TaskGroup() as group:
        for number in range(jobs):
            group.create_task(submit(number))


async def _all_admitted(scene: Scene, jobs: int) -> list[Obj]:
    """Return the Workloads. Until the queue counts them all only the queue is read, which costs servers little."""
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while True:
            queue = (await scene.hub.api.get(CLUSTER_QUEUES.at(None, scene.name))).ok()
            if queue.get("status", {}).get("admittedWorkloads", 0) >= jobs:
                listed = (await scene.hub.api.get(WORKLOADS.at(scene.name))).ok()["items"]
                admitted = [each for each in listed if condition_of(each, "Admitted").get("status") == "True"]
                if len(admitted) == jobs:
                    return admitted
            await asyncio.sleep(_POLL_SECONDS)


async def _all_gone(scene: Scene) -> None:
    """Wait until nothing of a race is left: clusters that still clear up would slow down the next contestant."""
    for side in (scene.hub, *scene.workers.values()):

        async def is_gone(side: Cluster = side) -> bool:
            return (await side.api.get(NAMESPACES.at(None, scene.name))).status == 404

        await scene.until(is_gone, f"{scene.name} to be gone from {side.name}")


async def _given_quota(side: Cluster, namespace: str) -> set[str]:
    """Return the names of the Workloads that a worker's Kueue ever gave quota to."""
    listed = (await side.api.get(EVENTS.at(namespace), fieldSelector="reason=QuotaReserved")).ok()["items"]
    return {each["involvedObject"]["name"] for each in listed}


def _print(results: list[Result], jobs: int) -> None:
    rows = {
        f"seconds until all {jobs} are admitted on the hub": [f"{r.seconds:.1f}" for r in results],
        "placed": [", ".join(f"{name} {count}" for name, count in sorted(r.placed.items())) for r in results],
        "own requests per Workload": [", ".join(f"{at} {n:.1f}" for at, n in r.requests.items()) for r in results],
        "Workloads with quota on both workers at once": [str(r.admitted_twice) for r in results],
        "own writes on the hub that ended in 409": [str(r.conflicts) for r in results],
        "CPU seconds of the hub's controller": [f"{r.controller_cpu:.1f}" for r in results],
        "CPU seconds of all API servers": [f"{r.servers_cpu:.1f}" for r in results],
    }
    print(f"| | {' | '.join(result.controller for result in results)} |\n|---|{'---|' * len(results)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _print_ratios(results: list[Result]) -> None:
    others = [result for result in results if not result.controller.is_turnstile]
    for ours in (result for result in results if result.controller.is_turnstile):
        for other in others:
            print(f"{ours.controller} is {other.seconds / ours.seconds:.2f} times as fast as {other.controller}")


async def run(jobs: int, controllers: list[Controller]) -> None:
    """Run the races and print the table."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="race-")))
        clusters = await stack.enter_async_context(run_real(directory / "bed", BedOptions(audited=True)))
        results = [await race(clusters, directory, jobs, controller) for controller in controllers]
        _print(results, jobs)
        _print_ratios(results)


def main() -> int:
    """Run the race from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--jobs", type=int, default=200, help="how many jobs (default 200)")
    parser.add_argument("--only", choices=[each.name.lower() for each in Controller], help="only this controller")
    arguments = parser.parse_args()
    if not 1 <= arguments.jobs <= 100_000:
        parser.error("--jobs: must be a whole number from 1 to 100000")
    try:
        install_go()
        asyncio.run(run(arguments.jobs, [each for each in Controller if arguments.only in (None, each.name.lower())]))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
