"""Runs the cost controller by itself: from a configuration to the end of the process."""

import asyncio
import os
import random

from config.choices import CostPlace
from config.settings import Configuration
from manager.access import AccessLoader, listed_sources
from manager.clock import SystemClock
from manager.cost.clusters import ListedClusters
from manager.cost.fleet import CostFleet
from manager.cost.models import configured_model
from manager.errors import StartupError
from manager.logs import configure_logging, get_log
from manager.service import endpoints_of, hub_access, stop_signal
from workerclient.cluster import ClusterClient, Surroundings


async def serve_costs(configuration: Configuration) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be."""
    configure_logging(configuration.logging)
    stopped = stop_signal()
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    model = configured_model(configuration)
    access = hub_access(configuration) if _needs_hub(configuration) else None
    try:
        hub = None if access is None else ClusterClient("hub", access, surroundings)
    except ValueError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error
    loader = AccessLoader(hub, configuration)
    has_costs = CostPlace.HUB in configuration.cost_controller.clusters
    clusters = ListedClusters(configuration, access if has_costs else None, loader)
    fleet = CostFleet(configuration, model, clusters, surroundings)
    try:
        endpoints = endpoints_of(configuration, access, surroundings)
        async with endpoints.open(configuration.http) as board, asyncio.TaskGroup() as group:
            await board.show([fleet.metrics.registry], lambda: "")
            running = group.create_task(fleet.run())
            get_log().info("cost.started", model=configuration.cost_controller.model, http=board.addresses)
            await stopped.wait()
            running.cancel()
    finally:
        if hub is not None:
            await hub.close()
    get_log().info("cost.stopped")


def _needs_hub(configuration: Configuration) -> bool:
    """Tell whether anything is on the hub; raises `StartupError` if there is nothing to do at all."""
    if CostPlace.HUB in configuration.cost_controller.clusters:
        return True
    sources = listed_sources(configuration)
    if not sources:
        raise StartupError(
            "costController.clusters lists only Workers, and no worker has a kubeconfig in this configuration: "
            "only the daemon finds others"
        )
    return any(source.secret for source in sources.values())
