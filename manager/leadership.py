"""Leave to act, as the daemon asks for it: alone, or as the holder of the hub's Lease.

The holder may write until `renewDeadline` after it sent the last renewal that succeeded; others take over only
`leaseDuration` after they saw that renewal, which is later. So a holder that was stopped in between has lost its leave
before anybody else gets his, whatever the machines' clocks say.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from config.kubeconfig.access import ClusterAccess
from gates.leadership import (
    LEASE_API_VERSION,
    LEASE_KIND,
    Create,
    LeaseRecord,
    Sighting,
    StandBy,
    Terms,
    lease_record,
    lease_spec,
    next_move,
    released_spec,
    sight,
)
from manager.kinds import LEASES
from manager.logs import get_log
from manager.patience import is_outrun
from workerclient.backoff import Jitter
from workerclient.clock import Clock
from workerclient.cluster import ClusterClient
from workerclient.errors import AlreadyExists, ClusterError, Conflict, Fenced, NotFound, Operation
from workerclient.kind import Key
from workerclient.resource import Precondition

_RELEASE_SECONDS: Final = 2.0


class LeadershipLostError(Exception):
    """This instance may no longer act; the message says why."""


class Leadership(Protocol):
    """Whether this instance may act."""

    def may_write(self) -> bool:
        """Tell whether a write may be sent now."""
        ...

    async def confirm(self) -> None:
        """Ask the hub itself; raises a `ClusterError` unless this instance holds the Lease."""
        ...

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Get leave, say so, and keep it until cancelled; raises `LeadershipLostError` when it is lost."""
        ...

    async def release(self) -> None:
        """Give the leave up, so that nobody has to wait for it; the last thing that a holder does."""
        ...

    async def reconfigure(self, access: ClusterAccess) -> None:
        """Reach the hub by another address or identity from now on; the leave is kept."""
        ...


class Alone:
    """The leave of an instance that has no others beside it."""

    def may_write(self) -> bool:
        """Tell whether a write may be sent now: always."""
        return True

    async def confirm(self) -> None:
        """Nobody else could have taken over."""

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Act at once, until cancelled."""
        on_elected()
        await asyncio.Event().wait()

    async def release(self) -> None:
        """There is nobody to leave anything to."""

    async def reconfigure(self, access: ClusterAccess) -> None:
        """The hub is not asked."""


class Elector:
    """Gets and holds the Lease."""

    def __init__(self, client: ClusterClient, key: Key, me: str, terms: Terms, clock: Clock, jitter: Jitter) -> None:
        self._client = client
        self._leases = client.resource(LEASES)
        self._key = key
        self._me = me
        self._terms = terms
        self._clock = clock
        self._jitter = jitter
        self._sighting: Sighting | None = None
        self._until = float("-inf")
        self._leads = False
        self._turn = asyncio.Lock()
        self._is_over = False

    def may_write(self) -> bool:
        """Tell whether a write may be sent now."""
        return self._clock.monotonic() < self._until

    async def confirm(self) -> None:
        """Ask the hub itself; raises a `ClusterError` unless this instance holds the Lease."""
        record = await self._read()
        if record is None or record.holder != self._me or not self.may_write():
            self._until = float("-inf")
            operation = Operation("hub", "get", LEASES.resource, str(self._key))
            raise Fenced(operation, f"the Lease is {_held_by(record)}")

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Get the Lease, say so, and hold it until cancelled; raises `LeadershipLostError` when that fails."""
        while True:
            async with self._turn:
                wait = await self._try()
            if self._is_over:
                await asyncio.Event().wait()  # whoever gave the Lease up does not take it again
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
        """Give the Lease up, so that nobody has to wait for it; the last thing that a holder does."""
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
        except Conflict:  # it is still ours, perhaps, and only looks different
            await self._give_up_as(await self._read())

    async def _give_up_as(self, held: LeaseRecord | None) -> None:
        if held is not None and held.holder == self._me:
            await self._patch(released_spec(held, self._clock.now_ns()), held)

    async def reconfigure(self, access: ClusterAccess) -> None:
        """Reach the hub by another address or identity from now on; the Lease is kept."""
        self._client.reconfigure(access)
        await self._client.drain()

    async def _try(self) -> float:
        """Make one attempt in bounded time, and return in how many seconds to make the next."""
        if self._is_over:
            return 0.0
        try:
            async with self._clock.timeout(self._terms.renew_seconds):
                return await self._attempt()
        except (ClusterError, TimeoutError) as error:
            if isinstance(error, Conflict | AlreadyExists | NotFound):
                self._sighting = None  # it is not what it was: look first, then decide
            if not (isinstance(error, ClusterError) and is_outrun(error)):
                get_log().warning("leadership.unreachable", lease=str(self._key), error=str(error))
            return self._retry_seconds()

    async def _attempt(self) -> float:
        if not self._leads or self._sighting is None:
            self._sighting = sight(self._sighting, await self._read(), self._clock.monotonic())
        move = next_move(self._sighting, self._me, self._clock.monotonic(), self._terms)
        if isinstance(move, StandBy):
            if self._leads:
                self._until = float("-inf")
                raise LeadershipLostError(f'the Lease {self._key} is held by "{move.holder}"')
            return move.seconds
        sent = self._clock.monotonic()
        spec = lease_spec(move, self._me, self._clock.now_ns(), self._terms)
        stored = await self._create(spec) if isinstance(move, Create) else await self._patch(spec, move.record)
        self._sighting = Sighting(lease_record(stored), sent)
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
        return self._terms.retry_seconds * (1.0 + 0.2 * self._jitter())


def _held_by(record: LeaseRecord | None) -> str:
    if record is None:
        return "gone"
    return f'held by "{record.holder}"' if record.holder else "held by nobody"
