"""Asks the running daemon over its socket, with the standard library alone, so that the first output comes at once."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

DEFAULT_SOCKET: Final = "/run/turnstile/api.sock"
NO_DAEMON: Final = 3
"""The exit code when no daemon answers."""

_SECONDS: Final = 10.0


class NoAnswerError(Exception):
    """No daemon answered; the message says what to do."""


class UnknownError(Exception):
    """The daemon does not know what was asked for; the message is its own."""


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_SECONDS)
        self.sock.connect(str(self._path))


def ask(path: Path, *place: str) -> Any:
    """Return what the daemon says about something; raises `NoAnswerError` or `UnknownError`."""
    connection = _SocketConnection(path)
    try:
        connection.request("GET", "/v1/" + "/".join(quote(part, safe="") for part in place))
        response = connection.getresponse()
        document = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"no daemon answers on {path} ({reason}); is `turnstile run` running here, and api.socket this path?"
        raise NoAnswerError(message) from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise UnknownError(str(document.get("error") or f"the daemon answered {response.status}"))
    return document
