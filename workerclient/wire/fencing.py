"""The last check before bytes are sent: a write is not sent by an instance that may no longer write, nor too late.

A process can be stopped for any time between a decision and its request, even while the request waits for a connection.
So permission is asked for again when the body is handed to the connection. What remains are the instructions between
that check and the system call; for them every write also carries a precondition that the cluster checks.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter


class ExpiredRequestError(aiohttp.ClientConnectionError):
    """The time in which a request was to be sent is over, and it was not."""


def always() -> bool:
    """Write at any time: there is no other writer."""
    return True


def _never() -> bool:
    return False


_IS_LATE: Final[ContextVar[Callable[[], bool]]] = ContextVar("is_late", default=_never)
"""Whether the request that is being sent comes too late. The task that writes its body has a copy of the context."""


@contextmanager
def sent_unless(is_late: Callable[[], bool]) -> Iterator[None]:
    """Let the requests of the enclosed block be sent only while neither this nor an outer block is late."""
    outer = _IS_LATE.get()
    token = _IS_LATE.set(lambda: outer() or is_late())
    try:
        yield
    finally:
        _IS_LATE.reset(token)


def fenced_by(may_write: Callable[[], bool]) -> type[aiohttp.ClientRequest]:
    """Return the class of requests whose body is sent only while `may_write` holds."""

    class FencedRequest(aiohttp.ClientRequest):
        async def write_bytes(
            self, writer: AbstractStreamWriter, conn: aiohttp.connector.Connection, content_length: int | None = None
        ) -> None:
            refusal: aiohttp.ClientConnectionError | None = None
            if _IS_LATE.get()():
                refusal = ExpiredRequestError("not sent: it would come too late")
            elif not may_write():
                refusal = aiohttp.ClientConnectionError("not sent: this instance may no longer write")
            if refusal is None:
                await super().write_bytes(writer, conn, content_length)
                return
            protocol = conn.protocol
            if protocol is not None:
                protocol.set_exception(refusal)
            conn.close()

    return FencedRequest
