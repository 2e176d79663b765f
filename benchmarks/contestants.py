"""The controllers that are compared on one bed of real clusters, and how each is set to work."""

import asyncio
import secrets
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from tests.conformance.resources import MULTIKUEUE_CLUSTERS
from tests.e2e.clusters import Cluster, Clusters, RealSide
from tests.e2e.pod_situations import allow_forecasts
from tests.e2e.scene import Queue, Scene, condition_of
from tests.realbed import build, kueue
from tests.realbed.cluster import TURNSTILE_NAMESPACE


class Controller(StrEnum):
    """Whose work is measured."""

    KUEUE = "Kueue's MultiKueue"
    UNTHROTTLED = "the same, worker clients unthrottled"
    """The same sources with one line changed: as released it asks each worker five times a second at most."""
    TURNSTILE = "Turnstile"
    FORECAST_FIRST = "Turnstile, ForecastFirst"
    """Sends a job to one worker where it is forecast to fit, instead of to all at once."""

    @property
    def is_turnstile(self) -> bool:
        """Return whether it is Turnstile."""
        return self in (Controller.TURNSTILE, Controller.FORECAST_FIRST)


def new_scene(clusters: Clusters, directory: Path, controller: Controller) -> Scene:
    """Return a world for one run of a controller."""
    place = directory / f"run-{secrets.token_hex(4)}"
    place.mkdir()
    if controller.is_turnstile:
        return Scene(place.name, clusters, place, CONTROLLER_NAME, TURNSTILE_NAMESPACE)
    return Scene(place.name, clusters, place, MULTIKUEUE_NAME, kueue.NAMESPACE)


async def set_to_work(
    scene: Scene,
    controller: Controller,
    worker: Queue | None = None,
    hub: Queue | None = None,
    journal: Path | None = None,
) -> None:
    """Build the scene, start the controller, and return when it is connected to all workers.

    The hub's Kueue is always restarted: what an earlier run left in a throttled client's queue, or the growing pauses
    between tries to reach a worker that was away, must not tell in this one.
    """
    await _restart_hub_kueue(
        scene.hub, build.KUEUE_UNTHROTTLED if controller is Controller.UNTHROTTLED else build.KUEUE
    )
    await scene.build(worker, hub=hub)
    if controller is Controller.FORECAST_FIRST:
        for side in scene.workers.values():
            allow_forecasts(side)
        await scene.start_turnstile(dispatcher={"mode": "ForecastFirst"})
    elif controller.is_turnstile:
        await scene.start_turnstile(journal={"path": journal and str(journal)})
    await scene.until_active()
    for name in scene.workers:
        await scene.until(lambda name=name: is_connected(scene, name), f"the hub to be connected to {name}")  # type: ignore[misc]


async def is_connected(scene: Scene, worker: str) -> bool:
    """Return whether the hub's object of a worker says so."""
    found = (await scene.hub.api.get(MULTIKUEUE_CLUSTERS.at(None, worker))).ok()
    return condition_of(found, "Active").get("status") == "True"


async def _restart_hub_kueue(hub: Cluster, binary: build.Binary) -> None:
    own = real(hub).real.kueue
    await asyncio.to_thread(own.restart, replace(own.options, binary=binary))


def real(side: Cluster) -> RealSide:
    """Return a side as the real cluster that it is."""
    assert isinstance(side, RealSide)
    return side
