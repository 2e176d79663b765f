"""Remembers what was done last, for views that follow the whole fleet; the journal keeps everything."""

from collections import deque
from collections.abc import Iterator
from typing import Final

from config.api.meta import Obj, ObjectKey, format_microtime
from gates.reports.timeline_events import Recorded, TimelineEvent, action_events
from manager.reconcile.reconciliation import ExecutedAction

_KEPT: Final = 200


class RecentDecisions:
    """The last actions that were carried out; older ones make room."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._events: deque[tuple[ObjectKey, TimelineEvent]] = deque(maxlen=kept)

    def note_executed(self, executed: ExecutedAction) -> None:
        """Take an action that was carried out."""
        done = executed.reconciliation
        recorded = Recorded(done.now_ns, done.group, done.decision, done.settings)
        for event in action_events(recorded, executed.action):
            entry = (done.group.workload.key, event)
            if entry not in self._events:  # a forecast is told again when it is verified
                self._events.append(entry)

    def newest(self, namespace: str | None, limit: int) -> list[Obj]:
        """Return what was done last, newest first, in one namespace or in all."""
        found: list[Obj] = []
        for key, event in self._in(namespace):
            if len(found) == limit:
                break
            found.append(_document(key, event))
        return found

    def _in(self, namespace: str | None) -> Iterator[tuple[ObjectKey, TimelineEvent]]:
        for key, event in reversed(self._events):
            if namespace in (None, key.namespace):
                yield key, event


def _document(key: ObjectKey, event: TimelineEvent) -> Obj:
    return {
        "time": format_microtime(event.at_ns),
        "namespace": key.namespace,
        "name": key.name,
        "event": str(event.what),
        "worker": event.cluster,
        "message": event.message,
    }
