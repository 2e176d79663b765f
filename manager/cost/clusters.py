"""Which clusters get costs: those that the daemon is connected to, or for the controller by itself those listed."""

from collections.abc import Mapping

from config.choices import CostPlace
from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from gates.activity import Health
from manager.access import AccessLoader, Source, listed_sources
from manager.cost.fleet import HUB_PLACE, Place
from manager.logs import get_log
from manager.worker import WorkerLink
from workerclient.errors import ClusterError


class ConnectedClusters:
    """The daemon's hub, and the workers that it has a kubeconfig of."""

    def __init__(self, places: tuple[CostPlace, ...], hub: ClusterAccess, links: Mapping[str, WorkerLink]) -> None:
        self._places = places
        self._hub = hub
        self._links = links

    def change_hub(self, access: ClusterAccess) -> None:
        """Reach the hub by another address or identity from now on."""
        self._hub = access

    async def __call__(self) -> Mapping[Place, ClusterAccess]:
        """Return the clusters that there are now."""
        found = {HUB_PLACE: self._hub} if CostPlace.HUB in self._places else {}
        if CostPlace.WORKERS in self._places:
            found |= {Place(CostPlace.WORKERS, name): link.access for name, link in self._links.items()}
        return found


class ListedClusters:
    """The hub, and the workers whose kubeconfig the configuration names, read anew each time."""

    def __init__(self, configuration: Configuration, hub: ClusterAccess | None, loader: AccessLoader) -> None:
        self._loader = loader
        self._known: dict[str, ClusterAccess] = {}
        self._refusals: dict[str, Health] = {}
        self.reconfigure(configuration, hub)

    def reconfigure(self, configuration: Configuration, hub: ClusterAccess | None) -> None:
        """Go on with other workers, or another address or identity of the hub; it has no costs without one."""
        self._hub = hub
        has_workers = CostPlace.WORKERS in configuration.cost_controller.clusters
        self._sources = listed_sources(configuration) if has_workers else {}
        for worker in configuration.workers if has_workers else ():
            if worker.kubeconfig is None:
                get_log().warning("worker.skipped", worker=worker.name, reason="only the daemon finds its kubeconfig")
        for name in {*self._known, *self._refusals} - set(self._sources):
            self._known.pop(name, None)
            self._refusals.pop(name, None)

    async def __call__(self) -> Mapping[Place, ClusterAccess]:
        """Return the clusters that can be reached with what their kubeconfigs say now."""
        for source in list(self._sources.values()):
            await self._load(source)
        workers = {Place(CostPlace.WORKERS, name): access for name, access in self._known.items()}
        return workers if self._hub is None else {HUB_PLACE: self._hub, **workers}

    async def _load(self, source: Source) -> None:
        name = source.name
        try:
            found = await self._loader.load(source)
        except ClusterError as error:
            get_log().warning("worker.kubeconfig_unread", worker=name, error=str(error))
            return
        if self._sources.get(name) != source:
            return  # it was configured anew meanwhile
        if not isinstance(found, Health):
            self._known[name] = found
            self._refusals.pop(name, None)
            return
        self._known.pop(name, None)
        if self._refusals.get(name) != found:
            self._refusals[name] = found
            get_log().warning("worker.refused", worker=name, reason=found.reason, message=found.message)
