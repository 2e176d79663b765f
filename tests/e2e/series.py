"""Many trials side by side on one worker, and what they come to."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.conformance.resources import RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from tests.e2e.ground import Ground, hub_queue
from tests.e2e.scene import Scene
from tests.e2e.situations import priority_classes, situation
from tests.e2e.trials import FAILURES, Ending, Outcome, Trial

TIMEOUT = "60s"


@dataclass
class Series:
    """Trials until enough of them were about a preemption."""

    scene: Scene
    first_seed: int
    wanted: int
    at_once: int
    note: Callable[[Outcome], None]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def preempting(self) -> list[Outcome]:
        """Return the trials in which a gate was asked for."""
        return [each for each in self.outcomes if is_about_preemption(each)]

    async def run(self) -> None:
        """Build what all situations share, start Turnstile, and play."""
        await self._build()
        seeds = itertools.count(self.first_seed)
        async with asyncio.TaskGroup() as group:
            for _ in range(self.at_once):
                group.create_task(self._play(seeds))

    async def _build(self) -> None:
        scene = self.scene
        flavor = {"apiVersion": RESOURCE_FLAVORS.api_version, "kind": "ResourceFlavor", "metadata": {"name": "hub"}}
        assert (await scene.hub.api.post(RESOURCE_FLAVORS.at(), {**flavor, "spec": {}})).status in (201, 409)
        for side in (scene.hub, *scene.workers.values()):
            for each in priority_classes():
                assert (await side.api.post(WORKLOAD_PRIORITY_CLASSES.at(), each)).status in (201, 409)
        await scene.build(hub=hub_queue())
        await scene.start_turnstile(
            gates={"singleClusterPreemptionTimeout": TIMEOUT},
            jobs={"integrations": ["batch/job", "jobset.x-k8s.io/jobset"]},
            api={"socket": str(scene.directory / "api.sock")},
        )

    async def _play(self, seeds: Iterator[int]) -> None:
        scene = self.scene
        (worker,) = scene.workers.values()
        socket = scene.directory / "api.sock"
        while len(self.preempting) < self.wanted:
            seed = next(seeds)
            ground = Ground(situation(f"{scene.name}-{seed}", seed), scene.hub, scene.name, worker)
            async for outcome in Trial(ground, socket).play():
                self.outcomes.append(outcome)
                self.note(outcome)


def is_about_preemption(outcome: Outcome) -> bool:
    """Return whether a worker asked for its gate, and a forecast was made."""
    return outcome.ending not in (Ending.FITTED, Ending.CANNOT, Ending.LATE, Ending.STALLED, Ending.BROKEN)


def failures(outcomes: list[Outcome]) -> list[Outcome]:
    """Return the trials that went otherwise than forecast."""
    return [each for each in outcomes if each.ending in FAILURES]


def tally(outcomes: list[Outcome]) -> Counter[Ending]:
    """Count how the trials ended."""
    return Counter(each.ending for each in outcomes)
