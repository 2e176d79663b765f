"""Runs the cost controller alone: from a configuration to the end of the process."""

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable

from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from config.types.choices import CostPlace
from engine.cost.models import CostModel
from manager.app.reload_targets import ReloadTargets
from manager.app.reloading import Followers, Reloading, Reread
from manager.app.service import endpoints_of, hub_access, set_by, stop_signal
from manager.base.clock import SystemClock
from manager.base.errors import StartupError
from manager.clusters.access import AccessLoader, listed_sources
from manager.cost.clusters import ListedClusters
from manager.cost.fleet import CostFleet
from manager.cost.models import configured_model
from manager.logging.logs import configure_logging, get_log
from manager.metrics.process import ProcessMetrics
from manager.metrics.retries import RetryMetrics
from workerclient.cluster import ClientContext, ClusterClient


async def serve_costs(configuration: Configuration, reread: Reread) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be.

    On SIGHUP the configuration is read again.
    """
    configure_logging(configuration.logging)
    stopped, hung_up = stop_signal(), set_by(signal.SIGHUP)
    retries = RetryMetrics()
    client_context = ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ), on_retry=retries.note)
    model = configured_model(configuration)
    access = hub_access_if_needed(configuration)
    costs = Costs(configuration, model, access, client_context)
    process = ProcessMetrics(client_context.clock.now_ns, None)
    try:
        endpoints = endpoints_of(configuration, access, client_context)
        followers = Followers((endpoints.prepare, costs.prepare), process.reloads.note)
        reloading = Reloading(configuration, reread, hub_access_if_needed, followers)
        async with endpoints.open(configuration.http) as http_app, asyncio.TaskGroup() as group:
            await http_app.show([costs.fleet.metrics.registry, process.registry, retries.registry], lambda: "")
            tasks = [group.create_task(costs.fleet.run()), group.create_task(_reload(reloading, hung_up))]
            get_log().info("cost.started", model=configuration.cost_controller.model, http=http_app.addresses)
            await stopped.wait()
            for task in tasks:
                task.cancel()
    finally:
        await costs.close()
    get_log().info("cost.stopped")


class Costs:
    """The cost controllers, and the client that reads kubeconfigs of workers from the hub's Secrets."""

    def __init__(
        self, configuration: Configuration, model: CostModel, access: ClusterAccess | None, context: ClientContext
    ) -> None:
        self._client_context = context
        self._hub = self._client(access)
        self._loader = AccessLoader(self._hub, configuration)
        clusters = ListedClusters(configuration, access, self._loader)
        self.fleet = CostFleet(configuration, model, clusters, context)
        self._reload_targets = ReloadTargets(
            access,
            (self._loader, clusters, self.fleet),
            (self._change_hub, clusters.change_hub),
            self.fleet.poke,
        )

    async def prepare(
        self, configuration: Configuration, access: ClusterAccess | None
    ) -> Callable[[], Awaitable[None]]:
        """Check another configuration, and return what applies it; raises `StartupError` if it cannot be used."""
        return await self._reload_targets.prepare(configuration, access)

    async def close(self) -> None:
        """End the connection to the hub's Secrets."""
        if self._hub is not None:
            await self._hub.close()

    def _change_hub(self, access: ClusterAccess) -> None:
        if self._hub is None:
            self._hub = self._client(access)
            self._loader.change_hub(self._hub)
        else:
            self._hub.reconfigure(access)

    def _client(self, access: ClusterAccess | None) -> ClusterClient | None:
        try:
            return None if access is None else ClusterClient("hub", access, self._client_context)
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


async def _reload(reloading: Reloading[ClusterAccess | None], hung_up: asyncio.Event) -> None:
    """Read the configuration again whenever that is asked for; asked for meanwhile, once more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        await reloading.reload()
