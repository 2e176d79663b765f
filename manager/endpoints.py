"""Where the daemon answers over HTTP, and what protects that: certificate, token or the hub's authorization."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

from config.choices import HttpAuthorization
from config.httpsection import Http
from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from manager.door import Door, DoorLimits
from manager.errors import StartupError
from manager.guards import Guard, HubReviews, TokenHolders
from manager.http import Board
from workerclient.cluster import Surroundings

_BACKLOG: Final = 128
_PROBES: Final = DoorLimits(connections=16, per_second=100.0)


class Endpoints:
    """The doors, and what protects them; both are renewed when the configuration is read again."""

    def __init__(self, settings: Http, access: ClusterAccess | None, surroundings: Surroundings) -> None:
        self.board = Board()
        self._surroundings = surroundings
        self._access = access
        self._tls = _tls_of(settings)
        self.board.guard = self._guard_of(settings, access)

    def prepare(self, configuration: Configuration, access: ClusterAccess | None) -> Callable[[], Awaitable[None]]:
        """Read certificate and token again, and return what goes over to them; raises `StartupError`."""
        tls = _tls_of(configuration.http)

        async def go_over() -> None:
            earlier, self.board.guard = self.board.guard, guard
            for door in self.board.doors[:1]:
                door.tls = tls
            if isinstance(earlier, HubReviews):
                await earlier.close()

        guard = self._guard_of(configuration.http, access)
        return go_over

    @asynccontextmanager
    async def open(self, settings: Http) -> AsyncIterator[Board]:
        """Answer during the enclosed block; raises `StartupError` if a port cannot be had."""
        board, clock = self.board, self._surroundings.clock
        try:
            answering = await board.answering()
            board.doors.append(
                Door(_listening("http.port", settings.bind_address, settings.port), answering, clock, self._tls)
            )
            if settings.probe_port is not None:
                answering = await board.answering(probes_only=True)
                listener = _listening("http.probePort", settings.probe_bind_address, settings.probe_port)
                board.doors.append(Door(listener, answering, clock, limits=_PROBES))
            async with _running(board.doors):
                yield board
        finally:
            await board.close()
            if isinstance(board.guard, HubReviews):
                await board.guard.close()

    def _guard_of(self, settings: Http, access: ClusterAccess | None) -> Guard | None:
        match settings.authorization:
            case HttpAuthorization.NONE:
                return None
            case HttpAuthorization.TOKEN_FILE if settings.token_file is not None:
                return TokenHolders(settings.token_file)
            case _:
                if access is None:
                    raise StartupError("http.authorization: Kubernetes needs a hub, and this configuration uses none")
                return HubReviews(access, self._surroundings, settings.audiences)


@asynccontextmanager
async def _running(doors: Iterable[Door]) -> AsyncIterator[None]:
    """Let strangers in during the enclosed block, whose failure leaves here as it is and not in a group."""
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(door.run()) for door in doors]
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised again once the doors are shut
            failure = error
        for task in tasks:
            task.cancel()
    if failure is not None:
        raise failure


def _tls_of(settings: Http) -> ssl.SSLContext | None:
    if settings.certificate_file is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate_file, settings.key_file, password=_no_password)
    except OSError as error:
        files = f'"{settings.certificate_file}" and "{settings.key_file}"'
        if isinstance(error, ssl.SSLError):
            raise StartupError(f"http.certificateFile: {files} are not a certificate and its key in PEM") from error
        raise StartupError(f"http.certificateFile: {files} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise StartupError(f'http.keyFile: "{settings.key_file}" must not be protected by a password') from error
    return context


def _no_password() -> str:
    """Keep OpenSSL from asking on the terminal."""
    raise ValueError("a password is needed")


def _listening(field: str, address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise StartupError(f"{field}: {address}:{port} cannot be listened on: {error.strerror or error}") from error
    return listener
