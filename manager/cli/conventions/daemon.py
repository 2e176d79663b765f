"""Asks a daemon over its socket or its address, with the standard library alone: the first output comes at once.

The paths are the same on both: `/v1/...`, JSON in and out; an error is `{"error": "one sentence"}`.
"""

import http.client
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from config.names import LONGEST_SOCKET_PATH, SOCKET_VARIABLE
from config.reading.files import UnreadableFileError, read_bounded
from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.options import DEFAULT_SOCKET, ConfiguredDaemonOptions, DaemonOptions

ANSWER_SECONDS: Final = 10.0
_MAX_TOKEN: Final = 64 << 10
_MAX_AUTHORITIES: Final = 4 << 20
_MAX_ANSWER: Final = 64 << 20
_MOST_TRIES: Final = 5
_LONGEST_REST: Final = 5.0
_OTHER_USER: Final = "run this as that user, such as with `sudo -u`, or ask the daemon's address with --server"

Connect = Callable[[], http.client.HTTPConnection]


class UnknownError(BadInputError):
    """The daemon does not know what was asked for; the message is its own."""


class NoDaemonError(NoAnswerError):
    """No daemon answers; the hub may be asked instead. `problem` says so without the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class BusyError(NoAnswerError):
    """The daemon has too many questions to answer; it said when to ask again."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class DaemonClient:
    """A daemon that may or may not be there."""

    place: str
    """Where it is asked, for messages."""
    remedy: str
    connect: Connect
    token: str = field(default="", repr=False)
    prefix: str = ""
    tries: int = _MOST_TRIES
    """How often a daemon is asked that has too many questions to answer."""
    rest: Callable[[float], None] = time.sleep

    def ask(self, *path: str, query: dict[str, str] | None = None, body: object = None) -> Any:
        """Return what it says; a body makes it a POST. Raises `NoDaemonError`, `UnknownError` or `CommandError`.

        A daemon that is busy is asked again when it said, a few times.
        """
        for _ in range(self.tries - 1):
            try:
                return self._ask(path, query, body)
            except BusyError as error:
                self.rest(error.seconds)
        return self._ask(path, query, body)

    def ask_for_all(self, subject: str, query: dict[str, str] | None = None) -> Any:
        """Return a whole list, page by page; a connection that is refused on the way is made again."""
        answer = self.ask(subject, query=query)
        place = answer.pop("continue", "")
        while place:
            page = self._next_page(subject, {**(query or {}), "continue": place})
            answer[subject] += page[subject]
            place = page.get("continue", "")
        return answer

    def _next_page(self, subject: str, query: dict[str, str]) -> Any:
        for _ in range(self.tries - 1):
            try:
                return self.ask(subject, query=query)
            except NoDaemonError:
                self.rest(1.0)
        return self.ask(subject, query=query)

    def _ask(self, path: tuple[str, ...], query: dict[str, str] | None, body: object) -> Any:
        target = f"{self.prefix}/v1/" + "/".join(quote(part, safe="") for part in path)
        target += f"?{urlencode(query)}" if query else ""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        content = None if body is None else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request("GET" if content is None else "POST", target, content, headers)
            with connection.getresponse() as response:
                answer = response.read(_MAX_ANSWER + 1)
        except PermissionError as error:
            raise NoDaemonError(f"only the daemon's own user may open {self.place}", _OTHER_USER) from error
        except (OSError, http.client.HTTPException) as error:
            raise NoDaemonError(f"no daemon answers on {self.place} ({_reason(error)})", self.remedy) from error
        finally:
            connection.close()
        if len(answer) > _MAX_ANSWER:
            raise NoAnswerError(f"what answers on {self.place} sent more than {_MAX_ANSWER >> 20} MiB; {self.remedy}")
        return self._judged(response.status, answer, response.getheader("Retry-After"))

    def _judged(self, status: int, answer: bytes, retry_after: str | None) -> Any:
        try:
            document = json.loads(answer)
        except ValueError as error:
            if status == http.client.NOT_FOUND:
                raise BadInputError(f"the daemon on {self.place} cannot answer this; is it an older version?") from None
            problem = f"what answers on {self.place} is not a turnstile daemon (status {status})"
            raise NoDaemonError(problem, self.remedy) from error
        if status == http.client.OK:
            return document
        told = document.get("error") if isinstance(document, dict) else None
        if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            why = told or "no reason given"
            raise NoAnswerError(f"the daemon on {self.place} refuses ({why}); check the token in --token-file")
        if status == http.client.TOO_MANY_REQUESTS:
            message = f"the daemon on {self.place} is busy: {told or 'too many requests'}"
            raise BusyError(message, _seconds(retry_after))
        if status == http.client.SERVICE_UNAVAILABLE and told:
            raise NoAnswerError(f"the daemon on {self.place} cannot answer now: {told}")
        if status in (http.client.BAD_REQUEST, http.client.NOT_FOUND, http.client.UNPROCESSABLE_ENTITY):
            raise UnknownError(str(told or f"the daemon answered {status}"))
        raise CommandError(f"the daemon on {self.place} answered {status}: {told or 'no reason given'}")


