"""A daemon that gives any answer a test wants, on a socket, and counts what it is asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Document = dict[str, Any]
Reply = tuple[int, Document]
"""Status and document."""


@dataclass
class ScriptedDaemon:
    """Answers by path, without `/v1/`; a test may change that at any time."""

    socket: Path
    replies: dict[str, Callable[[], Reply]]
    asked: list[str] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def reply(self, target: str) -> Reply:
        """Count a question and answer it."""
        parts = urlsplit(target)
        path = parts.path.removeprefix("/v1/")
        self.asked.append(path)
        self.queries.append({name: values[0] for name, values in parse_qs(parts.query).items()})
        found = self.replies.get(path)
        return found() if found is not None else (404, {"error": f"there is no list of {path}"})


@contextmanager
def scripted_daemon(socket: Path, **replies: Document) -> Iterator[ScriptedDaemon]:
    """Serve documents by path during the block."""
    daemon = ScriptedDaemon(socket, {path: _always(document) for path, document in replies.items()})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            daemon.at_once += 1
            daemon.most_at_once = max(daemon.most_at_once, daemon.at_once)
            status, document = daemon.reply(self.path)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            daemon.at_once -= 1

        def address_string(self) -> str:
            return "socket"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingUnixStreamServer(str(socket), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield daemon
        finally:
            server.shutdown()
            thread.join()


def _always(document: Document) -> Callable[[], Reply]:
    return lambda: (200, document)
