"""What a reflector is given beside the kind that it follows: limits, and whom to call back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from workerclient.base.backoff import OnRetry
from workerclient.base.kind import ApiKind


@dataclass(frozen=True, slots=True)
class ReflectorLimits:
    """The times and sizes of one reflector."""

    page_size: int = 500
    watch_seconds: int = 300
    """The cluster is asked to end a watch after this, up to twice as long."""
    liveness_seconds: float = 150.0
    """Longer than twice the minute between two bookmarks."""
    relist_seconds: float = 3600.0
    """The next watch that ends after this is followed by a list, in case an event got lost."""
    settled_seconds: float = 1.0
    """A watch that lasts shorter counts as a failure for the pace of the next attempt."""
    absent_kind_seconds: float = 60.0
    """How long to wait before asking again for a kind that is not served or that we may not see."""
    max_event_bytes: int = 4 << 20
    """As much as any other answer with one object in it."""


@dataclass(frozen=True, slots=True)
class ReflectorNotices:
    """The callbacks for one kind."""

    on_state: Callable[[], None]
    on_new_history: Callable[[ApiKind], None]
    confirm_list: Callable[[], Awaitable[None]]
    """Awaited after a list was read and before it counts; raises `ClusterError` if it must not."""
    on_retry: OnRetry
