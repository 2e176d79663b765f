"""What happened in a store since it was last read, and which keys are to be reconciled again.

A store calls back in the middle of a write, perhaps one of our own. So a change is only noted there, and taken up when
the writer is done.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from config.api.meta import Obj, ObjectKey
from localcluster.kinds.kinds import ServedKind
from localcluster.store.ledger import Change, ChangeType
from localcluster.store.store import Store


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One change of one object."""

    kind: str
    key: ObjectKey
    old: Obj | None
    new: Obj | None
    """None when the object is gone."""

    @property
    def respecifies(self) -> bool:
        """Return whether more than the status changed."""
        if self.old is None or self.new is None:
            return True
        old, new = self.old["metadata"], self.new["metadata"]
        return self.old.get("spec") != self.new.get("spec") or old.get("deletionTimestamp") != new.get(
            "deletionTimestamp"
        )


class ChangeCollector:
    """Collects the changes of some kinds of a store."""

    def __init__(self, store: Store, kinds: Iterable[ServedKind], on_change: Callable[[], None]) -> None:
        self._pending: deque[ObjectChange] = deque()
        self._on_change = on_change
        self._unsubscribe: Final = [store.subscribe(kind, self._listener(kind)) for kind in kinds]

    def drain(self) -> Iterator[ObjectChange]:
        """Yield what happened, in order."""
        while self._pending:
            yield self._pending.popleft()

    def stop(self) -> None:
        """Hear no more."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()

    def _listener(self, kind: ServedKind) -> Callable[[Change], None]:
        def note(change: Change) -> None:
            new = None if change.type is ChangeType.DELETED else change.new.obj
            old = None if change.old is None else change.old.obj
            self._pending.append(ObjectChange(kind.kind, ObjectKey(*change.new.key), old, new))
            self._on_change()

        return note


Item = TypeVar("Item")


class WorkQueue(Generic[Item]):
    """Keys to reconcile: now, or when their time has come. A key that is added twice is reconciled once."""

    def __init__(self) -> None:
        self._now: dict[Item, None] = {}
        self._later: list[tuple[int, int, Item]] = []
        self._pushes = 0

    def add(self, item: Item) -> None:
        """Reconcile it in the next round."""
        self._now[item] = None

    def add_at(self, item: Item, due_ns: int) -> None:
        """Reconcile it at some time; an earlier reconcile does not cancel this one."""
        self._pushes += 1
        heappush(self._later, (due_ns, self._pushes, item))

    def take(self, now_ns: int) -> list[Item]:
        """Hand out what is to be reconciled now."""
        while self._later and self._later[0][0] <= now_ns:
            self._now[heappop(self._later)[-1]] = None
        items = list(self._now)
        self._now.clear()
        return items

    def next_ns(self) -> int | None:
        """Return when the next thing falls due that is not due already."""
        return self._later[0][0] if self._later else None
