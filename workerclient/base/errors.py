"""Everything that can go wrong while talking to a cluster, named by what the caller should do about it.

    ClusterError
    ├── Retryable            the same request may succeed later
    │   ├── Throttled        429, or our own budget is used up; `retry_after` says when
    │   ├── Unavailable      no connection, or the server answered 5xx
    │   │   ├── InternalFailure  500 with a Status: the server works, something behind it (a webhook) does not
    │   │   └── CircuitOpen  not even tried: recent requests failed and the next probe is not due
    │   └── TimedOut         no answer in time
    ├── Conflict             the precondition no longer holds: read again, decide again
    ├── AlreadyExists        an object of that name exists: check whose it is
    ├── NotFound             the server says that this very object (or its namespace) does not exist
    ├── NotServed            the path does not exist: this kind is not installed there; says nothing about objects
    ├── Expired              410: list again
    ├── Refused              no retry helps until `remedy` is applied
    │   ├── Unauthenticated  401
    │   ├── Forbidden        403 because a role is missing
    │   ├── Denied           403 because an admission rule (webhook, quota, namespace being deleted) says no
    │   ├── Invalid          400, 413, 422 and the other 4xx
    │   └── NotKept          200, but what was written is not in the object that came back
    ├── Fenced               not sent: this instance may not write (any more)
    └── ProtocolViolation    the answer is not what a Kubernetes API server sends
        └── TooLarge         it may be, but it exceeds the size limit
            └── Overfull     all answers together are

Messages from a server are cut and their control characters escaped. Credentials never get into an error: a
request's headers are not part of it, and the session removes its own token from whatever a server may echo.
"""

# ruff: noqa: N818 - the names say what the caller should do; "Error" after each would say nothing more

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from config.types.syntax import printable

MAX_MESSAGE: Final = 1024
_CUT_MARK: Final = " ..."


@dataclass(frozen=True, slots=True)
class Operation:
    """Which cluster was asked for what; the beginning of every error message."""

    cluster: str
    verb: str
    resource: str
    target: str = ""

    def __str__(self) -> str:
        asked = f"{self.verb} {self.resource}"
        return f"cluster {self.cluster}: {asked} {self.target}" if self.target else f"cluster {self.cluster}: {asked}"


class ClusterError(Exception):
    """A request did not do what was asked."""

    def __init__(self, operation: Operation, message: str, *, reason: str = "") -> None:
        self.operation = operation
        self.message = excerpt(message)
        self.reason = reason
        """The machine-readable reason of the server's Status, if it sent one."""
        self.may_have_been_executed = False
        """Whether the server may have carried out the request, or an earlier try of it, without our knowing."""
        super().__init__(f"{operation}: {self.message}")


class Retryable(ClusterError):
    """The same request may succeed later."""

    def __init__(
        self,
        operation: Operation,
        message: str,
        *,
        reason: str = "",
        retry_after: float | None = None,
        executed: bool = False,
    ) -> None:
        super().__init__(operation, message, reason=reason)
        self.retry_after = retry_after
        """Seconds that the server asked us to wait."""
        self.may_have_been_executed = executed


class Throttled(Retryable):
    """The server, or our own budget for it, asks to wait; nothing was carried out."""


class Unavailable(Retryable):
    """The server cannot be reached or fails."""


class InternalFailure(Unavailable):
    """The server works but something behind it failed, such as a webhook: the cluster is not lost."""


class CircuitOpen(Unavailable):
    """The request was not sent, because recent ones failed and the next probe is not due."""


class TimedOut(Retryable):
    """No answer in time; whether the request was carried out is unknown."""


class Conflict(ClusterError):
    """The object changed since it was read; read it again and decide again."""


class AlreadyExists(ClusterError):
    """An object of that name exists already."""


class NotFound(ClusterError):
    """The object, or for a create its namespace, does not exist."""

    def __init__(self, operation: Operation, message: str, *, reason: str = "", kind: str = "", name: str = "") -> None:
        super().__init__(operation, message, reason=reason)
        self.kind = kind
        """What is missing, as a plural in lower case: `workloads`, `namespaces`."""
        self.name = name


class NotServed(ClusterError):
    """The kind is not installed on that cluster."""


class Expired(ClusterError):
    """The version asked for is too old to be served; list again."""


class Refused(ClusterError):
    """No retry helps until the remedy is applied."""

    def __init__(self, operation: Operation, message: str, *, remedy: str, reason: str = "") -> None:
        super().__init__(operation, message, reason=reason)
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.remedy})"


class Unauthenticated(Refused):
    """The credentials are not accepted."""


