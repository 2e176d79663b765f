"""Whether a cluster is there, by how the kinds that are followed on it stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from workerclient.objects.kind_state import CachePhase, KindState

CLOSED: Final = "the connection was closed"
"""The message of a connection that was ended on purpose."""
_ACTIVE: Final = "Active"
_FAILED: Final = "ClientConnectionFailed"


class ConnectionState(StrEnum):
    """Whether a cluster is there."""

    CONNECTING = "Connecting"
    CONNECTED = "Connected"
    LOST = "Lost"


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What the condition `Active` of a MultiKueueCluster is made of."""

    connection: ConnectionState
    reason: str
    message: str
    lost_since_ns: int | None
    is_forbidden: bool = False
    """Whether a role is missing for one of the kinds that the message is about."""


class FollowedState(Protocol):
    """A kind that is followed."""

    state: KindState

    @property
    def is_required(self) -> bool: ...


def not_connected_yet(lost_since_ns: int | None) -> ConnectionReport:
    """Return what is said before the first connection."""
    return ConnectionReport(ConnectionState.CONNECTING, _FAILED, "not connected yet", lost_since_ns)


def connection_report(followed: Sequence[FollowedState], failure: str, lost_since_ns: int | None) -> ConnectionReport:
    """Return whether a cluster is there; `failure` is why it counts as lost whatever its watches say."""
    required = [each for each in followed if each.is_required or each.state.is_overfull]
    optional = [each for each in followed if not each.is_required]
    broken = [each for each in required if each.state.is_broken]
    if failure:
        return ConnectionReport(ConnectionState.LOST, _FAILED, failure, lost_since_ns)
    if broken:
        first = min(broken, key=lambda each: each.state.lost_since_ns or 0)
        since = lost_since_ns or first.state.lost_since_ns
        return ConnectionReport(ConnectionState.LOST, _FAILED, first.state.problem, since, _has_forbidden([first]))
    if any(each.state.phase is not CachePhase.LIVE for each in required):
        return not_connected_yet(lost_since_ns)
    message = _connected_message(optional)
    return ConnectionReport(ConnectionState.CONNECTED, _ACTIVE, message, None, _has_forbidden(optional))


def _has_forbidden(followed: Sequence[FollowedState]) -> bool:
    return any(each.state.phase is CachePhase.FORBIDDEN for each in followed)


def _connected_message(optional: Sequence[FollowedState]) -> str:
    """Return Kueue's own text, and behind it what is not as it could be.

    A kind that is not installed is no trouble: few clusters have all kinds of jobs.
    """
    broken = [each.state for each in optional if each.state.is_broken]
    troubles = [state.problem for state in broken if state.phase is not CachePhase.NOT_SERVED]
    return "; ".join(["Connected", *troubles])
