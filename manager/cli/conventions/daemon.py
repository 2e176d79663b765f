"""Asks a daemon over its socket or its address, with the standard library alone: the first output comes at once.

The paths are the same on both: `/v1/...`, JSON in and out; an error is `{"error": "one sentence"}`.
"""

import http.client
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from config.files import UnreadableFileError, read_bounded
from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.options import Connection

ANSWER_SECONDS: Final = 10.0
_MAX_TOKEN: Final = 64 << 10
_MAX_AUTHORITIES: Final = 4 << 20
_MAX_ANSWER: Final = 64 << 20

Connect = Callable[[], http.client.HTTPConnection]


class UnknownError(BadInputError):
    """The daemon does not know what was asked for; the message is its own."""


class NoDaemonError(NoAnswerError):
    """Nobody answers; the hub may be asked instead."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that may or may not be there."""

    place: str
    """Where it is asked, for messages."""
    remedy: str
    connect: Connect
    token: str = field(default="", repr=False)
    prefix: str = ""

    def ask(self, *path: str, query: dict[str, str] | None = None, body: object = None) -> Any:
        """Return what it says; a body makes it a POST. Raises `NoDaemonError`, `UnknownError` or `CommandError`."""
        target = f"{self.prefix}/v1/" + "/".join(quote(part, safe="") for part in path)
        target += f"?{urlencode(query)}" if query else ""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        content = None if body is None else json.dumps(body).encode()
        connection = self.connect()
        try:
            connection.request("GET" if content is None else "POST", target, content, headers)
            response = connection.getresponse()
            answer = response.read(_MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise NoDaemonError(f"no daemon answers on {self.place} ({_reason(error)}); {self.remedy}") from error
        finally:
            connection.close()
        if len(answer) > _MAX_ANSWER:
            raise NoAnswerError(f"what answers on {self.place} says more than {_MAX_ANSWER >> 20} MiB; {self.remedy}")
        return self._judged(response.status, answer)

    def _judged(self, status: int, answer: bytes) -> Any:
        try:
            document = json.loads(answer)
        except ValueError as error:
            if status == http.client.NOT_FOUND:
                raise BadInputError(
                    f"the daemon on {self.place} cannot answer this; is it an older turnstile?"
                ) from None
            raise NoDaemonError(
                f"what answers on {self.place} is no turnstile daemon (status {status}); {self.remedy}"
            ) from error
        if status == http.client.OK:
            return document
        told = document.get("error") if isinstance(document, dict) else None
        if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            why = told or "no reason given"
            raise NoAnswerError(f"the daemon on {self.place} refuses ({why}); check the token in --token-file")
        if status in (http.client.BAD_REQUEST, http.client.NOT_FOUND, http.client.UNPROCESSABLE_ENTITY):
            raise UnknownError(str(told or f"the daemon answered {status}"))
        raise CommandError(f"the daemon on {self.place} answered {status}: {told or 'no reason given'}")


def daemon_of(connection: Connection, seconds: float = ANSWER_SECONDS) -> Daemon:
    """Return the daemon that the options name; raises `BadInputError` for options that make no sense together."""
    if connection.server is None:
        for option in ("token_file", "certificate_authority"):
            if getattr(connection, option) is not None:
                raise BadInputError(f"--{option.replace('_', '-')} is for --server, which is not given")
        path = connection.socket
        remedy = "is `turnstile run` running here, and api.socket this path?"
        return Daemon(str(path), remedy, lambda: _SocketConnection(path, seconds))
    return _remote(connection, connection.server, seconds)


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _remote(connection: Connection, server: str, seconds: float) -> Daemon:
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
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
            raise BadInputError("--certificate-authority is for an https address; --server is an http one")
        if token and not _is_here(host):
            raise BadInputError("--token-file needs an https address: over http the token could be read on the way")
        return Daemon(server, remedy, lambda: http.client.HTTPConnection(host, port, timeout=seconds), token, prefix)
    tls = _tls(connection.certificate_authority)
    connect = lambda: http.client.HTTPSConnection(host, port, timeout=seconds, context=tls)  # noqa: E731
    return Daemon(server, remedy, connect, token, prefix)


def _is_here(host: str) -> bool:
    """Tell whether a host is this machine, as the near end of `kubectl port-forward` is."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _tls(authority: Path | None) -> Any:
    import ssl

    if authority is None:
        return ssl.create_default_context()
    text = _content("--certificate-authority", authority, _MAX_AUTHORITIES)
    try:
        return ssl.create_default_context(cadata=text)
    except ssl.SSLError:
        raise BadInputError(f"--certificate-authority {authority} holds no certificate; it must be PEM") from None


def _token(path: Path | None) -> str:
    if path is None:
        return ""
    token = _content("--token-file", path, _MAX_TOKEN).strip()
    if not token or not token.isascii() or any(sign.isspace() or not sign.isprintable() for sign in token):
        raise BadInputError(f"--token-file {path} does not hold a token; it must be one line of ASCII")
    return token


def _content(option: str, path: Path, limit: int) -> str:
    try:
        return read_bounded(path, limit, confined=False).decode()
    except UnreadableFileError as error:
        raise BadInputError(f"{option} {path} {error}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{option} {path} is not a text") from None


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
