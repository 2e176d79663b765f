"""Every loop that repeats a question to a cluster waits longer each time, tells each retry, and ends with an answer."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from config.api.identifiers import ClusterUID
from config.api.meta import ObjectKey
from config.names import CONFIG_API_VERSION, CONFIG_KIND
from config.sections.settings import Configuration
from gates.upkeep.leadership import LeaseTimings
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import Fault, ServerError
from manager.base.retrying import RetriedOperation
from manager.clusters.cluster_identity import ClusterIdentities
from manager.clusters.hub import HubLink, HubNotices
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.permissions import needs_on_hub
from manager.election.leadership import Elector
from manager.models.pod_observation import PodObservation
from manager.upkeep.hub_permissions import HubPermissions
from tests.support.clusters import access_to
from tests.support.virtual_time import VirtualClock
from tests.support.worker_names import W1, W2
from workerclient.base.backoff import Retry
from workerclient.cluster import ClientContext, ClusterClient

SYSTEM = "turnstile-system"
GROWING = [5.0, 10.0, 20.0, 40.0, 60.0]

CONFIGURATION = Configuration(api_version=CONFIG_API_VERSION, kind=CONFIG_KIND)


def certain() -> float:
    return 1.0


def ignore(*_: object) -> None:
    """Take no interest in a change."""


@dataclass
class Setup:
    """A hub that fails on purpose, and what is told of the attempts."""

    hub: LocalCluster
    clock: VirtualClock = field(default_factory=VirtualClock)
    told: list[Retry] = field(default_factory=list)

    @property
    def context(self) -> ClientContext:
        return ClientContext(self.clock, certain, on_retry=self.told.append)

    def link(self) -> HubLink:
        notices = HubNotices(ignore, ignore, ignore, ignore, ignore, lambda: None, ignore)
        return HubLink(access_to(self.hub), self.context, SYSTEM, "turnstile", (), notices)

    def waits(self, operation: RetriedOperation) -> list[float]:
        return [retry.seconds for retry in self.told if retry.operation == operation]

    @asynccontextmanager
    async def running(self, work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(work)
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def pass_until(self, condition: object) -> None:
        assert callable(condition)
        async with asyncio.timeout(60):
            while not condition():
                await self.clock.advance(0.25)
                await asyncio.sleep(0.001)

    async def outage(self, fault: Fault, operation: RetriedOperation, retries: int) -> None:
        """Let that many attempts fail, and then no more."""
        await self.pass_until(lambda: len(self.waits(operation)) >= retries)
        self.hub.faults.remove(fault)


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        yield Setup(hub)


def data_of(hub: LocalCluster, name: str) -> dict[str, str]:
    found = hub.store.list(hub.store.kind("configmaps"), SYSTEM)
    return {key: value for each in found if each["metadata"]["name"] == name for key, value in each["data"].items()}


async def test_the_times_of_loss(setup: Setup) -> None:
    link = setup.link()
    lost_workers = LostWorkers(link, setup.context, CONFIGURATION)
    lost_workers.note(W1)
    fault = setup.hub.faults.add(ServerError(), plural="configmaps")
    async with setup.running(lost_workers.run()):
        await setup.outage(fault, RetriedOperation.LOST_WORKERS, 5)
        lost_workers.note(W2)
        await setup.pass_until(lambda: "w2" in data_of(setup.hub, "turnstile-missing-workers"))
    await link.client.close()
    assert setup.waits(RetriedOperation.LOST_WORKERS) == GROWING, "what is written is what is known by then"
    assert "w1" in data_of(setup.hub, "turnstile-missing-workers")


async def test_the_clusters_of_workers(setup: Setup) -> None:
    link = setup.link()
    lost_workers = LostWorkers(link, setup.context, CONFIGURATION)
    identities = ClusterIdentities(
        link, ClusterUID("hub-uid"), lambda: {W1: (0, 0)}, lost_workers, setup.context, ignore
    )
    fault = setup.hub.faults.add(ServerError(), plural="configmaps")
    async with setup.running(identities.load()) as loading:
        await setup.outage(fault, RetriedOperation.WORKER_CLUSTERS, 4)
        await setup.pass_until(loading.done)
        loading.result()
    assert setup.waits(RetriedOperation.WORKER_CLUSTERS) == [2.0, 4.0, 8.0, 16.0]
    setup.told.clear()
    fault = setup.hub.faults.add(ServerError(), plural="configmaps")
    worker = ClusterClient("w1", access_to(setup.hub), setup.context)
    async with setup.running(identities.run()):
        await identities.read(W1, worker)
        await setup.outage(fault, RetriedOperation.WORKER_CLUSTERS, 3)
        await setup.pass_until(lambda: "w1" in data_of(setup.hub, "turnstile-worker-clusters"))
    await worker.close()
    await link.client.close()
    assert setup.waits(RetriedOperation.WORKER_CLUSTERS) == GROWING[:3]


async def test_permissions_on_the_hub(setup: Setup) -> None:
    client = ClusterClient("hub", access_to(setup.hub), setup.context)
    permissions = HubPermissions(client, needs_on_hub((), SYSTEM), setup.context)
    connected = asyncio.Event()
    connected.set()
    fault = setup.hub.faults.add(ServerError(), path="/apis/authorization.k8s.io")
    async with setup.running(permissions.run(connected)):
        await setup.outage(fault, RetriedOperation.HUB_PERMISSIONS, 4)
        answered = setup.clock.monotonic()
        await setup.pass_until(lambda: setup.clock.monotonic() > answered + 120)
    await client.close()
    assert setup.waits(RetriedOperation.HUB_PERMISSIONS) == GROWING[:4]


async def test_the_version_of_a_worker(setup: Setup) -> None:
    observation = PodObservation(W1, access_to(setup.hub), setup.context, None, ignore)
    fault = setup.hub.faults.add(ServerError(), path="/version")
    async with setup.running(observation.run()):
        await setup.outage(fault, RetriedOperation.VERSION, 4)
        await setup.pass_until(lambda: not observation.why_silent())
    assert setup.waits(RetriedOperation.VERSION) == GROWING[:4]
    assert {retry.subject for retry in setup.told if retry.operation == RetriedOperation.VERSION} == {"w1"}


async def test_the_election_keeps_the_period_that_is_configured(setup: Setup) -> None:
    """A try in each period: `renewDeadline` is measured by it, so these waits do not grow."""
    client = ClusterClient("hub", access_to(setup.hub), setup.context)
    lease = ObjectKey(SYSTEM, "turnstile")
    elected: list[str] = []
    elector = Elector(client, lease, "me", LeaseTimings(), setup.clock, certain, setup.told.append)
    fault = setup.hub.faults.add(ServerError(), plural="leases")
    async with setup.running(elector.run(lambda: elected.append("me"))):
        await setup.outage(fault, RetriedOperation.ELECTION, 3)
        await setup.pass_until(lambda: elected)
    await client.close()
    assert setup.waits(RetriedOperation.ELECTION) == [2.4, 2.4, 2.4]
