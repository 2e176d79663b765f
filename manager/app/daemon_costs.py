"""The cost controllers inside the daemon: of the hub and of the workers that it is connected to."""

from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from engine.cost.models import CostModel
from manager.app.cluster_core import ClusterCore
from manager.cost.clusters import ConnectedClusters
from manager.cost.fleet import CostFleet


class DaemonCosts:
    """The cost controllers, kept in step with the daemon's connections."""

    def __init__(
        self, configuration: Configuration, model: CostModel, access: ClusterAccess, core: ClusterCore
    ) -> None:
        self._clusters = ConnectedClusters(configuration.cost_controller.clusters, access, core.fleet.links)
        self.fleet = CostFleet(configuration, model, self._clusters, core.context)
        core.events.worker_changed.subscribe(lambda _name: self.fleet.poke())

    def change_hub(self, access: ClusterAccess) -> None:
        """Go on with another address or identity of the hub."""
        self._clusters.change_hub(access)
        self.fleet.poke()