def daemon_of(connection: DaemonOptions, seconds: float = ANSWER_SECONDS) -> DaemonClient:
    """Return the daemon that the options name; raises `BadInputError` for options that contradict each other."""
    if connection.server is None:
        for option in ("token_file", "certificate_authority"):
            if getattr(connection, option) is not None:
                raise BadInputError(f"--{option.replace('_', '-')} requires --server")
        path = socket_of(connection)
        remedy = "is `turnstile run` running here, and api.socket this path?"
        return DaemonClient(str(path), remedy, lambda: _SocketConnection(path, seconds))
    return _remote(connection, connection.server, seconds)


def socket_of(connection: DaemonOptions) -> Path:
    """Return the socket to ask: as the options name it, as the environment does, or as the configuration does."""
    configuration = connection.config if isinstance(connection, ConfiguredDaemonOptions) else None
    if connection.socket is not None:
        if len(os.fsencode(connection.socket)) > LONGEST_SOCKET_PATH:
            raise BadInputError(
                f"--socket: {connection.socket} is too long for a socket, of at most {LONGEST_SOCKET_PATH} bytes"
            )
        return connection.socket
    if configuration is None:
        return Path(os.environ.get(SOCKET_VARIABLE) or DEFAULT_SOCKET)
    from manager.cli.conventions.configuration import configuration_of

    path = configuration_of(configuration).api.socket
    if path is None:
        raise BadInputError(f"{configuration}: api.socket is null, so no daemon answers here; ask one with --server")
    return path


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _remote(connection: DaemonOptions, server: str, seconds: float) -> DaemonClient:
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # a name that cannot be looked up is a UnicodeError, which is a ValueError
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
        raise BadInputError(
            f'--server "{server}" is not allowed: must be http://HOST:PORT or https://HOST:PORT (a path may follow)'
        )
    token = _token(connection.token_file)
    remedy = "is this the address of a running `turnstile run`, and may this machine reach it?"
    prefix = parts.path.rstrip("/")
    if parts.scheme == "http":
        if connection.certificate_authority is not None:
            raise BadInputError("--certificate-authority requires an https address; --server is http")
        if token and not _is_here(host):
            raise BadInputError("--token-file requires an https address: http would expose the token")
        return DaemonClient(
            server, remedy, lambda: http.client.HTTPConnection(host, port, timeout=seconds), token, prefix
        )
    tls = tls_of(connection.certificate_authority)
    connect = lambda: http.client.HTTPSConnection(host, port, timeout=seconds, context=tls)  # noqa: E731
    return DaemonClient(server, remedy, connect, token, prefix)


def _is_here(host: str) -> bool:
    """Return whether a host is this machine, as the near end of `kubectl port-forward` is."""
    return host in ("localhost", "::1") or host.startswith("127.")


def tls_of(authority: Path | None) -> Any:
    """Return how a server is verified; raises `BadInputError`."""
    import ssl

    if authority is None:
        return ssl.create_default_context()
    text = _content("--certificate-authority", authority, _MAX_AUTHORITIES)
    try:
        return ssl.create_default_context(cadata=text)
    except ssl.SSLError:
        raise BadInputError(f"--certificate-authority {authority} contains no certificate; it must be PEM") from None


def _token(path: Path | None) -> str:
    if path is None:
        return ""
    token = _content("--token-file", path, _MAX_TOKEN).strip()
    if not token or not token.isascii() or any(sign.isspace() or not sign.isprintable() for sign in token):
        raise BadInputError(f"--token-file {path} does not contain a token; it must be one line of ASCII")
    return token


def _content(option: str, path: Path, limit: int) -> str:
    try:
        return read_bounded(path, limit, confined=False).decode()
    except UnreadableFileError as error:
        raise BadInputError(f"{option} {path} {error}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{option} {path} is not text") from None


def _seconds(retry_after: str | None) -> float:
    """Return how long a daemon asks to wait, within bounds."""
    known = retry_after is not None and retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 6
    return min(float(retry_after), _LONGEST_REST) if known and retry_after is not None else 1.0


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
