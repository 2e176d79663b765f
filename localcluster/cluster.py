"""Local clusters: an API server with its store, clock, faults and files, as an async context manager.

Nothing is left half-started: whatever fails while starting, everything started before is stopped again.
"""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from localcluster.access.auth import TokenUser, Users
from localcluster.access.service_accounts import ServiceAccounts
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.clock import ServerClock, SkewedClock
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.names import NameFormat, explain_name
from localcluster.serving.faults import Faults
from localcluster.serving.http import HttpFrontend
from localcluster.serving.kubeconfig import write_kubeconfig
from localcluster.serving.server import ApiServer
from localcluster.serving.tls import Certificates, issue_certificates
from localcluster.serving.traffic import Traffic
from localcluster.serving.watch import BUFFER_EVENTS
from localcluster.store.gc import OwnerGarbageCollector
from localcluster.store.namespaces import COLLECTION, INITIAL, NAMESPACES
from localcluster.store.store import HISTORY, Store
from localcluster.store.write_options import WriteOptions

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp.web import Server

HOST = "127.0.0.1"
ADMIN = "admin"
_SHUTDOWN_SECONDS = 1.0


class LocalClusterError(Exception):
    """A local cluster cannot be started; the message is for the one who asked."""


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalClusterError(f"cannot make directory {directory}: {error.strerror}") from error


class Partition(StrEnum):
    """How an unreachable cluster looks from outside."""

    REFUSED = "refused"
    BLACK_HOLE = "black hole"


