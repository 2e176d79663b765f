"""The life of every worker's connection: begun, changed and ended as its kubeconfig comes, changes and goes.

Each worker has a task of its own within a boundary of its own; ending one waits for all that it started. A worker whose
kubeconfig is no longer acceptable is disconnected at once, and counts as missing from then on.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from config.api.identifiers import WorkerName
from config.kubeconfig.access import ClusterAccess
from gates.model.activity import Health
from manager.clusters.access import AccessLoader, WorkerKubeconfigSource
from manager.clusters.cluster_identity import ClusterIdentities
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.process.supervision import Misunderstood, misunderstanding, per_cluster, supervise
from workerclient.base.backoff import Jitter
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError, Forbidden, Refused
from workerclient.objects.connection_report import ConnectionState

_LOAD_SECONDS: Final = 30.0
_READ_AGAIN_SECONDS: Final = 10.0
"""Files swapped behind a symbolic link, as in Secret volumes, send no notification: their content is read again."""

LinkFactory = Callable[[WorkerName, ClusterAccess], WorkerLink]


class Fleet:
    """All workers."""

    def __init__(
        self,
        wanted: Callable[[], Mapping[WorkerName, WorkerKubeconfigSource]],
        loader: AccessLoader,
        make_link: LinkFactory,
        lost_workers: LostWorkers,
        clock: Clock,
        jitter: Jitter,
        on_change: Callable[[WorkerName], None],
        identities: ClusterIdentities | None = None,
    ) -> None:
        self._identities = identities
        self._wanted = wanted
        self.loader = loader
        self._make_link = make_link
        self._lost_workers = lost_workers
        self._clock = clock
        self._jitter = jitter
        self._on_change = on_change
        self._refusals: dict[WorkerName, Health] = {}
        self._sources: dict[WorkerName, WorkerKubeconfigSource] = {}
        self._tasks: dict[WorkerName, asyncio.Task[None]] = {}
        self._poked = asyncio.Event()
        self._renewed: dict[WorkerName, None] = {}
        self.links: dict[WorkerName, WorkerLink] = {}
        """The workers that there is a connection to, or an attempt at one."""
        self.settled = asyncio.Event()
        """Set once every wanted worker has been examined."""

    def poke(self) -> None:
        """Have all sources examined again soon."""
        self._poked.set()

    def renew(self, names: Iterable[WorkerName]) -> None:
        """Reconnect to these workers; the others keep their connections."""
        self._renewed.update(dict.fromkeys(names))
        self.poke()

    def note_connection(self, name: WorkerName) -> None:
        """Take note that a worker came or went."""
        link = self.links.get(name)
        if link is not None and link.is_connected:
            self._lost_workers.forget(name)
        elif link is not None and link.report.connection is ConnectionState.LOST:
            self._lost_workers.note(name, link.client.lost_at)
        elif link is not None and link.refusal is not None:
            self._lost_workers.note(name)

    def review_identities(self) -> None:
        """Decide again which of the workers are used, because what lists them changed."""
        if self._identities is not None:
            self._identities.review()

    def health(self) -> dict[WorkerName, Health]:
        """Return every known worker with the words of its condition; one that is still connecting is left out."""
        found = dict(self._refusals)
        for name, link in self.links.items():
            report = link.report
            if link.is_connected:
                message = "; ".join([report.message, *link.remarks()])
                found[name] = Health(is_active=True, reason="Active", message=message)
            elif report.connection is ConnectionState.LOST:
                found[name] = Health(
                    is_active=False, reason=report.reason, message=report.message, is_forbidden=report.is_forbidden
                )
            elif (refusal := link.refusal) is not None:
                found[name] = refusal
        return found

    def names(self) -> frozenset[WorkerName]:
        """Return every worker that is wanted, whether or not it can be used."""
        return frozenset((*self.links, *self._refusals))

    def missing_since(self, name: WorkerName) -> int:
        """Return the wall time of a worker's loss."""
        return self._lost_workers.missing_since(name)

    def connecting(self) -> frozenset[WorkerName]:
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
            self.review_identities()
            self.settled.set()
            try:
                async with self._clock.timeout(_READ_AGAIN_SECONDS):
                    await self._poked.wait()
            except TimeoutError:
                continue

    async def _look_at_all(self, group: asyncio.TaskGroup) -> None:
        wanted = self._wanted()
        while self._renewed:
            await self._end(self._renewed.popitem()[0])
        for name in sorted({*self._sources, *self.links, *self._refusals} - set(wanted)):
            await self._end(name)
            self._refusals.pop(name, None)
            self._sources.pop(name, None)
            self._lost_workers.note(name)
            self._on_change(name)
        self._sources = dict(wanted)
        async with asyncio.TaskGroup() as loading:
            loads = {name: loading.create_task(self._load(source)) for name, source in sorted(wanted.items())}
        for name, load in loads.items():
            found = load.result()
            if found is not None:
                await self._apply(group, name, found)
                await self._clock.sleep(0)  # there may be hundreds

    async def _load(self, source: WorkerKubeconfigSource) -> ClusterAccess | Health | None:
        """Read one kubeconfig; None if that is not possible now, which changes nothing."""
        try:
            async with self._clock.timeout(_LOAD_SECONDS):
                found = await per_cluster(self.loader.load(source), ClusterError)
            if not isinstance(found, Misunderstood):
                return found
            problem = found.problem
        except Refused as error:
            problem = str(error)
            if source.name not in self.links:  # nothing is lost by saying so
                return Health(
                    is_active=False,
                    reason="BadKubeConfig",
                    message=f"load client config failed: {error}",
                    is_forbidden=isinstance(error, Forbidden),
                )
        except ClusterError as error:
            problem = str(error)
        except TimeoutError:
            problem = f"not read within {_LOAD_SECONDS:g} s"
        get_log().warning("worker.kubeconfig_unread", worker=source.name, error=problem)
        return None

    async def _apply(self, group: asyncio.TaskGroup, name: WorkerName, found: ClusterAccess | Health) -> None:
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
        except Exception as error:  # noqa: BLE001 - the boundary around one cluster
            get_log().error("worker.failed", cluster=name, exc_info=error)
            message = f"load client config failed: {misunderstanding(error)}"
            await self._refuse(name, Health(is_active=False, reason="BadKubeConfig", message=message))

    def _begin(self, group: asyncio.TaskGroup, name: WorkerName, access: ClusterAccess) -> None:
        link = self._make_link(name, access)
        self._refusals.pop(name, None)
        self.links[name] = link
        self._tasks[name] = group.create_task(supervise(name, link, self._clock, self._jitter, "worker.failed"))
        get_log().info("worker.connecting", worker=name)
        self._on_change(name)

    async def _refuse(self, name: WorkerName, health: Health) -> None:
        if self._refusals.get(name) == health and name not in self.links:
            return
        await self._end(name)
        self._refusals[name] = health
        self._lost_workers.note(name)
        get_log().warning("worker.refused", worker=name, reason=health.reason, message=health.message)
        self._on_change(name)

    async def _end(self, name: WorkerName) -> None:
        """End a connection and wait until nothing of it is left."""
        link = self.links.pop(name, None)
        if link is None:
            return
        task = self._tasks.pop(name)
        task.cancel()
        await asyncio.wait([task])
        await link.client.close()
        if self._identities is not None:
            self._identities.ended(name)
        get_log().info("worker.ended", worker=name)
