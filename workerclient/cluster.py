"""One cluster, hub or worker, as one object: its connections, caches, budget, breaker, and whether it is there.

Nothing is shared between two clients, so a dead, slow or hanging cluster changes nothing for the others. The way to
the cluster is an immutable transport that is swapped as a whole when the access changes; the caches stay and are
listed again.
Invariants: connected means that every required kind is being watched; `lost_since_ns` is the first drop (before the
first connection: when this client was made) and is forgotten only when all required kinds are watched again; when
`run` is over, all of its tasks and connections are.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from config.api.meta import Obj
from config.kubeconfig.access import ClusterAccess
from workerclient.base.backoff import Backoff, Jitter, OnRetry, Retry, ignore_retry
from workerclient.base.clock import Clock
from workerclient.base.holdings import HoldingLimits, Holdings, unlimited
from workerclient.base.kind import ApiKind
from workerclient.objects.cache import Cache
from workerclient.objects.connection_report import (
    CLOSED,
    ConnectionReport,
    FollowedState,
    connection_report,
    not_connected_yet,
)
from workerclient.objects.reflector import Reflector
from workerclient.objects.reflector_context import ReflectorLimits, ReflectorNotices
from workerclient.objects.resource import CachedKind, Connection, Resource
from workerclient.objects.watched import WatchedKind
from workerclient.questions.openapi import openapi_document, openapi_hash
from workerclient.questions.preflight import Missing, Need, missing_permissions, served_kinds, served_versions
from workerclient.questions.reviews import ReviewedUser, bearer_of, may_use_path
from workerclient.questions.version import server_version
from workerclient.transport.breaker import Breaker
from workerclient.transport.budget import BudgetLimits, RequestBudget
from workerclient.transport.endpoint import credentials_for, open_http_session
from workerclient.transport.file_threads import ThreadRunner, in_file_thread
from workerclient.transport.retry import RetryLimits, RetryPolicy
from workerclient.transport.session import SessionContext, SessionFactory, SessionLimits, always
from workerclient.transport.transport import Transport
from workerclient.wire.skew import Skew

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """All limits of one client."""

    session: SessionLimits = field(default_factory=SessionLimits)
    budget: BudgetLimits = field(default_factory=BudgetLimits)
    retry: RetryLimits = field(default_factory=RetryLimits)
    reflector: ReflectorLimits = field(default_factory=ReflectorLimits)
    holdings: Callable[[], HoldingLimits | None] = unlimited
    """How much of the cluster is held in memory at most, over all kinds; asked whenever something is added."""


@dataclass(frozen=True, slots=True)
class ClientContext:
    """What a client takes from outside: time, randomness, the environment for exec plugins, and permission to write."""

    clock: Clock
    jitter: Jitter
    plugin_environment: Mapping[str, str] = field(default_factory=dict)
    may_write: Callable[[], bool] = always
    """Asked right before each write is sent."""
    reads_only: bool = False
    """Nothing but GET is ever sent."""
    on_retry: OnRetry = ignore_retry
    """Called for every retry, from several threads."""
    open_session: SessionFactory = open_http_session
    """Makes the connections to a cluster."""
    in_thread: ThreadRunner = in_file_thread
    """Makes calls that read files or parse for long, away from the loop."""


@dataclass(frozen=True, slots=True)
class WatchedResource(Generic[Value]):
    """A kind that is being watched: its cache, and how to write it."""

    cache: Cache[Value]
    resource: Resource[Value]
    reflector: Reflector[Value]


class _Follower(FollowedState, Protocol):
    """A reflector, whatever it keeps."""

    async def run(self) -> None: ...
    def restart(self) -> None: ...
    def doubt(self) -> None: ...
    def stop(self, problem: str) -> None: ...


def ignore_connection(_report: ConnectionReport) -> None:
    """Ignore whether the cluster is reachable."""


def ignore_history(_kind: ApiKind) -> None:
    """Ignore whether the cluster was restored."""


async def believe_lists() -> None:
    """Accept every list."""


class ClusterClient:
    """One cluster. To be made inside the running loop; raises `ValueError` for certificates that cannot be used."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        context: ClientContext,
        limits: ClientLimits | None = None,
        on_connection: Callable[[ConnectionReport], None] = ignore_connection,
        on_new_history: Callable[[ApiKind], None] = ignore_history,
        confirm_list: Callable[[], Awaitable[None]] = believe_lists,
    ) -> None:
        """`on_new_history` is called after a list proved that the cluster was restored to an earlier state.

        `confirm_list` is awaited after a list was read and before it counts; it raises `ClusterError` if it must not.
        """
        self.name = name
        self._confirm_list = confirm_list
        self._on_new_history = on_new_history
        self._client_context = context
        self._limits = limits or ClientLimits()
        self._on_connection = on_connection
        self.budget = RequestBudget(self._limits.budget, context.clock)
        self.retries = 0
        """How many requests were sent again after a failure."""
        self._holdings = Holdings(self._limits.holdings)
        self._access = access
        self._line = Connection(name, self._transport(access))
        self._retired: list[Transport] = []
        self._followers: list[_Follower] = []
        self._access_changed = asyncio.Event()
        self._is_closed = False
        self._failure = ""
        self._lost_since_ns: int | None = context.clock.now_ns()
        self.lost_at = context.clock.monotonic()
        """When it was lost last, on the steady clock."""
        self.report = not_connected_yet(self._lost_since_ns)

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        return self._line.transport.session.skew

    def follow(self, watched: WatchedKind[Value]) -> WatchedResource[Value]:
        """Add a kind to watch; before `run`."""
        cached = CachedKind(watched, Cache(watched.indexes))
        clock, jitter = self._client_context.clock, self._client_context.jitter
        limits, share = self._limits.reflector, self._holdings.share()
        notices = ReflectorNotices(
            self._look_again, self._on_new_history, self._confirm_list, self._client_context.on_retry
        )
        reflector = Reflector(self._line, cached, clock, jitter, limits, share, notices)
        self._followers.append(reflector)
        return WatchedResource(cached.cache, Resource(self._line, watched.kind, cached), reflector)

    def resource(self, kind: ApiKind) -> Resource[Obj]:
        """Return the way to read and write a kind that is not watched."""
        return Resource(self._line, kind)

    async def served_kinds(self, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
        """Return for each kind whether the cluster serves it at that version."""
        return await served_kinds(self._line, kinds)

    async def served_versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group that the cluster serves."""
        return await served_versions(self._line, group)

    async def openapi(self, kind: ApiKind) -> Obj:
        """Return the cluster's description of a kind's group version."""
        return await openapi_document(self._line, kind)

    async def openapi_hash(self, kind: ApiKind) -> str:
        """Return what changes whenever that description does."""
        return await openapi_hash(self._line, kind)

    async def version(self) -> str:
        """Return the version of the cluster's API server."""
        return await server_version(self._line)

    async def missing_permissions(self, needs: Iterable[Need]) -> list[Missing]:
        """Return the verbs that the cluster would refuse us."""
        return await missing_permissions(self._line, needs)

    async def bearer_of(self, token: str, audiences: Sequence[str]) -> ReviewedUser | None:
        """Return who bears a token made for one of the audiences, for the cluster itself if there are none."""
        return await bearer_of(self._line, token, audiences)

    async def may_use_path(self, subject: ReviewedUser, verb: str, path: str) -> bool:
        """Return whether a user may use a non-resource path."""
        return await may_use_path(self._line, subject, verb, path)

    def change_budget(self, limits: BudgetLimits) -> None:
        """Ask more or less of the cluster from now on; connections stay."""
        self.budget.change(limits)

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity; calls in flight end on the old one."""
        successor = self._transport(access)
        self._access = access
        self._retired.append(self._line.transport)
        self._line.transport = successor
        for follower in self._followers:
            follower.doubt()
        self._access_changed.set()

    async def run(self) -> None:
        """Follow all kinds until cancelled; after a failure it may be run again, and lists everything again."""
        await self._reopen()
        try:
            while True:
                await self._follow_until_access_changes()
        finally:
            self._is_closed = True
            for follower in self._followers:
                follower.stop(CLOSED)
            for transport in (*self._retired, self._line.transport):
                await transport.close()

    def fail(self, problem: str) -> None:
        """Count the cluster as lost whatever its watches say, from when it was lost first until `recover`."""
        self._failure = problem
        self._lost_since_ns = self._lost_since_ns or self._client_context.clock.now_ns()
        self._look_again()

    def recover(self) -> None:
        """Believe the watches again."""
        self._failure = ""
        self._look_again()

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
            follower.restart()

    async def _reopen(self) -> None:
        """Make connections again after those of an earlier run were closed."""
        if not self._is_closed:
            return
        await self.close()  # the access may have changed since
        self._is_closed = False
        self._retired.clear()
        self._access_changed.clear()
        self._line.transport = self._transport(self._access)
        for follower in self._followers:
            follower.restart()

    async def _drain(self, retired: Transport) -> None:
        await retired.close(drain=True)
        self._retired.remove(retired)

    def _transport(self, access: ClusterAccess) -> Transport:
        context = self._client_context
        clock, backoff = context.clock, Backoff(context.jitter)
        session = SessionContext(clock, self._limits.session, context.may_write, context.reads_only)
        return Transport(
            session=context.open_session(access, session),
            credentials=credentials_for(access, clock, context.plugin_environment),
            budget=self.budget,
            breaker=Breaker(clock, backoff),
            retry=RetryPolicy(clock, backoff, self._limits.retry, self._note_retry),
        )

    def _note_retry(self, retry: Retry) -> None:
        self.retries += 1
        self._client_context.on_retry(retry)

    def _look_again(self) -> None:
        report = connection_report(self._followers, self._failure, self._lost_since_ns)
        if self._lost_since_ns is None and report.lost_since_ns is not None:
            self.lost_at = min(each.state.lost_at for each in self._followers if each.state.is_broken)
        self._lost_since_ns = report.lost_since_ns
        if report != self.report:
            self.report = report
            self._on_connection(report)