class LocalCluster:
    """One cluster. `directory` gets a folder of the cluster's name with its certificate and kubeconfig."""

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        kinds: Iterable[ServedKind] | None = None,
        clock: ServerClock | None = None,
        users: Sequence[TokenUser] = (),
        port: int = 0,
        history: int = HISTORY,
        watch_buffer: int = BUFFER_EVENTS,
    ) -> None:
        if problems := explain_name(name, NameFormat.LABEL):
            raise LocalClusterError(f'cluster name "{name}": {problems[0]}')
        self.name = name
        self.clock: ServerClock = clock or SkewedClock()
        self.faults = Faults()
        self.token = secrets.token_urlsafe(32)
        self.store = Store(all_kinds() if kinds is None else kinds, self.clock, history=history)
        self._directory = directory / name
        self._port = port
        accounts = ServiceAccounts(self.store)
        administrator = TokenUser(ADMIN, self.token, ("system:masters",))
        self._server = ApiServer(
            self.store, Users((administrator, *users), accounts), accounts, self.faults, watch_buffer=watch_buffer
        )
        self._gc = OwnerGarbageCollector(self.store, self._schedule_gc)
        self._gc_handle: asyncio.Handle | None = None
        self._certificates: Certificates | None = None
        self._tls: SSLContext | None = None
        self._web: Server | None = None
        self._listener: asyncio.Server | None = None
        self._create_initial_objects()

    @property
    def port(self) -> int:
        """Return the port; it stays the same through restarts and partitions."""
        return self._port

    @property
    def url(self) -> str:
        """Return the server's address."""
        return f"https://{HOST}:{self._port}"

    @property
    def ca_file(self) -> Path:
        """Return the file with the certificate that signed the server's."""
        return self._directory / "ca.crt"

    @property
    def kubeconfig_path(self) -> Path:
        """Return the kubeconfig of the administrator."""
        return self._directory / "kubeconfig"

    @property
    def traffic(self) -> Traffic:
        """Return who asked for what so far."""
        return self._server.traffic

    def change_release(self, version: str) -> None:
        """Say another version from now on, as an upgraded cluster does; what is served stays the same."""
        self._server.discovery.release = version

    # Life

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Write the files and listen."""
        _make_directory(self._directory)
        try:
            if self._certificates is None:
                self._certificates = issue_certificates(self.name)
                self._tls = self._certificates.server_context(self._directory)
            self.ca_file.write_bytes(self._certificates.authority)
        except OSError as error:
            raise LocalClusterError(
                f'cluster "{self.name}": cannot write to {self._directory}: {error.strerror}'
            ) from error
        await self._listen()
        write_kubeconfig(
            self.kubeconfig_path,
            cluster=self.name,
            url=self.url,
            authority=self._certificates.authority,
            token=self.token,
        )
        self._schedule_gc()

    async def stop(self) -> None:
        """Break all connections and stop listening."""
        if self._gc_handle is not None:
            self._gc_handle.cancel()
            self._gc_handle = None
        await self._close()

    def remove_files(self) -> None:
        """Remove what `start` wrote, once nothing answers there any more."""
        with suppress(OSError):  # never made, removed by the user, or a folder that holds files of others
            if self.token in self.kubeconfig_path.read_text():  # not of a successor
                self.ca_file.unlink()
                self.kubeconfig_path.unlink()
                self._directory.rmdir()

    async def restart(self) -> None:
        """Go down and come back on the same port; objects survive, connections and watch history do not."""
        await self._close()
        self.store.ledger.forget_history()
        await self._listen()

    # Trouble

    async def partition(self, how: Partition) -> None:
        """Become unreachable until `heal`."""
        await self._close()
        if how is Partition.BLACK_HOLE:
            loop = asyncio.get_running_loop()
            self._listener = await loop.create_server(asyncio.Protocol, HOST, self._port)

    async def heal(self) -> None:
        """Become reachable again."""
        await self._close()
        await self._listen()

    def freeze(self) -> None:
        """Answer nothing from now on, on connections old and new, without closing any; `thaw` ends it."""
        self._server.is_silent = True
        for watcher in self._server.watches.active():
            watcher.mute()

    def thaw(self) -> None:
        """Answer again; connections that were kept waiting break."""
        self._server.is_silent = False
        self._abort_connections()

    def drop_watches(self, plural: str | None = None) -> int:
        """Break the watches that are open now, of one kind or of all; return how many."""
        struck = [each for each in self._server.watches.active() if plural in (None, each.kind.plural)]
        for watcher in struck:
            watcher.cut()
        return len(struck)

    def mute_watches(self, plural: str) -> int:
        """Let the watches of a kind that are open now say nothing more, without closing them; return how many."""
        struck = [each for each in self._server.watches.active() if each.kind.plural == plural]
        for watcher in struck:
            watcher.mute()
        return len(struck)

    def watch_count(self, plural: str | None = None) -> int:
        """Return how many watches are open, of one kind or of all."""
        return sum(plural in (None, each.kind.plural) for each in self._server.watches.active())

    # Inside

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._web = HttpFrontend(self._server).protocol_factory()
        try:
            self._listener = await loop.create_server(self._web, HOST, self._port, ssl=self._tls)
        except OSError as error:
            self._web = None
            raise LocalClusterError(
                f'cluster "{self.name}": cannot listen on {HOST}:{self._port}: {error.strerror or error}'
            ) from error
        self._port = self._listener.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if self._web is not None:
            self._abort_connections()
            await self._web.shutdown(_SHUTDOWN_SECONDS)
            self._web = None

    def _abort_connections(self) -> None:
        for connection in self._web.connections if self._web is not None else ():
            if connection.transport is not None:
                connection.transport.abort()

    def _schedule_gc(self) -> None:
        if self._gc_handle is None and self._listener is not None:
            self._gc_handle = asyncio.get_running_loop().call_soon(self._run_gc)

    def _run_gc(self) -> None:
        self._gc_handle = None
        self._gc.run()

    def _create_initial_objects(self) -> None:
        if COLLECTION not in self.store.ledger.collections:
            return
        kind = self.store.kind(NAMESPACES)
        for name in INITIAL:
            self.store.create(kind, {"metadata": {"name": name}}, options=WriteOptions(manager="kube-apiserver"))
        self.store.ledger.forget_history()


class LocalClusters(Mapping[str, LocalCluster]):
    """Several clusters under one directory, started together or not at all."""

    def __init__(self, names: Sequence[str], directory: Path, *, kinds: Iterable[ServedKind] | None = None) -> None:
        if duplicates := sorted({name for name in names if list(names).count(name) > 1}):
            raise LocalClusterError(f"cluster names must differ; given more than once: {', '.join(duplicates)}")
        served = all_kinds() if kinds is None else tuple(kinds)
        self._clusters = {name: LocalCluster(name, directory, kinds=served) for name in names}
        self._directory = directory
        self._stack = AsyncExitStack()

    def __getitem__(self, name: str) -> LocalCluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._clusters)

    def __len__(self) -> int:
        return len(self._clusters)

    async def __aenter__(self) -> Self:
        _make_directory(self._directory)
        async with AsyncExitStack() as stack:
            for cluster in self._clusters.values():
                stack.push_async_callback(cluster.stop)
            failures: list[LocalClusterError] = []
            async with asyncio.TaskGroup() as starting:
                for cluster in self._clusters.values():
                    starting.create_task(_start(cluster, failures))
            if failures:
                raise failures[0]
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()


async def _start(cluster: LocalCluster, failures: list[LocalClusterError]) -> None:
    try:
        await cluster.start()
    except LocalClusterError as error:
        failures.append(error)
