"""Follows the nodes and pods of one worker, and answers what its scheduler would do with the pods of a Workload.

It has a client of its own, as the observation of queues has: whatever happens here, neither gates nor forecasts of
quota notice. Objects are reduced when they arrive. A kind that may not be read is said once, and makes outlooks
unsupported.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.types.choices import PodForecastMode
from engine.pod_outlook.modes import mode_of, unknown_release
from engine.pods.state.model import PodModel
from engine.pods.values.values import SchedulerMode
from manager.base.memory_limits import MOST_VALUES, everything
from manager.base.retrying import RetriedOperation, until_answered
from manager.logging.logs import get_log
from manager.models.watched_pods import PodPlaces, WatchedPod, read_watched_pod
from workerclient.base.errors import ClusterError
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import BudgetLimits

PODS: Final = ApiKind("", "v1", "Pod", "pods")
POD_GROUP_KINDS: Final = tuple(
    ApiKind("scheduling.k8s.io", version, "PodGroup", "podgroups") for version in ("v1alpha2", "v1beta1")
)
"""Which of them is served depends on the release and its feature gates; none is fine."""
FOLLOWED_KINDS: Final = (
    ApiKind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False),
    ApiKind("", "v1", "Node", "nodes", namespaced=False),
    *POD_GROUP_KINDS,
    ApiKind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    PODS,
)
OnPod = Callable[[ObjectKey, WatchedPod | None], None]
"""Called for every change of a pod; None when it is gone."""
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20), holdings=everything)
_RARELY_SECONDS: Final = 3600.0
"""How often a version that is known is asked for again: clusters are upgraded."""


_MODES: Final = {
    PodForecastMode.V1_36: SchedulerMode.V1_36,
    PodForecastMode.V1_37: SchedulerMode.V1_37,
    PodForecastMode.KEP: SchedulerMode.KEP,
}


def mode_given(setting: PodForecastMode) -> SchedulerMode | None:
    """Return the rules that the configuration asks for, None if the cluster's version shall decide."""
    return _MODES.get(setting)


class PodObservation:
    """The nodes and pods of one worker; when `run` failed it may be run again."""

    def __init__(
        self,
        name: WorkerName,
        access: ClusterAccess,
        context: ClientContext,
        mode: SchedulerMode | None,
        on_pod: OnPod,
    ) -> None:
        self.name = name
        self.model = PodModel()
        self.places = PodPlaces()
        self.version = 0
        """Grows with every change, so that an answer can be known to be still good."""
        self._mode = mode
        self._is_given = mode is not None
        self._no_mode = "the version of the cluster is not known yet"
        self._clock = context.clock
        self._until_answered = until_answered(context, RetriedOperation.VERSION, subject=name)
        self._on_pod = on_pod
        self._unreadable: dict[tuple[str, ObjectKey], str] = {}
        self._broken = ""
        self.failures = 0
        """How often following the worker failed."""
        self._complained = ""
        self._client = ClusterClient(name, access, context, _LIMITS)
        self._followed: Mapping[ApiKind, WatchedResource[Any]] = {kind: self._follow(kind) for kind in FOLLOWED_KINDS}

    @property
    def mode(self) -> SchedulerMode:
        """Return whose rules are followed; to be asked only while nothing keeps outlooks from being made."""
        return self._mode or SchedulerMode.V1_37

    @property
    def lists(self) -> int:
        """Return how often pods were listed again: between two lists an eviction may have been missed."""
        return self._followed[PODS].reflector.counts.lists

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
            group.create_task(self._learn_version())

    def fail(self, problem: str) -> None:
        """Count a failure, and say nothing about pods until recovered."""
        self.failures += 1
        self._broken = problem

    def recover(self) -> None:
        """Say something about pods again."""
        self._broken = ""

    def why_silent(self) -> str:
        """Return why there are no outlooks, an empty string if there are; a missing permission is logged once."""
        why = self._why_silent()
        if why != self._complained and any(
            f.reflector.state.phase is CachePhase.FORBIDDEN for f in self._followed.values()
        ):
            self._complained = why
            get_log().warning("podforecasts.forbidden", worker=self.name, problem=why)
        return why

    def _why_silent(self) -> str:
        if self._broken:
            return self._broken
        for kind, followed in self._followed.items():
            state = followed.reflector.state
            if state.phase is CachePhase.NOT_SERVED and kind in POD_GROUP_KINDS:
                continue
            if state.phase in (CachePhase.FORBIDDEN, CachePhase.NOT_SERVED):
                return state.problem
            if not followed.cache.synced:
                return state.problem or "not everything on the cluster is known yet"
        if self._mode is None:
            return self._no_mode
        if self._unreadable:
            (named, key), problem = min(self._unreadable.items())
            return f"{named} {key} cannot be read: {problem}"
        return ""

    async def _learn_version(self) -> None:
        while not self._is_given:
            version: str = await self._until_answered(self._ask_version)
            self._mode, self._no_mode = mode_of(version), unknown_release(version)
            await self._clock.sleep(_RARELY_SECONDS)

    async def _ask_version(self) -> str:
        try:
            return await self._client.version()
        except ClusterError as error:
            if self._mode is None:
                self._no_mode = str(error)
            raise

    # --- the model

    def _follow(self, kind: ApiKind) -> WatchedResource[Any]:
        project = partial(read_watched_pod, self.model) if kind == PODS else partial(self.model.read, kind.kind)
        on_change = partial(self._changed, kind)
        watched = WatchedKind(kind, project, most_values=MOST_VALUES, required=False, on_change=on_change)
        return self._client.follow(watched)

    def _changed(self, kind: ApiKind, key: ObjectKey) -> None:
        value = self._followed[kind].cache.get(key)
        self._unreadable.pop((kind.kind, key), None)
        if isinstance(value, Unreadable):
            self._unreadable[kind.kind, key] = value.problem
            value = None
        self.version += 1
        if kind == PODS:
            self._put_pod(key, value)
        else:
            self.model.put(kind.kind, key, value)

    def _put_pod(self, key: ObjectKey, value: WatchedPod | None) -> None:
        self.model.put_pod(key, value.pod if value is not None else None)
        self.places.put(key, value)
        self._on_pod(key, value)

    def pods_of(self, workload: ObjectKey, owner: str = "") -> Iterable[ObjectKey]:
        """Return the pods of a Workload; `owner` is its job, for pods that do not name the Workload."""
        return self.places.of(workload, owner)