class Forbidden(Refused):
    """The user of the kubeconfig may not do this."""


class Denied(Refused):
    """The user may do this, but an admission rule of the cluster rejects this object."""


class Invalid(Refused):
    """The server does not accept the request as it is."""


class NotKept(Refused):
    """The server accepted the write, but the object does not contain it."""

    def __init__(self, operation: Operation, what: str) -> None:
        remedy = "a webhook or an older CustomResourceDefinition there removes it"
        super().__init__(operation, f"{what} was written but is missing from the stored object", remedy=remedy)


class Fenced(ClusterError):
    """Nothing was sent, because this instance may not write."""


class TooLate(ClusterError):
    """Nothing was sent, because it is too late for the request to be useful."""


class ProtocolViolation(ClusterError):
    """The answer is not what a Kubernetes API server sends."""


class TooLarge(ProtocolViolation):
    """The answer is bigger than the limit for it."""


class Overfull(TooLarge):
    """The cluster returns more than the limit for all its objects in total."""


@dataclass(frozen=True, slots=True)
class Status:
    """The parts of a Kubernetes `Status` object that errors are made of."""

    message: str = ""
    reason: str = ""
    kind: str = ""
    name: str = ""
    retry_after: float | None = None
    fields: frozenset[str] = frozenset()
    """The fields that the causes name."""


def error_for(
    operation: Operation, code: int, status: Status | None, retry_after: float | None = None, message: str = ""
) -> ClusterError:
    """Return the error for an HTTP response; `status` is None if the body was not a Status object."""
    known = status or Status()
    message = message or known.message or f"HTTP {code}"
    if code == 404:
        return _missing(operation, message, status)
    if code == 422 and "metadata.uid" in known.fields:
        # A patch that carries the uid of another incarnation is refused as an attempt to change an immutable field.
        return Conflict(operation, message, reason=known.reason)
    if code == 409:
        conflict = AlreadyExists if known.reason == "AlreadyExists" else Conflict
        return conflict(operation, message, reason=known.reason)
    if code == 410:
        return Expired(operation, message, reason=known.reason)
    if code in (408, 429) or 500 <= code < 600:
        wait = retry_after if retry_after is not None else known.retry_after
        trouble = _trouble(code, status)
        executed = trouble is not Throttled
        return trouble(operation, message, reason=known.reason, retry_after=wait, executed=executed)
    if 400 <= code < 500:
        return _refusal(operation, code, message, known.reason)
    return ProtocolViolation(operation, f"HTTP {code} is not a valid response from a Kubernetes API server: {message}")


def excerpt(text: str, limit: int = MAX_MESSAGE) -> str:
    """Return foreign text cut to size and made printable."""
    return printable(text if len(text) <= limit else text[: limit - len(_CUT_MARK)] + _CUT_MARK)


def _missing(operation: Operation, message: str, status: Status | None) -> ClusterError:
    # Only a Status that names an object proves its absence; a bare 404 may come from a missing CRD or a proxy.
    if status is None:
        return NotServed(operation, "the cluster does not serve this kind")
    if not status.name:
        return NotServed(operation, message, reason=status.reason)
    return NotFound(operation, message, reason=status.reason, kind=status.kind, name=status.name)


def _trouble(code: int, status: Status | None) -> type[Retryable]:
    if code == 429:
        return Throttled
    if code == 408 or (code == 504 and status is not None and status.reason == "Timeout"):
        return TimedOut
    return InternalFailure if code == 500 and status is not None else Unavailable


def _refusal(operation: Operation, code: int, message: str, reason: str) -> Refused:
    if code == 401:
        return Unauthenticated(
            operation, message, reason=reason, remedy=f"renew the credentials of cluster {operation.cluster}"
        )
    if code == 403 and not _RBAC_SENTENCE.search(message):
        return Denied(operation, message, reason=reason, remedy="see the rule that the message names")
    if code == 403:
        remedy = f'grant the verb "{operation.verb}" on {operation.resource} in cluster {operation.cluster}'
        return Forbidden(operation, message, reason=reason, remedy=remedy)
    remedy = _REMEDIES.get(code, "check that both clusters run compatible versions")
    return Invalid(operation, message, reason=reason, remedy=remedy)


_RBAC_SENTENCE: Final = re.compile(r'User "[^"]*" cannot \S+ (resource|path) ')
"""Authorization and admission share the code and the reason; only the sentence tells them apart."""

_REMEDIES: Final[Mapping[int, str]] = {
    413: "make the object smaller",
    422: "change the fields that the message names",
}
