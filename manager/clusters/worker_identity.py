"""Finds out after every connection which cluster a worker is, and checks that it stays that one.

Invariant: `is_known` is True only while the connection leads to the cluster whose identity was read last.
"""

import asyncio
from contextlib import suppress
from typing import Final

from config.api.identifiers import WorkerName
from gates.model.activity import Health
from gates.model.identity import Authorship
from gates.wire.records import ReplicaRecord
from manager.base.kinds import NAMESPACES
from manager.base.retrying import LONGEST_WAIT_SECONDS, RetriedOperation
from manager.clusters.cluster_identity import SYSTEM_NAMESPACE, ClusterIdentities
from manager.logging.logs import get_log
from workerclient.base.backoff import Backoff, Failures
from workerclient.base.errors import Operation, ProtocolViolation
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.objects.cache import Cache
from workerclient.objects.connection_report import ConnectionState

_FIRST_WAIT_SECONDS: Final = 1.0


class WorkerIdentity:
    """The identity of one worker. Without `identities`, as in shadow mode, any cluster is taken for the right one."""

    def __init__(
        self, name: WorkerName, identities: ClusterIdentities | None, context: ClientContext, connected: asyncio.Event
    ) -> None:
        """`connected` is set while there is a connection of which nothing has been learnt."""
        self._name = name
        self._identities = identities
        self._clock = context.clock
        self._on_retry = context.on_retry
        # Without jitter: each worker is asked over its own connection, and a list that arrives waits for the answer.
        self._wait = Backoff(context.jitter, _FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, least=1.0)
        self._connected = connected
        self.is_known = identities is None
        """Whether it was read which cluster this access leads to: nothing is written to an unknown one."""

    @property
    def refusal(self) -> Health | None:
        """Return why the worker must not be used although it can be reached: it is another cluster's name."""
        return self._identities.refusal(self._name) if self._identities is not None else None

    @property
    def authorship(self) -> Authorship:
        """Return which objects here were written by this worker's name."""
        return self._identities.authorship(self._name) if self._identities is not None else Authorship(self._name)

    @property
    def is_withheld(self) -> bool:
        """Return whether the worker does not let its identity be read."""
        return self._identities is not None and self._identities.is_withheld(self._name)

    @property
    def is_read(self) -> bool:
        """Return whether the worker was asked which cluster it is, and answered."""
        return self._identities is not None and self._identities.is_read(self._name)

    def start_again(self) -> None:
        """Take any cluster to be behind the access from now on, until its identity is read again."""
        self.is_known = self._identities is None

    async def identify(self, client: ClusterClient, replicas: Cache[ReplicaRecord]) -> bool:
        """Learn which cluster this is; False if the connection ended meanwhile, so that it may be another one now."""
        failures = Failures(RetriedOperation.WORKER_IDENTITY, self._wait, self._on_retry, self._name)
        while self._identities is not None and not await self._read(self._identities, client, replicas):
            with suppress(TimeoutError):
                async with self._clock.timeout(failures.next_wait()):
                    await self._connected.wait()
            if client.report.connection is not ConnectionState.CONNECTED or self._connected.is_set():
                return False
        self.is_known = client.report.connection is ConnectionState.CONNECTED and not self._connected.is_set()
        return self.is_known

    async def _read(self, identities: ClusterIdentities, client: ClusterClient, replicas: Cache[ReplicaRecord]) -> bool:
        """Read the identity; one that is withheld is told by our own objects, which have to be known then."""
        self._start_marks(identities, replicas)
        if not await identities.read(self._name, client):
            return False
        if not identities.is_withheld(self._name):
            return True
        self._start_marks(identities, replicas)
        identities.review()
        return replicas.synced

    def _start_marks(self, identities: ClusterIdentities, replicas: Cache[ReplicaRecord]) -> None:
        records = (replicas.get(key) for key in replicas) if replicas.synced else ()
        found = [(each.hub, each.cluster) for each in records if isinstance(each, ReplicaRecord)]
        identities.start_marks(self._name, found)

    def note_mark(self, replica: ReplicaRecord) -> None:
        """Take note of whose replica was found on the worker."""
        if self._identities is not None:
            self._identities.note_mark(self._name, replica.hub, replica.cluster)

    async def was_replaced(self, client: ClusterClient) -> bool:
        """Ask again, and return whether another cluster is there than was identified; raises `ClusterError`."""
        if self._identities is None or not self.is_known:
            return False  # it is read which cluster this is before anything is concluded
        if await self._identities.is_same(self._name, client):
            return False
        get_log().warning("worker.cluster_replaced", worker=self._name)
        self._identities.ended(self._name)
        return True


def replaced_error(name: WorkerName) -> ProtocolViolation:
    """Return what to fail with after a worker was replaced."""
    operation = Operation(name, "get", NAMESPACES.resource, SYSTEM_NAMESPACE.name)
    return ProtocolViolation(operation, "the address leads to another cluster than before")
