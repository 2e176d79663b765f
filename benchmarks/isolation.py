"""Does a frozen worker hold up the others? Many jobs, room for all on either worker, one API server stopped."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.contestants import Controller, new_scene, set_to_work
from tests.conformance.client import Obj
from tests.conformance.resources import WORKLOADS
from tests.e2e.clusters import Cluster, Clusters
from tests.e2e.scene import Queue, Scene, condition_of

JOBS = 40
LONG_BEFORE_SECONDS = 75.0
CASES = {"both healthy": None, "one freezes just before": 0.0, "one froze 75 s before": LONG_BEFORE_SECONDS}
"""How long before the first job one worker freezes."""
CONTROLLERS = (Controller.KUEUE, Controller.TURNSTILE)
_DEADLINE_SECONDS = 300.0
_POLL_SECONDS = 0.2


@dataclass(slots=True)
class Moments:
    """Seconds after the first job was submitted; None as long as it has not happened."""

    first_copy: float | None = None
    first_admitted: float | None = None
    all_admitted: float | None = None

    def note(self, healthy: Sequence[Obj], hub: Sequence[Obj], jobs: int, now: float) -> None:
        """Take what the healthy worker and the hub hold now; what was seen before stays."""
        admitted = sum(_is_admitted(each) for each in hub)
        if healthy and self.first_copy is None:
            self.first_copy = now
        if admitted and self.first_admitted is None:
            self.first_admitted = now
        if admitted == jobs and self.all_admitted is None:
            self.all_admitted = now

    def cells(self) -> list[str]:
        """Return them as the cells of a row."""
        values = (self.first_copy, self.first_admitted, self.all_admitted)
        return [f"not in {_DEADLINE_SECONDS:g}" if value is None else f"{value:.1f}" for value in values]


_HEADER = (
    "controller",
    "case",
    "first copy on the healthy worker, s",
    "first job admitted on the hub, s",
    "all jobs admitted on the hub, s",
)


def _is_admitted(workload: Obj) -> bool:
    return bool(condition_of(workload, "Admitted").get("status") == "True")


async def compare(clusters: Clusters, directory: Path, jobs: int) -> None:
    """Run every case once with each controller and print the table."""
    print(f"| {' | '.join(_HEADER)} |\n|{'---|' * len(_HEADER)}", flush=True)
    for controller in CONTROLLERS:
        for case, before in CASES.items():
            moments = await observe(clusters, directory, controller, before, jobs)
            print(f"| {controller} | {case} | {' | '.join(moments.cells())} |", flush=True)


async def observe(
    clusters: Clusters, directory: Path, controller: Controller, before: float | None, jobs: int
) -> Moments:
    """Do one run."""
    scene = new_scene(clusters, directory, controller)
    healthy, frozen = scene.workers.values()
    try:
        await set_to_work(scene, controller, Queue(cpu=str(jobs)), Queue(cpu=str(2 * jobs)))
        try:
            if before is not None:
                await frozen.freeze()
                await asyncio.sleep(before)
            return await _submit_and_watch(scene, healthy, jobs)
        finally:
            await frozen.thaw()
    finally:
        await scene.tear_down()


async def _submit_and_watch(scene: Scene, healthy: Cluster, jobs: int) -> Moments:
    moments, began = Moments(), time.monotonic()
    async with asyncio.TaskGroup() as group:
        group.create_task(_submit(scene, jobs))
        while moments.all_admitted is None and time.monotonic() - began < _DEADLINE_SECONDS:
            with suppress(aiohttp.ClientError):
                here, there = await asyncio.gather(_workloads(healthy, scene), _workloads(scene.hub, scene))
                moments.note(here, there, jobs, time.monotonic() - began)
            await asyncio.sleep(_POLL_SECONDS)
    return moments


async def _submit(scene: Scene, jobs: int) -> None:
    for number in range(jobs):
        await scene.submit(f"job-{number}", cpu=1)


async def _workloads(side: Cluster, scene: Scene) -> list[Obj]:
    found: list[Obj] = (await side.api.get(WORKLOADS.at(scene.name))).ok()["items"]
    return found
