"""Watches the Topologies, Nodes and Pods of one worker, which decide where Kueue places pods, for the model of it.

It has a client of its own: whatever happens here, forecasts for Workloads without a topology do not notice. Objects are
reduced when they arrive, and a change of what does not matter, such as a heartbeat, is none.
"""

import asyncio
from functools import partial
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.forecasting.observed import ObservedCluster
from manager.base.memory_limits import MOST_VALUES, pods_and_nodes
from manager.logging.logs import get_log
from manager.models.model_watches import OnModelChange
from workerclient.base.errors import excerpt
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
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
_TELL_SECONDS: Final = 5.0


class TopologyWatches:
    """The watches behind the topologies of one worker; when `run` failed it may be run again."""

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
        self._followed: Final[dict[str, WatchedResource[Any]]] = {
            kind.kind: self._follow(kind) for kind in FOLLOWED_KINDS
        }

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
        """Say once in the log when a kind may not be read, and when it may again."""
        said = ""
        while True:
            await self._clock.sleep(_TELL_SECONDS)
            lacking = self._lacking()
            if lacking and lacking != said:
                get_log().warning("topologies.unavailable", worker=self._name, problem=lacking, remedy=_REMEDY)
            elif said and not lacking:
                get_log().info("topologies.available", worker=self._name)
            said = lacking

    def why_incomplete(self) -> str:
        """Return why not everything is known, an empty text if it is."""
        lacking = self._lacking()
        if lacking:
            return f"{lacking}; {_REMEDY}"
        for kind in FOLLOWED_KINDS:
            followed = self._followed[kind.kind]
            if not followed.cache.synced:
                return followed.reflector.state.problem or f"not all {kind.plural} of the cluster are known yet"
        if self._unreadable:
            (named, key), problem = min(self._unreadable.items())
            return f"{named} {key} cannot be read: {problem}"
        return ""

    def _lacking(self) -> str:
        """Name what the worker does not let us read, or does not have."""
        found = []
        for phase, text in ((CachePhase.FORBIDDEN, "may not be read"), (CachePhase.NOT_SERVED, "not served")):
            states = ((kind, self._followed[kind.kind].reflector.state) for kind in FOLLOWED_KINDS)
            names = [kind.plural for kind, state in states if state.phase is phase]
            found += [f"{', '.join(names)}: {text}"] if names else []
        return "; ".join(found)

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
        before = self._cluster.version
        try:
            self._cluster.put(kind, key.namespace, key.name, value)
        except Exception as error:  # noqa: BLE001 - the boundary of an object: it must not end the connection
            self._unreadable[kind, key] = excerpt(f"it has an unexpected structure: {type(error).__name__}: {error}")
        if self._cluster.version != before:
            self._on_change(kind, key, value)
