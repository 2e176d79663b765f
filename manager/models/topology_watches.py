"""Watches the Topologies, Nodes and Pods of one worker, which decide where Kueue places pods, for the model of it.

It has a client of its own: whatever happens here, forecasts for Workloads without a topology do not notice. Objects are
reduced when they arrive, and a change of what does not matter, such as a heartbeat, is none.
"""

from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.forecasting.observed import ObservedCluster
from manager.base.memory_limits import pods_and_nodes
from manager.logging.logs import get_log
from manager.models.followed_kinds import FollowedKinds, OnModelChange
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.transport.budget import BudgetLimits

FOLLOWED_KINDS: Final = (
    ApiKind(KUEUE_GROUP, "v1beta2", "Topology", "topologies", namespaced=False),
    ApiKind("", "v1", "Node", "nodes", namespaced=False),
    ApiKind("", "v1", "Pod", "pods"),
)
ROLE: Final = "deploy/rbac/worker-topology.yaml"
NOT_FOLLOWED: Final = (
    f"to have its Nodes and Pods followed, apply {ROLE} on the worker "
    "and set `topology: true` in its entry of `workers`"
)
_REMEDY: Final = f"apply {ROLE} on the worker"
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20), holdings=pods_and_nodes)


class TopologyWatches(FollowedKinds):
    """The watches behind the topologies of one worker."""

    def __init__(
        self,
        name: WorkerName,
        access: ClusterAccess,
        context: ClientContext,
        cluster: ObservedCluster,
        on_change: OnModelChange,
    ) -> None:
        client = ClusterClient(name, access, context, _LIMITS)
        super().__init__(client, context.clock, FOLLOWED_KINDS, cluster, on_change)

    def _warn(self, lacking: str) -> None:
        get_log().warning("topologies.unavailable", worker=self.name, problem=lacking, remedy=_REMEDY)

    def _inform(self) -> None:
        get_log().info("topologies.available", worker=self.name)

    def why_incomplete(self) -> str:
        """Return why not everything is known, an empty text if it is."""
        lacking = self._lacking()
        if lacking:
            return f"{lacking}; {_REMEDY}"
        for kind in FOLLOWED_KINDS:
            followed = self._followed[kind.kind]
            if not followed.cache.synced:
                return followed.reflector.state.problem or f"not all {kind.plural} of the cluster are known yet"
        return self._why_unreadable()

    def _changed(self, kind: str, key: ObjectKey) -> None:
        before = self._cluster.version
        value = self._take(kind, key)
        if self._cluster.version != before:
            self._on_change(kind, key, value)
