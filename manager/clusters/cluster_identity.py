"""Which cluster is behind each worker's name: read after every connection, and remembered on the hub over restarts.

`gates.model.identity` decides what follows. Nothing is concluded from a worker before it was read which cluster it is.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from config.api.identifiers import ClusterUID, WorkerName
from config.api.meta import Obj, ObjectKey
from gates.model.activity import Health
from gates.model.identity import (
    DUPLICATE,
    UNIDENTIFIED,
    WITHHELD,
    Authorship,
    KnownCluster,
    Names,
    WorkerClaim,
    resolve,
)
from gates.wire.records import HubRecord
from manager.base.kinds import NAMESPACES
from manager.base.retrying import RetriedOperation, until_answered
from manager.clusters.hub import HubLink
from manager.clusters.hub_store import HubStore
from manager.clusters.lost_workers import LostWorkers
from manager.logging.logs import get_log
from workerclient.base.errors import ClusterError, Conflict, Forbidden, NotFound, Operation, ProtocolViolation, Refused
from workerclient.cluster import ClientContext, ClusterClient

NAME: Final = "turnstile-worker-clusters"
SYSTEM_NAMESPACE: Final = ObjectKey("", "kube-system")
"""Its UID identifies a cluster."""
_SETTLING_SECONDS: Final = 5.0
"""Workers that connect within this are recorded together, so that their order does not depend on chance."""
_FIRST_READ_WAIT_SECONDS: Final = 2.0
_MOST_DIGITS: Final = 19
_MOST_MARKS: Final = 1000
"""Of how many names of one worker it is remembered that they wrote there: a cluster may show any number."""


async def cluster_uid(client: ClusterClient) -> ClusterUID:
    """Return the identity of a cluster; raises `ClusterError`."""
    return uid_of(client.name, await client.resource(NAMESPACES).get(SYSTEM_NAMESPACE))


def uid_of(cluster: str, namespace: Obj) -> ClusterUID:
    """Return the identity of a cluster from its namespace kube-system; raises `ProtocolViolation`."""
    metadata = namespace.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    if not isinstance(uid, str) or not uid:
        operation = Operation(cluster, "get", NAMESPACES.resource, SYSTEM_NAMESPACE.name)
        raise ProtocolViolation(operation, "expected a namespace with metadata.uid")
    return ClusterUID(uid)


class ClusterIdentities:
    """The clusters of all workers."""

    def __init__(
        self,
        hub: HubLink,
        hub_uid: ClusterUID,
        configured: Callable[[], Mapping[WorkerName, tuple[int, int]]],
        lost_workers: LostWorkers,
        context: ClientContext,
        on_change: Callable[[WorkerName], None],
    ) -> None:
        self._hub = hub
        self._hub_uid = hub_uid
        self._configured = configured
        self._lost_workers = lost_workers
        self._clock = context.clock
        self._until_written = until_answered(context, RetriedOperation.WORKER_CLUSTERS)
        self._until_read = until_answered(
            context, RetriedOperation.WORKER_CLUSTERS, first_seconds=_FIRST_READ_WAIT_SECONDS, unless=Refused
        )
        self._on_change = on_change
        self._store = HubStore(hub, NAME)
        self._readings: dict[WorkerName, ClusterUID] = {}
        self._problems: dict[WorkerName, str] = {}
        self._marks: dict[WorkerName, frozenset[WorkerName]] = {}
        self._known: dict[WorkerName, KnownCluster] = {}
        self._given_up: frozenset[WorkerName] = frozenset()
        self._is_loaded = False
        self._changed = asyncio.Event()
        self.names = Names()
        """What follows from all that is known now."""

    async def load(self) -> None:
        """Read what was known before. A hub that does not answer is waited for: to know nothing would be unsafe."""
        stored = await self._stored()
        known = {WorkerName(name): each for name, text in stored.items() if (each := _parsed(text)) is not None}
        needed = {*self._configured(), *self._mentioned()}
        self._known = {name: each for name, each in known.items() if name in needed}
        self._is_loaded = True
        if self._known != known:
            self._changed.set()
        self.review()

    async def _stored(self) -> dict[str, str]:
        """Return what the hub keeps; nothing where no retry helps."""

        async def read() -> dict[str, str]:
            try:
                return await self._store.read()
            except ClusterError as error:
                get_log().warning("identities.unreadable", error=str(error))
                raise

        try:
            return await self._until_read(read)
        except Refused:
            return {}

    async def read(self, name: WorkerName, client: ClusterClient) -> bool:
        """Find out which cluster is behind a connection, and return whether it answered, be it by a refusal."""
        try:
            uid = await _told_uid(client)
        except ClusterError as error:
            if name not in self._problems:
                get_log().warning("worker.identity_unread", worker=name, error=str(error))
                self._problems[name] = str(error)
                self._on_change(name)
            return False
        is_news = self._problems.pop(name, None) is not None or self._readings.get(name) != uid
        self._readings[name] = uid
        self.review()
        if is_news:
            self._on_change(name)
        return True

    async def is_same(self, name: WorkerName, client: ClusterClient) -> bool:
        """Ask again, and return whether it is still the cluster that was read; raises `ClusterError`.

        A role may be changed while the cluster stays, so a refusal alone says nothing.
        """
        before = self._readings.get(name)
        uid = await _told_uid(client)
        if before is None or before == self._readings.get(name) == uid:
            return True
        if before and uid:
            return False
        self._readings[name] = uid
        self.review()
        self._on_change(name)
        return True

    def start_marks(self, name: WorkerName, found: Iterable[tuple[ClusterUID, WorkerName]]) -> None:
        """Take the hubs and names in the marks of all objects on a worker for all that is known of it."""
        self._marks[name] = frozenset({mark for hub, mark in found if hub == self._hub_uid})

    def note_mark(self, name: WorkerName, hub: ClusterUID, mark: WorkerName) -> None:
        """Take note of the name in the mark of an object on a worker, if it is this hub's."""
        known = self._marks.get(name, frozenset())
        if hub != self._hub_uid or mark in known or len(known) >= _MOST_MARKS:
            return
        self._marks[name] = known | {mark}
        if mark != name and name in self._readings:
            self.review()

    def ended(self, name: WorkerName) -> None:
        """Take note that there is no connection any more."""
        self._readings.pop(name, None)
        self._problems.pop(name, None)
        self._marks.pop(name, None)
        self.review()

    def is_read(self, name: WorkerName) -> bool:
        """Tell whether a worker was asked which cluster it is."""
        return name in self._readings

    def is_withheld(self, name: WorkerName) -> bool:
        """Tell whether a worker does not let its identity be read."""
        return self._readings.get(name) == WITHHELD

    def refusal(self, name: WorkerName) -> Health | None:
        """Return why a worker that is connected must not be used, None if it may be."""
        if problem := self._problems.get(name):
            message = f"it is not known which cluster this is: {problem}"
            return Health(is_active=False, reason=UNIDENTIFIED, message=message)
        if (found := self.names.refused.get(name)) is not None:
            return found
        if name in self.names.aliases:
            message = f'this is the same cluster as "{self.names.current(name)}"'
            return Health(is_active=False, reason=DUPLICATE, message=message)
        return None

    def authorship(self, name: WorkerName) -> Authorship:
        """Return which objects a worker's connection may treat as its own."""
        return self.names.authorship(name)

    def awaits(self, name: WorkerName, listed: Collection[WorkerName]) -> bool:
        """Tell whether one of the listed workers may turn out to be the cluster that this name means."""
        return any(
            self.names.may_turn_out_as(name, each) and not self._lost_workers.is_given_up(each)
            for each in listed
            if each != name
        )

    def review(self) -> None:
        """Decide again, because a worker connected, the configuration changed or time passed."""
        configured, listed = self._configured(), self._hub.listed_clusters()
        moved = [name for name in self._readings if name in configured and self._may_have_moved(name)]
        for name in moved:
            self._lost_workers.note(name)
        given_up = frozenset(name for name in moved if self._lost_workers.is_given_up(name))
        for name in given_up:
            if self.is_withheld(name):
                del self._known[name]  # what it is now is not known, and what it was does not matter any more
                self._changed.set()
        claims = [
            WorkerClaim(name, self._readings.get(name), name in listed, rank, self._marks.get(name, frozenset()))
            for name, rank in configured.items()
        ]
        before, self.names = self.names, resolve(claims, self._known, self._hub_uid, given_up)
        names = self.names
        self._record()
        changed = {
            name
            for name in {*before.refused, *names.refused, *before.aliases, *names.aliases, *names.proven}
            if _standing(before, name) != _standing(names, name)
        }
        for name in sorted({*changed, *(names.current(name) for name in changed)}):
            self._tell(name)
        self._note_given_up(frozenset(name for name in listed if self._lost_workers.is_given_up(name)))

    def _note_given_up(self, names: frozenset[WorkerName]) -> None:
        """Report the listed workers that count as lost from now on: nothing waits any longer for what they are."""
        news, self._given_up = names - self._given_up, names
        for name in sorted(news):
            self._on_change(name)

    async def run(self) -> None:
        """Write down what is known until cancelled."""
        while True:
            await self._changed.wait()
            await self._clock.sleep(_SETTLING_SECONDS)
            await self._until_written(self._write)

    async def _write(self) -> None:
        """Write down what is known now; raises `ClusterError`."""
        self._changed.clear()
        now_ns = self._clock.now_ns()
        wanted = {name: KnownCluster(each.uid, each.since_ns or now_ns) for name, each in self._known.items()}
        try:
            await self._store.write({name: f"{each.uid} {each.since_ns}" for name, each in wanted.items()})
        except ClusterError as error:
            if not isinstance(error, Conflict):
                get_log().warning("identities.unwritten", error=str(error))
            raise
        self._known |= {name: each for name, each in wanted.items() if self._was(name) == each.uid}

    def _record(self) -> None:
        """Remember every name that was found to lead to a cluster; one that changed only once that is believed."""
        if not self._is_loaded:
            return
        for name, uid in self._readings.items():
            believed = name in self.names.proven or self.names.aliases.get(name) in self.names.proven
            if uid and believed and self.names.recorded.get(name) == uid and self._was(name) != uid:
                self._known[name] = KnownCluster(uid)
                self._changed.set()
        for name, current in self.names.aliases.items():
            if not self._was(name) and current in self.names.proven:  # known by marks: the next process need not wait
                self._known[name] = KnownCluster(self.names.proven[current])
                self._changed.set()

    def _may_have_moved(self, name: WorkerName) -> bool:
        """Tell whether a name leads to another cluster than before, for all that is known."""
        uid, was = self._readings[name], self._was(name)
        if uid == WITHHELD:
            return bool(was) and not self._marks.get(name, frozenset()) & {name, ""}
        return was not in ("", uid)

    def _was(self, name: WorkerName) -> ClusterUID:
        known = self._known.get(name)
        return known.uid if known is not None else WITHHELD

    def _tell(self, name: WorkerName) -> None:
        refusal = self.names.refused.get(name)
        if refusal is not None:
            get_log().warning("worker.identity_refused", worker=name, reason=refusal.reason, message=refusal.message)
        self._on_change(name)

    def _mentioned(self) -> set[WorkerName]:
        """Return the workers that Workloads of the hub name."""
        records = (self._hub.workload(key) for key in self._hub.workloads.cache)
        found = [record for record in records if isinstance(record, HubRecord)]
        return {record.cluster_name for record in found} | {each.winner.cluster for each in found if each.winner}


def _standing(names: Names, name: WorkerName) -> tuple[Health | None, WorkerName, ClusterUID | None]:
    return names.refused.get(name), names.current(name), names.proven.get(name)


async def _told_uid(client: ClusterClient) -> ClusterUID:
    """Return the identity of a cluster, `WITHHELD` if it is refused; raises `ClusterError`."""
    try:
        return await cluster_uid(client)
    except (Forbidden, NotFound):
        return WITHHELD


def _parsed(text: str) -> KnownCluster | None:
    """Read an entry that may have been edited; one that is not as written here counts as unknown."""
    uid, _, since = text.partition(" ")
    is_time = since.isascii() and since.isdigit() and len(since) <= _MOST_DIGITS
    return KnownCluster(ClusterUID(uid), int(since)) if uid and is_time else None
