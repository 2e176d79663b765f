"""Everything that a reload reaches, in one list: a part that is not in it keeps the configuration of the start."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from engine.objects.configuration import KueueConfiguration
from manager.base.errors import StartupError
from manager.base.from_configuration import KueueConfigurations, kueues_of
from workerclient.transport.endpoint import endpoint_for
from workerclient.transport.file_threads import ThreadRunner, in_file_thread

ChangeHub = Callable[[ClusterAccess], Awaitable[None] | None]
"""Goes on with another address or identity of the hub."""


class Reconfigurable(Protocol):
    """A part that reads the configuration."""

    def reconfigure(self, configuration: Configuration) -> None:
        """Go on with another configuration, of which nothing can fail any more."""
        ...


class ReloadTargets:
    """The parts of one daemon that a reload reaches."""

    def __init__(
        self,
        access: ClusterAccess | None,
        parts: Iterable[Reconfigurable],
        on_hub_change: Iterable[ChangeHub],
        on_end: Callable[[], None],
        kueues: KueueConfigurations | None = None,
        in_thread: ThreadRunner = in_file_thread,
    ) -> None:
        """`on_hub_change` is called for other access to the hub than this, `on_end` after every reload."""
        self._kueues = kueues
        self._in_thread = in_thread
        self._access = access
        self._parts = tuple(parts)
        self._on_hub_change = tuple(on_hub_change)
        self._on_end = on_end

    async def prepare(
        self, configuration: Configuration, access: ClusterAccess | None
    ) -> Callable[[], Awaitable[None]]:
        """Check what may change, and return what applies it; raises `StartupError` if it cannot be used."""
        if access is not None:
            await self._in_thread((self, "hub"), check_usable, access)
        kueues = {} if self._kueues is None else await self._in_thread((self, "kueues"), kueues_of, configuration)
        return partial(self._apply, configuration, access, kueues)

    async def _apply(
        self,
        configuration: Configuration,
        access: ClusterAccess | None,
        kueues: Mapping[WorkerName, KueueConfiguration],
    ) -> None:
        if self._kueues is not None:
            self._kueues.replace(kueues)
        for part in self._parts:
            part.reconfigure(configuration)
        if access is not None and access != self._access:
            self._access = access
            for change_hub in self._on_hub_change:
                pending = change_hub(access)
                if pending is not None:
                    await pending
        self._on_end()


def check_usable(access: ClusterAccess) -> None:
    """Raise `StartupError` if this cannot be used to connect to the hub, whether or not the hub is reachable."""
    try:
        endpoint_for(access)
    except ValueError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error
