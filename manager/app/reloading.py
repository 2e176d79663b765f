"""SIGHUP: reads the configuration and its credentials again, and goes on with what may change while the daemon runs.

A file that is wrong changes nothing; the log says what is wrong with it. What cannot change waits for the next start,
which the log says too. A worker that is configured as before keeps its connection.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from config.kubeconfig.access import ClusterAccess
from config.loading.changes import change_between
from config.loading.loading import Loaded
from config.reading.problems import ConfigurationError
from config.sections.settings import Configuration
from manager.base.errors import StartupError
from manager.logging.logs import configure_logging, get_log
from workerclient.transport.file_threads import in_file_thread

Reread = Callable[[], Loaded]
"""Reads the file and the environment; raises `ConfigurationError`."""
Access = TypeVar("Access", bound=ClusterAccess | None)
"""What is known of the hub; nothing where none is needed."""
Prepare = Callable[[Configuration, Access], Awaitable[Callable[[], Awaitable[None]]]]
"""Makes ready for another configuration, and returns what goes over to it; raises `StartupError` if that cannot be."""

REFUSED: Final = "configuration.refused"
STAYS_IN_FORCE: Final = "the configuration that was read before stays in force"
RELOADED: Final = "configuration.reloaded"


@dataclass(frozen=True, slots=True)
class Followers(Generic[Access]):
    """The components that take a changed configuration, all or none, and the callback that learns the outcome."""

    prepare: tuple[Prepare[Access], ...]
    on_reload: Callable[[bool], None] | None = None


class Reloading(Generic[Access]):
    """Knows what runs, and what the file says."""

    def __init__(
        self,
        configuration: Configuration,
        reread: Reread,
        access_of: Callable[[Configuration], Access],
        followers: Followers[Access],
    ) -> None:
        self.configuration = configuration
        """What runs."""
        self._reread = reread
        self._access_of = access_of
        self._followers = followers

    async def reload(self) -> bool:
        """Read everything again and return whether it could be used."""
        try:
            loaded = await in_file_thread((self, "configuration"), self._reread)
            change = change_between(self.configuration, loaded.configuration)
            access = await in_file_thread((self, "hub"), self._access_of, change.configuration)
            prepared = [await prepare(change.configuration, access) for prepare in self._followers.prepare]
        except ConfigurationError as error:
            return self._refuse("; ".join(map(str, error.problems)))
        except StartupError as error:
            return self._refuse(str(error))
        for go_over in prepared:
            await go_over()
        self.configuration = change.configuration
        configure_logging(change.configuration.logging)
        for warning in loaded.warnings:
            get_log().warning("configuration.caution", caution=str(warning))
        if change.waiting:
            said = f"needs restart: {', '.join(change.waiting)}"
            get_log().warning("configuration.waiting", message=said, fields=list(change.waiting))
        get_log().info(RELOADED, changed=list(change.applied))
        self._tell(was_used=True)
        return True

    def _refuse(self, problem: str) -> bool:
        get_log().error(REFUSED, problem=problem, message=STAYS_IN_FORCE)
        self._tell(was_used=False)
        return False

    def _tell(self, *, was_used: bool) -> None:
        if self._followers.on_reload is not None:
            self._followers.on_reload(was_used)
