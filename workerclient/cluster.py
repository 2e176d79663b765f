"""One cluster, hub or worker, as one object: its connections, caches, budget, breaker, and whether it is there.

Nothing is shared between two clients, so a dead, slow or hanging cluster changes nothing for the others. The way to
the cluster is an immutable transport that is swapped as a whole when the access changes; the caches stay and are
listed anew.
Invariants: connected means that every required kind is being watched; `lost_since_ns` is the first drop (before the
first connection: when this client was made) and is forgotten only when all required kinds are watched again; when
`run` is over, all of its tasks and connections are.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from config.kubeconfig.access import ClusterAccess
from workerclient.backoff import Backoff, Jitter
from workerclient.breaker import Breaker
from workerclient.budget import Budget, BudgetLimits
from workerclient.cache import Cache
from workerclient.clock import Clock
from workerclient.codec import Raw
from workerclient.endpoint import credentials_for, endpoint_for
from workerclient.fencing import always
from workerclient.kind import ApiKind, Key
from workerclient.openapi import openapi_document
from workerclient.preflight import Missing, Need, missing_permissions, served_kinds, served_versions
from workerclient.reflector import KindState, Phase, Reflector, ReflectorLimits
from workerclient.resource import CachedKind, Line, Resource
from workerclient.retry import RetryLimits, RetryPolicy
from workerclient.reviews import Subject, bearer_of, may_use_path
from workerclient.session import Session, SessionLimits
from workerclient.skew import Skew
from workerclient.tokens import ServiceToken, request_token
from workerclient.transport import Transport
from workerclient.version import server_version
from workerclient.watched import WatchedKind

Value = TypeVar("Value")


class Connection(StrEnum):
    """Whether a cluster is there."""

    CONNECTING = "Connecting"
    CONNECTED = "Connected"
    LOST = "Lost"


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What the condition `Active` of a MultiKueueCluster is made of."""

    connection: Connection
    reason: str
    message: str
    lost_since_ns: int | None


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """All limits of one client."""

    session: SessionLimits = field(default_factory=SessionLimits)
    budget: BudgetLimits = field(default_factory=BudgetLimits)
    retry: RetryLimits = field(default_factory=RetryLimits)
    reflector: ReflectorLimits = field(default_factory=ReflectorLimits)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a client takes from outside: time, chance, the environment for exec plugins, and leave to write."""

    clock: Clock
    jitter: Jitter
    plugin_environment: Mapping[str, str] = field(default_factory=dict)
    may_write: Callable[[], bool] = always
    """Asked right before each write is sent."""
    reads_only: bool = False
    """Nothing but GET is ever sent."""


@dataclass(frozen=True, slots=True)
class Followed(Generic[Value]):
    """A kind that is being watched: what is known of it, and the way to write it."""

    cache: Cache[Value]
    resource: Resource[Value]
    reflector: Reflector[Value]


class _Follower(Protocol):
    """A reflector, whatever it keeps."""

    state: KindState

    @property
    def is_required(self) -> bool: ...
    async def run(self) -> None: ...
    def start_anew(self) -> None: ...
    def stop(self, problem: str) -> None: ...


def ignore_connection(_report: ConnectionReport) -> None:
    """Take no interest in whether the cluster is there."""


class ClusterClient:
    """One cluster. To be made inside the running loop; raises `ValueError` for certificates that cannot be used."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        surroundings: Surroundings,
        limits: ClientLimits | None = None,
        on_connection: Callable[[ConnectionReport], None] = ignore_connection,
    ) -> None:
        self.name = name
        self._surroundings = surroundings
        self._limits = limits or ClientLimits()
        self._on_connection = on_connection
        self.budget = Budget(self._limits.budget, surroundings.clock)
        self._line = Line(name, self._transport(access))
        self._retired: list[Transport] = []
        self._followers: list[_Follower] = []
        self._access_changed = asyncio.Event()
        self._lost_since_ns: int | None = surroundings.clock.now_ns()
        self.report = ConnectionReport(Connection.CONNECTING, _FAILED, "not connected yet", self._lost_since_ns)

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        return self._line.transport.session.skew

    def follow(self, watched: WatchedKind[Value]) -> Followed[Value]:
        """Add a kind to watch; before `run`."""
        cached = CachedKind(watched, Cache(watched.indexes))
        clock, jitter = self._surroundings.clock, self._surroundings.jitter
        reflector = Reflector(self._line, cached, clock, jitter, self._limits.reflector, self._look_again)
        self._followers.append(reflector)
        return Followed(cached.cache, Resource(self._line, watched.kind, cached), reflector)

    def resource(self, kind: ApiKind) -> Resource[Raw]:
        """Return the way to read and write a kind that is not watched."""
        return Resource(self._line, kind)

    async def served_kinds(self, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
        """Return for each kind whether the cluster serves it at that version."""
        return await served_kinds(self._line, kinds)

    async def served_versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group that the cluster serves."""
        return await served_versions(self._line, group)

    async def openapi(self, kind: ApiKind) -> Raw:
        """Return the cluster's description of a kind's group version."""
        return await openapi_document(self._line, kind)

    async def version(self) -> str:
        """Return the version of the cluster's API server."""
        return await server_version(self._line)

    async def missing_permissions(self, needs: Iterable[Need]) -> list[Missing]:
        """Return the verbs that the cluster would refuse us."""
        return await missing_permissions(self._line, needs)

    async def bearer_of(self, token: str, audiences: Sequence[str]) -> Subject | None:
        """Return who bears a token made for one of the audiences, for the cluster itself if there are none."""
        return await bearer_of(self._line, token, audiences)

    async def may_use_path(self, subject: Subject, verb: str, path: str) -> bool:
        """Tell whether somebody may use a path that is no resource."""
        return await may_use_path(self._line, subject, verb, path)

    async def request_token(self, account: Key, seconds: int) -> ServiceToken:
        """Return a token of a service account of the cluster."""
        return await request_token(self._line, account, seconds)

    def change_budget(self, limits: BudgetLimits) -> None:
        """Ask more or less of the cluster from now on; connections stay."""
        self.budget.change(limits)

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity; calls on their way end on the old one."""
        successor = self._transport(access)
        self._retired.append(self._line.transport)
        self._line.transport = successor
        self._access_changed.set()

    async def run(self) -> None:
        """Follow all kinds until cancelled; once per client."""
        try:
            while True:
                await self._follow_until_access_changes()
        finally:
            for follower in self._followers:
                follower.stop("the connection was closed")
            for transport in (*self._retired, self._line.transport):
                await transport.close()

    async def close(self) -> None:
        """End the connections of a client that only made calls and was never run."""
        for transport in (*self._retired, self._line.transport):
            await transport.close()

    async def drain(self) -> None:
        """End the connections of earlier accesses after the calls on their way; for a client that is never run."""
        while self._retired:
            await self._retired.pop().close(drain=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["ClusterClient"]:
        """Run during the enclosed block."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.run())
            try:
                yield self
            finally:
                task.cancel()

    async def _follow_until_access_changes(self) -> None:
        async with asyncio.TaskGroup() as group:
            for retired in self._retired:
                group.create_task(self._drain(retired))
            tasks = [group.create_task(follower.run()) for follower in self._followers]
            await self._access_changed.wait()
            self._access_changed.clear()
            for task in tasks:
                task.cancel()
        for follower in self._followers:
            follower.start_anew()

    async def _drain(self, retired: Transport) -> None:
        await retired.close(drain=True)
        self._retired.remove(retired)

    def _transport(self, access: ClusterAccess) -> Transport:
        clock, jitter = self._surroundings.clock, self._surroundings.jitter
        backoff = Backoff(jitter)
        return Transport(
            session=Session(
                endpoint_for(access),
                clock,
                self._limits.session,
                self._surroundings.may_write,
                reads_only=self._surroundings.reads_only,
            ),
            credentials=credentials_for(access, clock, self._surroundings.plugin_environment),
            budget=self.budget,
            breaker=Breaker(clock, backoff),
            retry=RetryPolicy(clock, backoff, self._limits.retry),
        )

    def _look_again(self) -> None:
        report = self._derive()
        self._lost_since_ns = report.lost_since_ns
        if report != self.report:
            self.report = report
            self._on_connection(report)

    def _derive(self) -> ConnectionReport:
        required = [follower for follower in self._followers if follower.is_required]
        optional = [follower for follower in self._followers if not follower.is_required]
        broken = [follower for follower in required if follower.state.phase in _BROKEN]
        if broken:
            first = min(broken, key=lambda follower: follower.state.lost_since_ns or 0)
            since = self._lost_since_ns or first.state.lost_since_ns
            return ConnectionReport(Connection.LOST, _FAILED, first.state.problem, since)
        if any(follower.state.phase is not Phase.LIVE for follower in required):
            return ConnectionReport(Connection.CONNECTING, _FAILED, "not connected yet", self._lost_since_ns)
        return ConnectionReport(Connection.CONNECTED, _ACTIVE, _connected_message(optional), None)


_ACTIVE = "Active"
_FAILED = "ClientConnectionFailed"
_BROKEN = (Phase.LOST, Phase.NOT_SERVED, Phase.FORBIDDEN)


def _connected_message(optional: list[_Follower]) -> str:
    """Return Kueue's own text, and behind it what is not as it could be."""
    troubles = [follower.state.problem for follower in optional if follower.state.phase in _BROKEN]
    return "; ".join(["Connected", *troubles])
