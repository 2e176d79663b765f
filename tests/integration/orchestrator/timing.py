"""What tests of windows share: a log of openings in true time, kept by the clusters themselves."""

import json
from collections.abc import Iterable
from typing import Any

from config.names import MULTIKUEUE_NAME
from gates.model import marks
from tests.integration.orchestrator.kueue import Cluster
from tests.integration.orchestrator.world import World

T = 300
GATED = "Workload requires preemption, but it's gated"


class OpeningLog:
    """When each worker's gate went from closed to open, in true time, by any client."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._positions: dict[str, str | None] = {}
        self.openings: list[tuple[str, float]] = []
        self.closings: list[tuple[str, float]] = []

    def look(self) -> None:
        """Compare with the last look."""
        for name, cluster in self._world.workers.items():
            position = cluster.gate() if cluster.has_workload() else None
            if position == "Open" and self._positions.get(name) != "Open":
                self.openings.append((name, self._world.clock.monotonic()))
            if position == "Closed" and self._positions.get(name) == "Open":
                self.closings.append((name, self._world.clock.monotonic()))
            self._positions[name] = position

    async def pass_time(self, seconds: float, *, step: float = 1.0, settle: bool = True) -> None:
        """Let time pass, looking every step."""
        self.look()
        while seconds > 0:
            await self._world.pass_time(min(step, seconds), settle=settle)
            seconds -= step
            self.look()

    def gaps(self) -> list[float]:
        """Return how far openings on different clusters are apart, in the order in which they happened."""
        pairs = zip(self.openings, self.openings[1:], strict=False)
        return [later - earlier for (first, earlier), (second, later) in pairs if first != second]


async def pending(world: World) -> None:
    """Bring a Workload to where every worker holds a replica."""
    world.queue()
    await world.until(lambda: len(world.holders()) == len(world.workers))
    await world.settled()


def opened(world: World) -> list[str]:
    """Return the workers whose gate is open."""
    return [name for name in world.holders() if world[name].gate() == "Open"]


def ledger(world: World) -> list[dict[str, Any]]:
    """Return the record of openings."""
    text = world.hub.workload()["metadata"].get("annotations", {}).get(marks.GATE_OPENINGS, "[]")
    return list(json.loads(text))


def annotate(world: World, name: str, text: str | None) -> None:
    """Write an annotation of the hub's Workload, or remove it."""

    def change(workload: dict[str, Any]) -> None:
        annotations = workload["metadata"].setdefault("annotations", {})
        annotations.pop(name, None)
        if text is not None:
            annotations[name] = text

    world.hub.change("workloads", "wl", change, "kueue.x-k8s.io")


def say_gated(cluster: Cluster, message: str = GATED) -> None:
    """Let Kueue say why it does not give quota."""
    cluster.set_condition("wl", "QuotaReserved", status="False", reason="Pending", message=message)


def gates(entries: Iterable[dict[str, Any]]) -> list[str]:
    """Return the positions of our gate among status entries."""
    return [entry["position"] for entry in entries if entry["name"] == MULTIKUEUE_NAME]
