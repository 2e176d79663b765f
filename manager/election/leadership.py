"""Permission to act: unconditional for a single instance, or by holding the hub's Lease.

The holder may write until `renewDeadline` after it sent the last renewal that succeeded; others take over only
`leaseDuration` after they saw that renewal, which is later. So a paused holder has lost its permission before
another instance gets it, whatever the machines' clocks say.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from gates.upkeep.leadership import (
    LEASE_API_VERSION,
    LEASE_KIND,
    Create,
    LeaseObservation,
    LeaseRecord,
    LeaseTimings,
    StandBy,
    lease_record,
    lease_spec,
    next_move,
    released_spec,
    sight,
)
from manager.base.kinds import LEASES
from manager.base.retrying import RetriedOperation
from manager.logging.logs import get_log
from manager.queueing.backoff import is_outrun
from workerclient.base.backoff import Backoff, Jitter, OnRetry, ignore_retry, retry_loop
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, ClusterError, Conflict, Fenced, NotFound, Operation
from workerclient.cluster import ClusterClient
from workerclient.objects.resource import Precondition

_RELEASE_SECONDS: Final = 2.0
_MOST_OF_PERIOD: Final = 1.2
"""How much of `retryPeriod` passes between two tries at most, so that several instances do not try in step."""


class LeadershipLostError(Exception):
    """This instance may no longer act; the message says why."""


class Leadership(Protocol):
    """Whether this instance may act."""

    def may_write(self) -> bool:
        """Return whether a write may be sent now."""
        ...

    def why_standby(self) -> str:
        """Return why this instance may not act; empty while it may."""
        ...

    def leader(self) -> str:
        """Return the identity of the instance that holds the Lease, as last seen; empty if that is not known."""
        ...

    async def confirm(self) -> None:
        """Ask the hub itself; raises a `ClusterError` unless this instance holds the Lease."""
        ...

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Acquire leadership, report it, and keep it until cancelled; raises `LeadershipLostError` when it is lost."""
        ...

    async def release(self) -> None:
        """Release leadership, so that no other instance waits for it to expire; the last action of a leader."""
        ...

    async def reconfigure(self, access: ClusterAccess) -> None:
        """Use another address or identity for the hub from now on; leadership is kept."""
        ...


class NoElection:
    """Leadership of the only instance."""

    def may_write(self) -> bool:
        """Return whether a write may be sent now: always."""
        return True

    def why_standby(self) -> str:
        """Return why this instance may not act: it always may."""
        return ""

    def leader(self) -> str:
        """Return an empty text: there is no Lease."""
        return ""

    async def confirm(self) -> None:
        """Do nothing: no other instance can take over."""

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Act at once, until cancelled."""
        on_elected()
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: no other instance waits."""

    async def reconfigure(self, access: ClusterAccess) -> None:
        """The hub is not asked."""


