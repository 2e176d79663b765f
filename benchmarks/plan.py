"""What a plan costs the daemon: processor time per worker, and how long the loop is held at a stretch.

    python -m benchmarks plan

The workers of the benchmark of forecasts, asked for a job that each could take by preemption. A plan looks at each
worker once with reasons and then for the largest sizes; between two questions the loop goes on.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

import orjson

from benchmarks.forecast import NAMESPACE, SHAPES, WORKERS, WORKLOADS, _copy, observe, worker_objects
from config.api.identifiers import WorkerName
from gates.model.settings import Settings
from gates.planning.documents import Route
from gates.planning.wanted import Wanted
from gates.targets.matching import WorkerTraits
from manager.base.clock import SystemClock
from manager.planning.planner import Planner, PlanningView, PlanRules


class _Hub:
    async def route(self, wanted: Wanted) -> Route:
        return Route(wanted.queue, "mk", "workers", tuple(WorkerName(f"worker-{number}") for number in range(WORKERS)))

    async def priority(self, wanted: Wanted) -> int:
        return wanted.priority or 0


class _Workers:
    def __init__(self, sight: PlanningView) -> None:
        self._sight = sight

    async def sights(self, names: Sequence[WorkerName]) -> Mapping[WorkerName, PlanningView]:
        return dict.fromkeys(names, self._sight)


class _Loop(SystemClock):
    """Measures how long the loop is held between two times that the planner lets it go."""

    def __init__(self) -> None:
        self.holds: list[float] = []
        self._since = time.process_time()

    async def sleep(self, seconds: float) -> None:
        self.holds.append((time.process_time() - self._since) * 1000)
        await asyncio.sleep(seconds)
        self._since = time.process_time()


async def _measure(name: str) -> None:
    shape = SHAPES[name]
    lines = [orjson.dumps(raw) for raw in worker_objects(shape, 0)]
    incoming = next(raw for raw in map(orjson.loads, lines) if raw["metadata"]["name"] == "waiting-0")
    manifest = _copy(incoming, "planned", priority=1000)
    clock = _Loop()
    sight = PlanningView(observe(lines).cluster)
    planner = Planner(_Hub(), _Workers(sight), lambda: PlanRules({}, Settings(), {}, lambda _: WorkerTraits()), clock)
    started = time.process_time()
    plan = await planner.plan(manifest, NAMESPACE)
    cost = (time.process_time() - started) * 1000
    assert {worker["verdict"] for worker in plan["workers"]} == {"Preempts"}
    holds = sorted(clock.holds)
    questions = len(holds) / WORKERS
    print(f"| {name} | {cost / WORKERS:.1f} | {questions:.0f} | {holds[len(holds) // 2]:.1f} | {holds[-1]:.1f} |")


def run() -> None:
    """Print the table."""
    print(f"\nPlans: one job on {WORKERS} workers x {WORKLOADS} Workloads, milliseconds of processor time")
    print("| each needs | per worker | sizes tried | loop held: median | longest |")
    print("|---|---|---|---|---|")
    for name in SHAPES:
        asyncio.run(_measure(name))
