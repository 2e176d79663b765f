"""Which kinds on a worker decide about its schedule, and whether the model knows all of them."""

from typing import Final

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.forecasting.observed import ObservedCluster
from manager.base.kinds import ADMISSION_CHECKS, NAMESPACES, WORKLOADS
from manager.base.memory_limits import everything
from manager.logging.logs import get_log
from manager.models.followed_kinds import FollowedKinds, OnModelChange
from manager.models.forecast_answer import ReplicaVersion
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.objects.cache import version_number
from workerclient.objects.kind_state import CachePhase
from workerclient.transport.budget import BudgetLimits

FOLLOWED_KINDS: Final = (
    NAMESPACES,
    ApiKind("", "v1", "LimitRange", "limitranges"),
    ApiKind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "ResourceFlavor", "resourceflavors", namespaced=False),
    ADMISSION_CHECKS,
    ApiKind(KUEUE_GROUP, "v1beta2", "Cohort", "cohorts", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "LocalQueue", "localqueues"),
    WORKLOADS,
)
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20), holdings=everything)
_REMEDY: Final = "apply deploy/rbac/worker-forecasts.yaml on the worker, or set forecast.enabled: false"


class ModelWatches(FollowedKinds):
    """The watches behind the model of one worker."""

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
        get_log().warning("forecasts.unavailable", worker=self.name, problem=lacking, remedy=_REMEDY)

    def _inform(self) -> None:
        get_log().info("forecasts.available", worker=self.name)

    @property
    def is_forbidden(self) -> bool:
        """Tell whether a role is missing for one of the kinds."""
        return any(each.reflector.state.phase is CachePhase.FORBIDDEN for each in self._followed.values())

    def why_incomplete(self) -> str:
        """Return why not everything is known, an empty text if it is."""
        for followed in self._followed.values():
            state = followed.reflector.state
            if state.phase in (CachePhase.FORBIDDEN, CachePhase.NOT_SERVED):
                return state.problem
            if not followed.cache.synced:
                return state.problem or "not everything on the cluster is known yet"
        return self._why_unreadable()

    def has_seen(self, version: ReplicaVersion) -> bool:
        """Tell whether the model has seen a version of a replica, or a later one."""
        identity = self._followed[WORKLOADS.kind].cache.identity(version.key)
        seen = version_number(identity.resource_version) if identity is not None and identity.uid == version.uid else -1
        wanted = version_number(version.resource_version)
        return seen is None or wanted is None or seen >= wanted