class Elector:
    """Acquires and holds the Lease."""

    def __init__(
        self,
        client: ClusterClient,
        key: ObjectKey,
        me: str,
        terms: LeaseTimings,
        clock: Clock,
        jitter: Jitter,
        on_retry: OnRetry = ignore_retry,
    ) -> None:
        self._client = client
        self._leases = client.resource(LEASES)
        self._key = key
        self._me = me
        self._terms = terms
        self._clock = clock
        self._jitter = jitter
        # The waits do not grow: the configuration promises a try in each period, and `renewDeadline` counts on it.
        longest = _MOST_OF_PERIOD * terms.retry_seconds
        self._until_answered = retry_loop(
            RetriedOperation.ELECTION,
            clock.sleep,
            Backoff(jitter, longest, longest, least=1.0 / _MOST_OF_PERIOD),
            lambda error: isinstance(error, ClusterError | TimeoutError),
            is_over=lambda: self._is_over or (self._leads and not self.may_write()),
            on_retry=on_retry,
            subject=str(key),
        )
        self._sighting: LeaseObservation | None = None
        self._until = float("-inf")
        self._leads = False
        self._turn = asyncio.Lock()
        self._is_over = False
        self._failure = ""
        """Why the last attempt failed."""
        self._known_holder = ""

    def may_write(self) -> bool:
        """Return whether a write may be sent now."""
        return self._clock.monotonic() < self._until

    def why_standby(self) -> str:
        """Return why this instance does not hold the Lease; empty while it does."""
        if self.may_write():
            return ""
        record = self._sighting.record if self._sighting is not None else None
        return self._failure or f"the Lease {self._key} is {_held_by(record)}"

    def leader(self) -> str:
        """Return the holder of the Lease, as last seen; empty if that is not known."""
        record = self._sighting.record if self._sighting is not None else None
        return record.holder if record is not None else ""

    async def confirm(self) -> None:
        """Ask the hub itself; raises a `ClusterError` unless this instance holds the Lease."""
        record = await self._read()
        if record is None or record.holder != self._me or not self.may_write():
            self._until = float("-inf")
            operation = Operation("hub", "get", LEASES.resource, str(self._key))
            raise Fenced(operation, f"the Lease is {_held_by(record)}")

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Acquire the Lease, report it, and hold it until cancelled; raises `LeadershipLostError` when that fails."""
        while True:
            try:
                wait: float = await self._until_answered(self._try)
            except (ClusterError, TimeoutError):
                wait = 0.0  # it is over
            if self._is_over:
                await asyncio.Event().wait()  # an instance that released the Lease does not acquire it again
            if self._leads and not self.may_write():
                raise LeadershipLostError(
                    f"the Lease {self._key} was not renewed within {self._terms.renew_seconds:g} s"
                )
            if not self._leads and self.may_write():
                self._leads = True
                get_log().info("leadership.gained", lease=str(self._key), identity=self._me)
                on_elected()
            await self._clock.sleep(wait)

    async def release(self) -> None:
        """Release the Lease, so that no other instance waits for it to expire; the last action of a holder."""
        if not self.may_write():
            return
        self._is_over = True
        try:
            # A renewal on its way would change what is to be given up, so it ends first.
            async with self._clock.timeout(_RELEASE_SECONDS), self._turn:
                await self._give_up()
        except (ClusterError, TimeoutError) as error:
            get_log().warning("leadership.unreleased", lease=str(self._key), error=str(error))
        else:
            get_log().info("leadership.released", lease=str(self._key))
        finally:
            self._until = float("-inf")

    async def _give_up(self) -> None:
        known = self._sighting.record if self._sighting is not None else None
        try:
            await self._give_up_as(known if known is not None else await self._read())
        except Conflict:  # it may still be held by this instance
            await self._give_up_as(await self._read())

    async def _give_up_as(self, held: LeaseRecord | None) -> None:
        if held is not None and held.holder == self._me:
            await self._patch(released_spec(held, self._clock.now_ns()), held)

    async def reconfigure(self, access: ClusterAccess) -> None:
        """Use another address or identity for the hub from now on; the Lease is kept."""
        self._client.reconfigure(access)
        await self._client.drain()

    async def _try(self) -> float:
        """Make one attempt in bounded time, and return in how many seconds to make the next."""
        try:
            async with self._turn:
                if self._is_over:
                    return 0.0
                async with self._clock.timeout(self._terms.renew_seconds):
                    wait = await self._attempt()
                self._failure = ""
                return wait
        except (ClusterError, TimeoutError) as error:
            self._failure = str(error) or "no answer in time"
            if isinstance(error, Conflict | AlreadyExists | NotFound):
                self._sighting = None  # it changed: read it first, then decide
            if not (isinstance(error, ClusterError) and is_outrun(error)):
                get_log().warning("leadership.unreachable", lease=str(self._key), error=str(error))
            raise

    async def _attempt(self) -> float:
        if not self._leads or self._sighting is None:
            self._sighting = sight(self._sighting, await self._read(), self._clock.monotonic())
        move = next_move(self._sighting, self._me, self._clock.monotonic(), self._terms)
        if isinstance(move, StandBy):
            if self._leads:
                self._until = float("-inf")
                raise LeadershipLostError(f'the Lease {self._key} is held by "{move.holder}"')
            if move.holder != self._known_holder:
                self._known_holder = move.holder
                get_log().info("leadership.standby", lease=str(self._key), holder=move.holder)
            return move.seconds
        sent = self._clock.monotonic()
        spec = lease_spec(move, self._me, self._clock.now_ns(), self._terms)
        stored = await self._create(spec) if isinstance(move, Create) else await self._patch(spec, move.record)
        self._sighting = LeaseObservation(lease_record(stored), sent)
        self._until = sent + self._terms.renew_seconds
        return self._retry_seconds()

    async def _read(self) -> LeaseRecord | None:
        try:
            return lease_record(await self._leases.get(self._key))
        except NotFound:
            return None

    async def _create(self, spec: dict[str, object]) -> dict[str, object]:
        metadata = {"namespace": self._key.namespace, "name": self._key.name}
        lease = {"apiVersion": LEASE_API_VERSION, "kind": LEASE_KIND, "metadata": metadata, "spec": spec}
        return await self._leases.create(lease)

    async def _patch(self, spec: dict[str, object], record: LeaseRecord) -> dict[str, object]:
        fence = Precondition(record.uid, record.resource_version)
        return await self._leases.merge_patch(self._key, {"spec": spec}, fence)

    def _retry_seconds(self) -> float:
        """Spread the tries of several instances over time."""
        return self._terms.retry_seconds * (1.0 + (_MOST_OF_PERIOD - 1.0) * self._jitter())


def _held_by(record: LeaseRecord | None) -> str:
    if record is None:
        return "gone"
    return f'held by "{record.holder}"' if record.holder else "not held"
