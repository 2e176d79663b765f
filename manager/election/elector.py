"""Runs the election on a thread and an event loop of its own, so that a busy daemon still renews its Lease in time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from gates.upkeep.leadership import LeaseTimings
from manager.base.kinds import LEASES
from manager.election.leadership import Elector, LeadershipLostError
from manager.process.event_loop import log_failure
from workerclient.base.errors import Fenced, Operation
from workerclient.cluster import ClientContext, ClusterClient


@dataclass(frozen=True, slots=True)
class Candidacy:
    """The candidate, its Lease and its hub."""

    access: ClusterAccess
    lease: ObjectKey
    identity: str
    terms: LeaseTimings


class ElectionThread:
    """Implements `Leadership`; `run` once."""

    def __init__(self, candidacy: Candidacy, context: ClientContext) -> None:
        self._candidacy = candidacy
        self._client_context = context
        self._elector: Elector | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def may_write(self) -> bool:
        """Return whether a write may be sent now."""
        return self._elector is not None and self._elector.may_write()

    def why_standby(self) -> str:
        """Return why this instance does not hold the Lease; empty while it does."""
        return "the election has not begun" if self._elector is None else self._elector.why_standby()

    def leader(self) -> str:
        """Return the holder of the Lease, as last seen; empty if that is not known."""
        return self._elector.leader() if self._elector is not None else ""

    async def confirm(self) -> None:
        """Ask the hub itself; raises a `ClusterError` unless this instance holds the Lease."""
        if self._elector is None or self._loop is None:
            operation = Operation("hub", "get", LEASES.resource, str(self._candidacy.lease))
            raise Fenced(operation, "the election has not begun")
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._elector.confirm(), self._loop))

    async def release(self) -> None:
        """Give the Lease up."""
        if self._elector is not None and self._loop is not None:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._elector.release(), self._loop))

    async def reconfigure(self, access: ClusterAccess) -> None:
        """Use another address or identity for the hub from now on; the Lease is kept."""
        self._candidacy = replace(self._candidacy, access=access)
        if self._elector is not None and self._loop is not None:
            change = self._elector.reconfigure(access)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(change, self._loop))

    async def run(self, on_elected: Callable[[], None]) -> None:
        """Acquire the Lease, report it, and hold it until cancelled; raises `LeadershipLostError` when that fails."""
        loop = asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(on_elected)

        with ThreadPoolExecutor(1, "election") as executor:
            thread = loop.run_in_executor(executor, lambda: asyncio.run(self._stand(notify)))
            try:
                await asyncio.shield(thread)
            finally:
                self._is_over = True
                if not thread.done() and self._loop is not None and self._task is not None:
                    self._loop.call_soon_threadsafe(self._task.cancel)
                await asyncio.wait([thread])

    async def _stand(self, on_elected: Callable[[], None]) -> None:
        candidacy, client_context = self._candidacy, self._client_context
        client = ClusterClient("hub", candidacy.access, client_context)
        elector = Elector(
            client,
            candidacy.lease,
            candidacy.identity,
            candidacy.terms,
            client_context.clock,
            client_context.jitter,
            client_context.on_retry,
        )
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(log_failure)
        try:
            async with asyncio.TaskGroup() as group:
                self._task = group.create_task(elector.run(on_elected))
                self._elector = elector
                if self._is_over:
                    self._task.cancel()
        except* LeadershipLostError as lost:
            raise lost.exceptions[0] from None
        finally:
            await client.close()
