"""What the daemon tries again after a failure, and how it repeats a question to a cluster until that answers."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from workerclient.base.backoff import Backoff, LongestOf, RetryAfter, RetryLoop, retry_loop
from workerclient.base.errors import ClusterError

if TYPE_CHECKING:
    from workerclient.cluster import ClientContext

FIRST_WAIT_SECONDS: Final = 5.0
LONGEST_WAIT_SECONDS: Final = 60.0


class RetriedOperation(StrEnum):
    """An operation that is tried again; few, because they are the values of a metric's label."""

    REQUEST = "request"
    """One request to a cluster, repeated by the client."""
    WATCH = "watch"
    """Listing and watching one kind on one cluster."""
    WORKLOAD = "workload"
    """The reconcile of one Workload."""
    ACTION = "action"
    """The actions for one Workload on one worker."""
    CONDITION = "condition"
    COST = "cost"
    """The cost of one Job."""
    ELECTION = "election"
    LOST_WORKERS = "lost_workers"
    """Writing down since when workers are missing."""
    WORKER_CLUSTERS = "worker_clusters"
    """Reading and writing down which cluster each worker is."""
    WORKER_IDENTITY = "worker_identity"
    """Asking a worker which cluster it is."""
    WORKER_PERMISSIONS = "worker_permissions"
    HUB_PERMISSIONS = "hub_permissions"
    VERSION = "version"
    """Asking a worker for its version, which the rules of its scheduler follow from."""
    JOURNAL = "journal"


def until_answered(
    context: "ClientContext",
    operation: RetriedOperation,
    *,
    first_seconds: float = FIRST_WAIT_SECONDS,
    unless: type[ClusterError] | tuple[type[ClusterError], ...] = (),
    sleep: Callable[[float], Awaitable[None]] | None = None,
    subject: str = "",
) -> RetryLoop:
    """Return what repeats a request after every `ClusterError`, except those of `unless`, which are raised."""
    growing = Backoff(context.jitter, first_seconds, LONGEST_WAIT_SECONDS, least=0.5)
    return retry_loop(
        operation,
        sleep or context.clock.sleep,
        LongestOf(RetryAfter(LONGEST_WAIT_SECONDS), growing),
        lambda error: isinstance(error, ClusterError) and not isinstance(error, unless),
        on_retry=context.on_retry,
        subject=subject,
    )
