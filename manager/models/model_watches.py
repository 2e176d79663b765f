"""Watches every kind on one worker that decides about its schedule, and keeps the model of it up to date.

Nothing is written. A kind that may not be read, or an object that cannot be, makes the model incomplete; that is said
once in the log, and nothing else depends on it.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.forecasting.observed import ObservedCluster
from manager.base.kinds import ADMISSION_CHECKS, NAMESPACES, WORKLOADS
from manager.base.memory_limits import MOST_VALUES, everything
from manager.logging.logs import get_log
from manager.models.forecast_answer import ReplicaVersion
from workerclient.base.errors import excerpt
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable, version_number
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
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
_TELL_SECONDS: Final = 5.0
_REMEDY: Final = "apply deploy/rbac/worker-forecasts.yaml on the worker, or set forecast.enabled: false"

OnModelChange = Callable[[str, ObjectKey, object], None]
"""Told the kind, the key and the value of an object after the model took it; None when it is gone or unreadable."""


class ModelWatches:
    """The watches behind the model of one worker; when `run` failed it may be run again."""

    def __init__(
        self,
        name: WorkerName,
        access: ClusterAccess,
        context: ClientContext,
        cluster: ObservedCluster,
        on_change: OnModelChange,
    ) -> None:
        self._name = name
        self._cluster = cluster
        self._clock = context.clock
        self._on_change = on_change
        self._unreadable: dict[tuple[str, ObjectKey], str] = {}
        self._client = ClusterClient(name, access, context, _LIMITS)
        self._followed: Mapping[str, WatchedResource[Any]] = {kind.kind: self._follow(kind) for kind in FOLLOWED_KINDS}

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self._client.reconfigure(access)

    @property
    def retries(self) -> int:
        """Return how many requests were sent again after a failure."""
        return self._client.retries

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._client.run())
            group.create_task(self._tell())

    async def _tell(self) -> None:
        """Say once in the log when a kind may not be read, so that there are no forecasts, and when it may again."""
        said = ""
        while True:
            await self._clock.sleep(_TELL_SECONDS)
            lacking = self._lacking()
            if lacking and lacking != said:
                get_log().warning("forecasts.unavailable", worker=self._name, problem=lacking, remedy=_REMEDY)
            elif said and not lacking:
                get_log().info("forecasts.available", worker=self._name)
            said = lacking

    def _lacking(self) -> str:
        """Name what the worker does not let us read, or does not have."""
        found = []
        for phase, text in ((CachePhase.FORBIDDEN, "may not be read"), (CachePhase.NOT_SERVED, "not served")):
            states = ((kind, self._followed[kind.kind].reflector.state) for kind in FOLLOWED_KINDS)
            names = [kind.plural for kind, state in states if state.phase is phase]
            found += [f"{', '.join(names)}: {text}"] if names else []
        return "; ".join(found)

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
        if self._unreadable:
            (kind, key), problem = min(self._unreadable.items())
            return f"{kind} {key} cannot be read: {problem}"
        return ""

    def has_seen(self, version: ReplicaVersion) -> bool:
        """Tell whether the model has seen a version of a replica, or a later one."""
        identity = self._followed[WORKLOADS.kind].cache.identity(version.key)
        seen = version_number(identity.resource_version) if identity is not None and identity.uid == version.uid else -1
        wanted = version_number(version.resource_version)
        return seen is None or wanted is None or seen >= wanted

    def _follow(self, kind: ApiKind) -> WatchedResource[Any]:
        return self._client.follow(
            WatchedKind(
                kind,
                partial(self._cluster.read, kind.kind),
                most_values=MOST_VALUES,
                required=False,
                on_change=partial(self._changed, kind.kind),
            )
        )

    def _changed(self, kind: str, key: ObjectKey) -> None:
        value = self._followed[kind].cache.get(key)
        if isinstance(value, Unreadable):
            self._unreadable[kind, key] = value.problem
            value = None
        else:
            self._unreadable.pop((kind, key), None)
        try:
            self._cluster.put(kind, key.namespace, key.name, value)
        except Exception as error:  # noqa: BLE001 - the boundary of an object: it must not end the connection
            self._unreadable[kind, key] = excerpt(f"it has an unexpected structure: {type(error).__name__}: {error}")
        self._on_change(kind, key, value)
