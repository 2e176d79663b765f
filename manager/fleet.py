"""The life of every worker's connection: begun, changed and ended as its kubeconfig comes, changes and goes.

Each worker has a task of its own; ending one waits for all that it started. A worker whose kubeconfig is no longer
acceptable is disconnected at once, and counts as missing from then on.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from config.kubeconfig.access import ClusterAccess
from gates.activity import Health
from manager.absences import Absences
from manager.access import AccessLoader, Source
from manager.logs import get_log
from manager.worker import WorkerLink
from workerclient.clock import Clock
from workerclient.cluster import Connection
from workerclient.errors import ClusterError, Refused

_LOAD_SECONDS: Final = 30.0
_READ_AGAIN_SECONDS: Final = 10.0
"""Files that are swapped behind a symbolic link, as Secret volumes are, tell nobody: their content is read again."""

LinkFactory = Callable[[str, ClusterAccess], WorkerLink]


class Fleet:
    """All workers."""

    def __init__(
        self,
        wanted: Callable[[], Mapping[str, Source]],
        loader: AccessLoader,
        make_link: LinkFactory,
        absences: Absences,
        clock: Clock,
        on_change: Callable[[str], None],
    ) -> None:
        self._wanted = wanted
        self._loader = loader
        self._make_link = make_link
        self._absences = absences
        self._clock = clock
        self._on_change = on_change
        self._refusals: dict[str, Health] = {}
        self._sources: dict[str, Source] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._poked = asyncio.Event()
        self.links: dict[str, WorkerLink] = {}
        """The workers that there is a connection to, or an attempt at one."""
        self.settled = asyncio.Event()
        """Set once every wanted worker has been looked at."""

    def poke(self) -> None:
        """Have all sources looked at again soon."""
        self._poked.set()

    def note_connection(self, name: str) -> None:
        """Take note that a worker came or went."""
        link = self.links.get(name)
        if link is not None and link.is_connected:
            self._absences.forget(name)
        elif link is not None and link.report.connection is Connection.LOST:
            self._absences.note(name, link.report.lost_since_ns)

    def health(self) -> dict[str, Health]:
        """Return every known worker with the words of its condition; one that is still connecting is left out."""
        found = dict(self._refusals)
        for name, link in self.links.items():
            report = link.report
            if link.is_connected:
                message = "; ".join([report.message, *link.remarks()])
                found[name] = Health(is_active=True, reason="Active", message=message)
            elif report.connection is Connection.LOST:
                found[name] = Health(is_active=False, reason=report.reason, message=report.message)
        return found

    def names(self) -> frozenset[str]:
        """Return every worker that is wanted, whether or not it can be used."""
        return frozenset((*self.links, *self._refusals))

    def connecting(self) -> frozenset[str]:
        """Return the workers of which it is not known yet whether they are there."""
        known = self.health()
        return frozenset(name for name in self.links if name not in known)

    async def run(self) -> None:
        """Keep connections in step with their sources until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                try:
                    await self._look_again_and_again(group)
                finally:
                    for task in self._tasks.values():
                        task.cancel()
        finally:
            for link in self.links.values():
                await link.client.close()  # a task that ended before it began closed nothing

    async def _look_again_and_again(self, group: asyncio.TaskGroup) -> None:
        while True:
            self._poked.clear()
            await self._look_at_all(group)
            self.settled.set()
            try:
                async with self._clock.timeout(_READ_AGAIN_SECONDS):
                    await self._poked.wait()
            except TimeoutError:
                continue

    async def _look_at_all(self, group: asyncio.TaskGroup) -> None:
        wanted = self._wanted()
        for name in sorted({*self._sources, *self.links, *self._refusals} - set(wanted)):
            await self._end(name)
            self._refusals.pop(name, None)
            self._sources.pop(name, None)
            self._absences.note(name)
            self._on_change(name)
        self._sources = dict(wanted)
        async with asyncio.TaskGroup() as loading:
            loads = {name: loading.create_task(self._load(source)) for name, source in sorted(wanted.items())}
        for name, load in loads.items():
            found = load.result()
            if found is not None:
                await self._apply(group, name, found)

    async def _load(self, source: Source) -> ClusterAccess | Health | None:
        """Read one kubeconfig; None if that is not possible now, which changes nothing."""
        try:
            async with self._clock.timeout(_LOAD_SECONDS):
                return await self._loader.load(source)
        except Refused as error:
            problem = str(error)
            if source.name not in self.links:  # nothing is lost by saying so
                return Health(is_active=False, reason="BadKubeConfig", message=f"load client config failed: {error}")
        except ClusterError as error:
            problem = str(error)
        except TimeoutError:
            problem = f"not read within {_LOAD_SECONDS:g} s"
        get_log().warning("worker.kubeconfig_unread", worker=source.name, error=problem)
        return None

    async def _apply(self, group: asyncio.TaskGroup, name: str, found: ClusterAccess | Health) -> None:
        if isinstance(found, Health):
            await self._refuse(name, found)
            return
        link = self.links.get(name)
        if link is not None and link.access == found:
            return
        try:
            if link is None:
                self._begin(group, name, found)
            else:
                link.reconfigure(found)
                get_log().info("worker.reconfigured", worker=name)
        except ValueError as error:
            message = f"load client config failed: {error}"
            await self._refuse(name, Health(is_active=False, reason="InsecureKubeConfig", message=message))

    def _begin(self, group: asyncio.TaskGroup, name: str, access: ClusterAccess) -> None:
        link = self._make_link(name, access)
        self._refusals.pop(name, None)
        self.links[name] = link
        self._tasks[name] = group.create_task(link.run())
        get_log().info("worker.connecting", worker=name)
        self._on_change(name)

    async def _refuse(self, name: str, health: Health) -> None:
        if self._refusals.get(name) == health and name not in self.links:
            return
        await self._end(name)
        self._refusals[name] = health
        self._absences.note(name)
        get_log().warning("worker.refused", worker=name, reason=health.reason, message=health.message)
        self._on_change(name)

    async def _end(self, name: str) -> None:
        """End a connection and wait until nothing of it is left."""
        link = self.links.pop(name, None)
        if link is None:
            return
        task = self._tasks.pop(name)
        task.cancel()
        await asyncio.wait([task])
        await link.client.close()
        get_log().info("worker.ended", worker=name)
