"""Runs the cost controller by itself: from a configuration to the end of the process."""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from functools import partial

from config.choices import CostPlace
from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.cost.models import CostModel
from manager.access import AccessLoader, listed_sources
from manager.clock import SystemClock
from manager.cost.clusters import ListedClusters
from manager.cost.fleet import CostFleet
from manager.cost.models import configured_model
from manager.daemon import check_usable
from manager.errors import StartupError
from manager.logs import configure_logging, get_log
from manager.reloading import Followers, Reloading, Reread
from manager.service import endpoints_of, hub_access, set_by, stop_signal
from manager.telemetry.process import ProcessMetrics
from workerclient.cluster import ClusterClient, Surroundings


async def serve_costs(configuration: Configuration, reread: Reread) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be.

    On SIGHUP the configuration is read again.
    """
    configure_logging(configuration.logging)
    stopped, hung_up = stop_signal(), set_by(signal.SIGHUP)
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    model = configured_model(configuration)
    access = hub_access_if_needed(configuration)
    costs = Costs(configuration, model, access, surroundings)
    process = ProcessMetrics(surroundings.clock.now_ns, None)
    try:
        endpoints = endpoints_of(configuration, access, surroundings)
        followers = Followers((endpoints.prepare, costs.prepare), process.reloads.note)
        reloading = Reloading(configuration, reread, hub_access_if_needed, followers)
        async with endpoints.open(configuration.http) as board, asyncio.TaskGroup() as group:
            await board.show([costs.fleet.metrics.registry, process.registry], lambda: "")
            tasks = [group.create_task(costs.fleet.run()), group.create_task(_reload(reloading, hung_up))]
            get_log().info("cost.started", model=configuration.cost_controller.model, http=board.addresses)
            await stopped.wait()
            for task in tasks:
                task.cancel()
    finally:
        await costs.close()
    get_log().info("cost.stopped")


class Costs:
    """The cost controllers, and the client that reads kubeconfigs of workers from the hub's Secrets."""

    def __init__(
        self, configuration: Configuration, model: CostModel, access: ClusterAccess | None, surroundings: Surroundings
    ) -> None:
        self._surroundings = surroundings
        self._access = access
        self._hub = self._client(access)
        self._loader = AccessLoader(self._hub, configuration)
        self._clusters = ListedClusters(configuration, _with_costs(configuration, access), self._loader)
        self.fleet = CostFleet(configuration, model, self._clusters, surroundings)

    def prepare(self, configuration: Configuration, access: ClusterAccess | None) -> Callable[[], Awaitable[None]]:
        """Make ready for what may change, and return what goes over to it; raises `StartupError` if that cannot be."""
        if access is not None:
            check_usable(access)
        return partial(self._go_over, configuration, access)

    async def close(self) -> None:
        """End the connection to the hub's Secrets."""
        if self._hub is not None:
            await self._hub.close()

    async def _go_over(self, configuration: Configuration, access: ClusterAccess | None) -> None:
        self._change_hub(access)
        self._loader.reconfigure(configuration)
        self._clusters.reconfigure(configuration, _with_costs(configuration, access))
        self.fleet.reconfigure(configuration)

    def _change_hub(self, access: ClusterAccess | None) -> None:
        if access in (None, self._access):
            return  # what is no longer needed is not asked
        self._access = access
        if self._hub is None:
            self._hub = self._client(access)
            self._loader.change_hub(self._hub)
        elif access is not None:
            self._hub.reconfigure(access)

    def _client(self, access: ClusterAccess | None) -> ClusterClient | None:
        try:
            return None if access is None else ClusterClient("hub", access, self._surroundings)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error


def hub_access_if_needed(configuration: Configuration) -> ClusterAccess | None:
    """Return the access to the hub if anything is there; raises `StartupError` if there is nothing to do at all."""
    return hub_access(configuration) if _needs_hub(configuration) else None


def _needs_hub(configuration: Configuration) -> bool:
    if CostPlace.HUB in configuration.cost_controller.clusters:
        return True
    sources = listed_sources(configuration)
    if not sources:
        raise StartupError(
            "costController.clusters lists only Workers, and no worker has a kubeconfig in this configuration: "
            "only the daemon finds others"
        )
    return any(source.secret for source in sources.values())


def _with_costs(configuration: Configuration, access: ClusterAccess | None) -> ClusterAccess | None:
    return access if CostPlace.HUB in configuration.cost_controller.clusters else None


async def _reload(reloading: Reloading[ClusterAccess | None], hung_up: asyncio.Event) -> None:
    """Read the configuration again whenever that is asked for; asked for meanwhile, once more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        await reloading.reload()
