"""Follows the nodes and pods of one worker, and answers what its scheduler would do with the pods of a Workload.

It has a client of its own, as the observation of queues has: whatever happens here, neither gates nor forecasts of
quota notice. Objects are reduced when they arrive. A kind that may not be read is said once, and makes outlooks
unsupported.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from config.api.meta import ObjectKey
from config.choices import PodForecastMode
from config.kubeconfig.access import ClusterAccess
from engine.outlook.modes import mode_of, unknown_release
from engine.pods.model import PodModel
from engine.pods.values import Mode
from manager.logs import get_log
from manager.watched_pods import PodPlaces, WatchedPod, read_watched_pod
from workerclient.budget import BudgetLimits
from workerclient.cache import Unreadable
from workerclient.cluster import ClientLimits, ClusterClient, Followed, Surroundings
from workerclient.errors import ClusterError
from workerclient.kind import ApiKind, Key
from workerclient.reflector import Phase
from workerclient.watched import WatchedKind

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
"""Told about every change of a pod; None when it is gone."""
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20))
_ASK_AGAIN_SECONDS: Final = 60.0
_RARELY_SECONDS: Final = 3600.0
"""How often a version that is known is asked for again: clusters are upgraded."""


_MODES: Final = {
    PodForecastMode.V1_36: Mode.V1_36,
    PodForecastMode.V1_37: Mode.V1_37,
    PodForecastMode.KEP: Mode.KEP,
}


def mode_given(setting: PodForecastMode) -> Mode | None:
    """Return the rules that the configuration asks for, None if the cluster's version shall decide."""
    return _MODES.get(setting)


class PodObservation:
    """The nodes and pods of one worker; `run` once."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        surroundings: Surroundings,
        mode: Mode | None,
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
        self._clock = surroundings.clock
        self._on_pod = on_pod
        self._unreadable: dict[tuple[str, Key], str] = {}
        self._broken = ""
        self._complained = ""
        self._client = ClusterClient(name, access, surroundings, _LIMITS)
        self._followed: Mapping[ApiKind, Followed[Any]] = {kind: self._follow(kind) for kind in FOLLOWED_KINDS}

    @property
    def mode(self) -> Mode:
        """Return whose rules are followed; to be asked only while nothing keeps outlooks from being made."""
        return self._mode or Mode.V1_37

    @property
    def lists(self) -> int:
        """Return how often pods were listed anew: between two lists an eviction may have been missed."""
        return self._followed[PODS].reflector.counts.lists

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self._client.reconfigure(access)

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._client.run())
                group.create_task(self._learn_version())
        except Exception as error:  # noqa: BLE001 - the boundary of a task: all else goes on without outlooks
            self._broken = f"{type(error).__name__}: {error}"
            get_log().error("podforecasts.ended", worker=self.name, exc_info=error)

    def why_silent(self) -> str:
        """Return why there are no outlooks, an empty text if there are; a missing permission is logged once."""
        why = self._why_silent()
        if why != self._complained and any(f.reflector.state.phase is Phase.FORBIDDEN for f in self._followed.values()):
            self._complained = why
            get_log().warning("podforecasts.forbidden", worker=self.name, problem=why)
        return why

    def _why_silent(self) -> str:
        if self._broken:
            return self._broken
        for kind, followed in self._followed.items():
            state = followed.reflector.state
            if state.phase is Phase.NOT_SERVED and kind in POD_GROUP_KINDS:
                continue
            if state.phase in (Phase.FORBIDDEN, Phase.NOT_SERVED):
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
            pause = _RARELY_SECONDS
            try:
                version = await self._client.version()
                self._mode, self._no_mode = mode_of(version), unknown_release(version)
            except ClusterError as error:
                pause = _ASK_AGAIN_SECONDS
                if self._mode is None:
                    self._no_mode = str(error)
            await self._clock.sleep(pause)

    # --- the model

    def _follow(self, kind: ApiKind) -> Followed[Any]:
        project = partial(read_watched_pod, self.model) if kind == PODS else partial(self.model.read, kind.kind)
        return self._client.follow(WatchedKind(kind, project, required=False, on_change=partial(self._changed, kind)))

    def _changed(self, kind: ApiKind, key: Key) -> None:
        value = self._followed[kind].cache.get(key)
        self._unreadable.pop((kind.kind, key), None)
        if isinstance(value, Unreadable):
            self._unreadable[kind.kind, key] = value.problem
            value = None
        self.version += 1
        if kind == PODS:
            self._put_pod(ObjectKey(*key), value)
        else:
            self.model.put(kind.kind, ObjectKey(*key), value)

    def _put_pod(self, key: ObjectKey, value: WatchedPod | None) -> None:
        self.model.put_pod(key, value.pod if value is not None else None)
        self.places.put(key, value)
        self._on_pod(key, value)

    def pods_of(self, workload: ObjectKey, owner: str = "") -> Iterable[ObjectKey]:
        """Return the pods of a Workload; `owner` is its job, for pods that do not name the Workload."""
        return self.places.of(workload, owner)
