"""What this process knows about windows beside the record on the hub, so that a lost record shortens none.

It is the memory of one process; after a restart only the record counts, and `gates.decision.windows` says for how much.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import ObjectKey
from gates.assembly.assembling import WindowFacts
from gates.model.openings import Opening, Steady
from gates.model.settings import SECOND
from gates.wire.annotations import MOST_OPENINGS
from gates.wire.records import HubRecord
from manager.logging.logs import get_log
from workerclient.base.clock import Clock

_Start = tuple[WorkerName, ReplicaUID, int]
"""Cluster, UID of the replica (none if the creation was the opening), start of the window."""


@dataclass(slots=True)
class _Memory:
    uid: str
    openings: tuple[Opening, ...] = ()
    own: set[_Start] = field(default_factory=set)
    """Openings that no other process can have sent, because this one recorded them."""
    effects: dict[_Start, int] = field(default_factory=dict)
    tries: dict[_Start, int] = field(default_factory=dict)


class Windows:
    """The windows of all Workloads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._restarted_ns = 0
        self._memories: dict[ObjectKey, _Memory] = {}

    def restart(self, reason: str) -> None:
        """Let every window that runs begin again, because what the hub says about them may be from an earlier time.

        The caller has all Workloads reconciled afterwards.
        """
        get_log().warning("windows.restarted", reason=reason)
        self._restarted_ns = self.now().at_ns

    def now(self) -> Steady:
        """Read the steady clock."""
        return Steady(self._clock.steady_id, int(self._clock.monotonic() * SECOND))

    def facts(self, hub: HubRecord) -> WindowFacts:
        """Return what is known beside the record of a Workload."""
        memory = self._known(hub)
        return WindowFacts(self.now(), self._restarted_ns, memory.openings if memory is not None else ())

    def remember(self, hub: HubRecord) -> None:
        """Remember what the record of a Workload says, whatever becomes of it."""
        self.saw(hub, hub.openings)

    def saw(self, hub: HubRecord, openings: tuple[Opening, ...]) -> None:
        """Remember openings, also ones that are in no record because none is written between two attempts."""
        if openings:
            memory = self._memory(hub)
            news = (o for o in openings if o not in memory.openings)
            memory.openings = (*memory.openings, *news)[:MOST_OPENINGS]

    def wrote(self, hub: HubRecord, openings: tuple[Opening, ...]) -> None:
        """Take note that the record holds exactly these openings now."""
        memory = self._memory(hub)
        starts = {_start(opening) for opening in openings}
        memory.own = (memory.own & starts) | first_recorded(openings, memory.openings)
        memory.openings = openings
        memory.effects = {start: at for start, at in memory.effects.items() if start in starts}
        memory.tries = {start: at for start, at in memory.tries.items() if start in starts}

    def note_effect(self, hub: HubRecord, cluster: WorkerName, replica_uid: ReplicaUID, opened_ns: int) -> bool:
        """Take note that an opening was seen to have taken effect, and return whether that is news."""
        memory, start = self._known(hub), (cluster, replica_uid, opened_ns)
        if memory is None or start in memory.effects:
            return False
        memory.effects[start] = self.now().at_ns
        return True

    def note_try(
        self, hub: HubRecord, cluster: WorkerName, replica_uid: ReplicaUID, opened_ns: int, *, may_arrive: bool
    ) -> None:
        """Take note that a try at an opening failed, and whether it may have arrived nevertheless."""
        memory, start = self._known(hub), (cluster, replica_uid, opened_ns)
        if memory is None:
            return
        if may_arrive:
            memory.tries[start] = self.now().at_ns
        elif start in memory.own:
            memory.tries.setdefault(start, 0)

    def effect(self, hub: HubRecord, cluster: WorkerName) -> int | None:
        """Return by when the recorded opening on a worker took effect, None while that is not known."""
        memory = self._known(hub)
        return _latest(memory.effects, hub, cluster) if memory is not None else None

    def last_try(self, hub: HubRecord, cluster: WorkerName) -> int | None:
        """Return when the last try at the recorded opening failed that may have arrived; 0 if none can have.

        None if another process may have sent it and nothing is known of that.
        """
        memory = self._known(hub)
        return _latest(memory.tries, hub, cluster) if memory is not None else None

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload that is gone."""
        self._memories.pop(key, None)

    def _known(self, hub: HubRecord) -> _Memory | None:
        memory = self._memories.get(hub.key)
        return memory if memory is not None and memory.uid == hub.uid else None

    def _memory(self, hub: HubRecord) -> _Memory:
        memory = self._known(hub)
        if memory is None:
            memory = self._memories[hub.key] = _Memory(hub.uid)
        return memory


def _start(opening: Opening) -> _Start:
    return (opening.cluster, opening.replica_uid, opening.opened_ns)


def first_recorded(openings: Iterable[Opening], before: Iterable[Opening]) -> set[_Start]:
    """Return the openings of a record that are new in it: a window that only begins again has its gate's old time."""
    known = {_start(opening) for opening in before}
    new = (opening for opening in openings if opening.entry_ns == opening.opened_ns)
    return {_start(opening) for opening in new} - known


def _latest(known: Mapping[_Start, int], hub: HubRecord, cluster: WorkerName) -> int | None:
    starts = (_start(opening) for opening in hub.openings if opening.cluster == cluster)
    return max((known[start] for start in starts if start in known), default=None)
