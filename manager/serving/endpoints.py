"""Where the daemon answers over HTTP, and what protects that: certificate, token or the hub's authorization."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.sections.http import Http
from config.sections.settings import Configuration
from config.types.choices import HttpAuthorization
from manager.base.errors import StartupError
from manager.serving.authorization import Authorizer, HubAuthorizer, TokenFileAuthorizer
from manager.serving.http import HttpApp
from manager.serving.limited_listener import LimitedListener, ListenerLimits
from workerclient.cluster import ClientContext
from workerclient.transport.endpoint import prepare_endpoint
from workerclient.transport.file_threads import in_file_thread

_BACKLOG: Final = 128
_PROBES: Final = ListenerLimits(connections=16)


class Endpoints:
    """The listeners, and what protects them; both are renewed when the configuration is read again."""

    def __init__(self, settings: Http, access: ClusterAccess | None, context: ClientContext) -> None:
        self.http_app = HttpApp(page=settings.page)
        self._client_context = context
        self._access = access
        self._tls = _tls_of(settings)
        self.http_app.authorizer = self._authorizer_of(settings, access)

    async def prepare(
        self, configuration: Configuration, access: ClusterAccess | None
    ) -> Callable[[], Awaitable[None]]:
        """Read certificate and token again, and return what goes over to them; raises `StartupError`."""
        settings = configuration.http
        tls = await in_file_thread((self, "certificate"), _tls_of, settings)
        if access is not None:
            await in_file_thread((self, "hub"), prepare_endpoint, access)
        by_token = await in_file_thread((self, "token"), _token_authorizer_of, settings)

        async def go_over() -> None:
            earlier, self.http_app.authorizer = self.http_app.authorizer, authorizer
            for listener in self.http_app.listeners[:1]:
                listener.tls = tls
            if isinstance(earlier, HubAuthorizer):
                await earlier.close()

        authorizer = by_token or self._authorizer_of(settings, access)
        return go_over

    @asynccontextmanager
    async def open(self, settings: Http) -> AsyncIterator[HttpApp]:
        """Answer during the enclosed block; raises `StartupError` if a port cannot be had."""
        http_app, clock = self.http_app, self._client_context.clock
        try:
            answering = await http_app.answering()
            http_app.listeners.append(
                LimitedListener(
                    _listening("http.port", settings.bind_address, settings.port), answering, clock, self._tls
                )
            )
            if settings.probe_port is not None:
                answering = await http_app.answering(probes_only=True)
                probes = _listening("http.probePort", settings.probe_bind_address, settings.probe_port)
                http_app.listeners.append(LimitedListener(probes, answering, clock, limits=_PROBES))
            async with _running(http_app.listeners):
                yield http_app
        finally:
            await http_app.close()
            if isinstance(http_app.authorizer, HubAuthorizer):
                await http_app.authorizer.close()

    def _authorizer_of(self, settings: Http, access: ClusterAccess | None) -> Authorizer | None:
        if settings.authorization is HttpAuthorization.NONE:
            return None
        if (by_token := _token_authorizer_of(settings)) is not None:
            return by_token
        if access is None:
            raise StartupError("http.authorization: Kubernetes needs a hub, and this configuration uses none")
        return HubAuthorizer(access, self._client_context, settings.audiences)


@asynccontextmanager
async def _running(listeners: Iterable[LimitedListener]) -> AsyncIterator[None]:
    """Accept connections during the enclosed block, whose failure leaves here as it is and not in a group."""
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(listener.run()) for listener in listeners]
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - raised again once the listeners are closed
            failure = error
        for task in tasks:
            task.cancel()
    if failure is not None:
        raise failure


def _token_authorizer_of(settings: Http) -> TokenFileAuthorizer | None:
    """Read the token file, if that decides who may read."""
    if settings.authorization is HttpAuthorization.TOKEN_FILE and settings.token_file is not None:
        return TokenFileAuthorizer(settings.token_file)
    return None


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
