"""Which clusters get costs: those that the daemon is connected to, or, for the controller alone, those listed."""

from collections.abc import Mapping

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from config.types.choices import CostPlace
from gates.model.activity import Health
from manager.clusters.access import AccessLoader, WorkerKubeconfigSource, listed_sources
from manager.clusters.worker import WorkerLink
from manager.cost.fleet import HUB_PLACE, CostCluster
from manager.logging.logs import get_log
from manager.process.supervision import Misunderstood, per_cluster
from workerclient.base.errors import ClusterError


class ConnectedClusters:
    """The daemon's hub, and the workers that it has a kubeconfig of."""

    def __init__(
        self, places: tuple[CostPlace, ...], hub: ClusterAccess, links: Mapping[WorkerName, WorkerLink]
    ) -> None:
        self._places = places
        self._hub = hub
        self._links = links

    def change_hub(self, access: ClusterAccess) -> None:
        """Reach the hub by another address or identity from now on."""
        self._hub = access

    async def __call__(self) -> Mapping[CostCluster, ClusterAccess]:
        """Return the clusters that there are now, each by one name: what must not be used gets no costs either."""
        found = {HUB_PLACE: self._hub} if CostPlace.HUB in self._places else {}
        if CostPlace.WORKERS in self._places:
            used = {name: link for name, link in self._links.items() if link.refusal is None}
            found |= {CostCluster(CostPlace.WORKERS, name): link.access for name, link in used.items()}
        return found


class ListedClusters:
    """The hub, and the workers whose kubeconfig the configuration names, read again each time."""

    def __init__(self, configuration: Configuration, hub: ClusterAccess | None, loader: AccessLoader) -> None:
        self._has_costs_on_hub = CostPlace.HUB in configuration.cost_controller.clusters
        self._hub = hub
        self._loader = loader
        self._known: dict[str, ClusterAccess] = {}
        self._refusals: dict[str, Health] = {}
        self.reconfigure(configuration)

    def change_hub(self, access: ClusterAccess) -> None:
        """Go on with another address or identity of the hub."""
        self._hub = access

    def reconfigure(self, configuration: Configuration) -> None:
        """Go on with other workers."""
        has_workers = CostPlace.WORKERS in configuration.cost_controller.clusters
        self._sources = listed_sources(configuration) if has_workers else {}
        for worker in configuration.workers if has_workers else ():
            if worker.kubeconfig is None:
                get_log().warning("worker.skipped", worker=worker.name, reason="only the daemon finds its kubeconfig")
        for name in {*self._known, *self._refusals} - set(self._sources):
            self._known.pop(name, None)
            self._refusals.pop(name, None)

    async def __call__(self) -> Mapping[CostCluster, ClusterAccess]:
        """Return the clusters that can be reached with what their kubeconfigs say now."""
        for source in list(self._sources.values()):
            await self._load(source)
        workers = {CostCluster(CostPlace.WORKERS, name): access for name, access in self._known.items()}
        if self._hub is None or not self._has_costs_on_hub:
            return workers
        return {HUB_PLACE: self._hub, **workers}

    async def _load(self, source: WorkerKubeconfigSource) -> None:
        name = source.name
        try:
            found = await per_cluster(self._loader.load(source), ClusterError)
        except ClusterError as error:
            get_log().warning("worker.kubeconfig_unread", worker=name, error=str(error))
            return
        if isinstance(found, Misunderstood):
            get_log().warning("worker.kubeconfig_unread", worker=name, error=found.problem)
            return
        if self._sources.get(name) != source:
            return  # it was reconfigured meanwhile
        if not isinstance(found, Health):
            self._known[name] = found
            self._refusals.pop(name, None)
            return
        self._known.pop(name, None)
        if self._refusals.get(name) != found:
            self._refusals[name] = found
            get_log().warning("worker.refused", worker=name, reason=found.reason, message=found.message)
