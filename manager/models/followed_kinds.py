"""Watches some kinds on one worker over a connection of their own, and keeps a model of the cluster up to date.

Nothing is written. A kind that may not be read, or an object that cannot be, makes the model incomplete; that is said
once in the log, and nothing else depends on it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from engine.forecasting.observed import ObservedCluster
from manager.base.memory_limits import MOST_VALUES
from workerclient.base.clock import Clock
from workerclient.base.errors import excerpt
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable
from workerclient.objects.kind_state import CachePhase
from workerclient.objects.watched import WatchedKind

_TELL_SECONDS: Final = 5.0

OnModelChange = Callable[[str, ObjectKey, object], None]
"""Told the kind, the key and the value of an object after the model took it; None when it is gone or unreadable."""


class FollowedKinds(ABC):
    """The watches of one worker; when `run` failed it may be run again."""

    def __init__(
        self,
        client: ClusterClient,
        clock: Clock,
        kinds: Sequence[ApiKind],
        cluster: ObservedCluster,
        on_change: OnModelChange,
    ) -> None:
        self._client = client
        self._clock = clock
        self._kinds = kinds
        self._cluster = cluster
        self._on_change = on_change
        self._unreadable: dict[tuple[str, ObjectKey], str] = {}
        self._followed: Final[dict[str, WatchedResource[Any]]] = {kind.kind: self._follow(kind) for kind in kinds}

    @property
    def name(self) -> WorkerName:
        """Return the worker's name."""
        return WorkerName(self._client.name)

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

    @abstractmethod
    def _warn(self, lacking: str) -> None:
        """Say in the log which kinds may not be read."""

    @abstractmethod
    def _inform(self) -> None:
        """Say in the log that all of them may be read again."""

    async def _tell(self) -> None:
        said = ""
        while True:
            await self._clock.sleep(_TELL_SECONDS)
            lacking = self._lacking()
            if lacking and lacking != said:
                self._warn(lacking)
            elif said and not lacking:
                self._inform()
            said = lacking

    def _lacking(self) -> str:
        """Name what the worker does not let us read, or does not have."""
        found = []
        for phase, text in ((CachePhase.FORBIDDEN, "may not be read"), (CachePhase.NOT_SERVED, "not served")):
            states = ((kind, self._followed[kind.kind].reflector.state) for kind in self._kinds)
            names = [kind.plural for kind, state in states if state.phase is phase]
            found += [f"{', '.join(names)}: {text}"] if names else []
        return "; ".join(found)

    def _why_unreadable(self) -> str:
        """Name an object that cannot be read, an empty text if all can."""
        if not self._unreadable:
            return ""
        (kind, key), problem = min(self._unreadable.items())
        return f"{kind} {key} cannot be read: {problem}"

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
        self._on_change(kind, key, self._take(kind, key))

    def _take(self, kind: str, key: ObjectKey) -> object:
        """Put an object into the model and return its value, None when it is gone or unreadable."""
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
        return value
