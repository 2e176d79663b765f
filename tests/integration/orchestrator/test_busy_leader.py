"""A daemon whose loop has no time for anything else still renews its Lease."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from gates.upkeep.leadership import LeaseTimings
from localcluster.cluster import LocalCluster
from localcluster.store.ledger import Change
from manager.base.clock import SystemClock
from manager.election.elector import Candidacy, ElectionThread
from tests.integration.orchestrator.world import SYSTEM
from tests.support.clusters import access_to, no_jitter
from workerclient.cluster import ClientContext

RENEWALS = 5
PATIENCE_SECONDS = 60.0


class HubThread:
    """A hub on a thread of its own, which goes on while the test's loop stands still."""

    def __init__(self, directory: Path) -> None:
        self.hub = LocalCluster("hub", directory)
        self.renewed = threading.Event()
        """Set once the Lease was written often enough since `watch`."""
        self._left = RENEWALS
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None

    @contextmanager
    def running(self) -> Iterator["HubThread"]:
        thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        thread.start()
        assert self._started.wait(PATIENCE_SECONDS)
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._over is not None
            self._loop.call_soon_threadsafe(self._over.set)
            thread.join()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with self.hub:
            store = self.hub.store
            store.create(store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
            store.collection(store.kind("leases", "coordination.k8s.io")).listen(self._count)
            self._started.set()
            await self._over.wait()

    def _count(self, _change: Change) -> None:
        self._left -= 1
        if self._left <= 0:
            self.renewed.set()


# The loops of the other two threads end before TLS has said goodbye on every connection.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_lease_is_renewed_while_the_loop_stands_still(tmp_path: Path) -> None:
    with HubThread(tmp_path).running() as served:
        terms = LeaseTimings(lease_seconds=60, renew_seconds=40, retry_seconds=0.05)
        candidacy = Candidacy(access_to(served.hub), ObjectKey(SYSTEM, "turnstile"), "the busy one", terms)
        election = ElectionThread(candidacy, ClientContext(SystemClock(), no_jitter))
        elected = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(election.run(elected.set))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await elected.wait()
            # The loop does nothing else from here on, as if one decision took for ever.
            assert served.renewed.wait(PATIENCE_SECONDS)
            assert election.may_write()
            running.cancel()
