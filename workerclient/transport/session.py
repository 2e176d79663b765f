"""One cluster's connections as the rest of this package sees them, whatever carries the bytes.

`HttpSession` speaks HTTP/1.1 over TLS; a simulation carries requests in memory. Invariant: whatever happens on the way
leaves a session as a `ClusterError`, and no error holds the token.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from config.kubeconfig.access import ClusterAccess
from workerclient.base.clock import Clock
from workerclient.base.errors import Fenced, Operation, TooLate
from workerclient.wire.skew import Skew


def always() -> bool:
    """Write at any time: there is no other writer."""
    return True


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How much one cluster may take of us."""

    connections: int = 40
    """For requests; watches come on top."""
    keep_alive_seconds: float = 60.0
    request_seconds: float = 10.0
    max_response_bytes: int = 4 << 20
    """More than an API server stores in one object. JSON is parsed in one piece, during which nothing else happens."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request without its credentials."""

    operation: Operation
    method: str
    path: str
    parameters: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = ""
    patience: float = 1.0
    """How many times the usual deadline the cluster gets to answer."""
    stores: bool = True
    """Whether a request with a body changes an object; a review of permissions does not."""
    not_after: float | None = None
    """Until when its bytes may leave, on the steady clock, however long it was queued."""
    max_bytes: int | None = None
    """The largest answer that is taken, where that is less than the session's limit."""
    may_be_plain_text: bool = False
    """Whether the JSON of the answer may be declared to be plain text, as kube-apiserver does with some."""

    @property
    def is_write(self) -> bool:
        """Return whether it may be sent only while this instance may write."""
        return self.body is not None and self.stores


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, read to its end."""

    code: int
    body: bytes
    content_type: str
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session takes from its client: time, limits, and permission to write."""

    clock: Clock
    limits: SessionLimits
    may_write: Callable[[], bool] = always
    reads_only: bool = False
    """Nothing but GET is ever sent."""

    def refuse_unless_allowed(self, request: Request) -> None:
        """Raise unless the request may be sent now."""
        if self.reads_only and request.method != "GET":
            raise Fenced(request.operation, "not sent, because this instance only reads")
        if request.is_write and not self.may_write():
            raise Fenced(request.operation, "not sent, because this instance does not hold the Lease")
        if self.is_late(request):
            raise TooLate(request.operation, "not sent, because it would come too late")

    def is_late(self, request: Request) -> bool:
        """Tell whether the request may no longer be sent, however long it waited for its turn."""
        return request.not_after is not None and self.clock.monotonic() >= request.not_after

    def deadline(self, request: Request) -> float:
        """Return how many seconds the cluster gets to answer."""
        return self.limits.request_seconds * request.patience


class Stream(Protocol):
    """The open answer to a watch."""

    @property
    def code(self) -> int:
        """Return the HTTP status."""
        ...

    async def answer(self) -> Answer:
        """Read the answer to its end, for one that turned out not to be a watch."""
        ...

    async def read(self) -> bytes:
        """Return the bytes that came next, none when the server ended the stream in good order."""
        ...


class Session(Protocol):
    """The connections to one cluster; to be created and closed inside the running loop."""

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        ...

    async def send(self, request: Request, authorization: str | None) -> Answer:
        """Return the answer; raise when there is none in time, none at all, or one that is too large."""
        ...

    def stream(self, request: Request, authorization: str | None) -> AbstractAsyncContextManager[Stream]:
        """Open a watch: the deadline is for its first answer, the caller watches over what comes after."""
        ...

    async def close(self, *, drain: bool = False) -> None:
        """End all connections; with `drain` after the requests on their way, which their deadlines bound."""
        ...


SessionFactory = Callable[[ClusterAccess, SessionContext], Session]
"""Makes the connections to a cluster; raises `ValueError` for certificates that cannot be used."""
