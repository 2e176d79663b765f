"""The last look before bytes leave: a write is not sent by an instance that may no longer write.

A process can be stopped for any time between a decision and its request, even while the request waits for a connection.
So permission is asked for again when the body is handed to the connection. What remains are the instructions between
that look and the system call; for them every write also carries a precondition that the cluster checks.
"""

from collections.abc import Callable

import aiohttp
from aiohttp.abc import AbstractStreamWriter


def always() -> bool:
    """Write at any time: nobody else does."""
    return True


def fenced_by(may_write: Callable[[], bool]) -> type[aiohttp.ClientRequest]:
    """Return the class of requests whose body is sent only while `may_write` holds."""

    class FencedRequest(aiohttp.ClientRequest):
        async def write_bytes(
            self, writer: AbstractStreamWriter, conn: aiohttp.connector.Connection, content_length: int | None = None
        ) -> None:
            if may_write():
                await super().write_bytes(writer, conn, content_length)
                return
            protocol = conn.protocol
            if protocol is not None:
                protocol.set_exception(aiohttp.ClientConnectionError("not sent: this instance may no longer write"))
            conn.close()

    return FencedRequest
