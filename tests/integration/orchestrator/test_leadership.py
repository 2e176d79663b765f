"""Two instances, one Lease: no instance writes without it, and terms never overlap."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from gates.upkeep.leadership import LeaseTimings
from localcluster.cluster import LocalCluster, Partition
from localcluster.serving.faults import Latency
from manager.base.kinds import CONFIG_MAPS, LEASES
from manager.election.leadership import Elector, LeadershipLostError
from tests.integration.orchestrator.world import SYSTEM, running
from tests.support.clusters import access_to, no_jitter
from tests.support.virtual_time import VirtualClock, let_run, until
from workerclient.base.errors import Fenced
from workerclient.cluster import ClientContext, ClusterClient

LEASE = ObjectKey(SYSTEM, "turnstile")
TERMS = LeaseTimings()


@dataclass
class Instance:
    """One candidate; `freeze` is what SIGSTOP does to it."""

    elector: Elector
    client: ClusterClient
    elections: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    def stand(self) -> None:
        self.task = asyncio.create_task(self.elector.run(lambda: self.elections.append("won")))

    async def freeze(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])


@dataclass
class Race:
    """A hub and two candidates on one virtual clock."""

    hub: LocalCluster
    clock: VirtualClock
    first: Instance
    second: Instance

    async def pass_time(self, seconds: float) -> None:
        """Let time pass in small steps, and check at each that at most one instance may write."""
        for _ in range(round(seconds * 10)):
            await self.clock.advance(0.1)
            await asyncio.sleep(0.002)
            assert not (self.first.elector.may_write() and self.second.elector.may_write())

    async def until(self, condition: object) -> None:
        assert callable(condition)
        for _ in range(600):
            if condition():
                return
            await self.pass_time(0.1)
        raise AssertionError("it did not happen within a minute")

    @property
    def holder(self) -> str:
        lease = self.hub.store.get(self.hub.store.kind("leases", "coordination.k8s.io"), LEASE.name, SYSTEM)
        return str(lease["spec"]["holderIdentity"])


@asynccontextmanager
async def race(directory: Path) -> AsyncIterator[Race]:
    clock = VirtualClock()
    async with LocalCluster("hub", directory) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        instances = []
        for name in ("first", "second"):
            client = ClusterClient("hub", access_to(hub), ClientContext(clock, no_jitter))
            instances.append(Instance(Elector(client, LEASE, name, TERMS, clock, no_jitter), client))
        made = Race(hub, clock, *instances)
        made.first.stand()
        await until(lambda: made.first.elections)
        made.second.stand()
        await let_run()
        try:
            yield made
        finally:
            for instance in instances:
                if instance.task is not None:
                    await instance.freeze()
                await instance.client.close()


async def test_one_leads_and_the_other_stands_by(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.pass_time(60)
        assert r.first.elector.may_write()
        assert r.second.elections == []
        assert r.holder == "first"


async def test_a_frozen_leader_loses_its_leave_before_the_other_gets_it(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.pass_time(5)
        await r.first.freeze()
        await r.until(lambda: not r.first.elector.may_write())
        assert not r.second.elector.may_write()
        await r.until(lambda: r.second.elections)
        assert r.holder == "second"


async def test_a_thawed_leader_says_that_it_lost(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.first.freeze()
        await r.until(lambda: r.second.elections)
        r.first.stand()
        assert r.first.task is not None
        await r.until(r.first.task.done)
        with pytest.raises(LeadershipLostError, match=r'held by "second"|not renewed within 10 s'):
            r.first.task.result()
        r.first.task = None


async def test_a_leader_that_cannot_reach_the_hub_gives_up_in_time(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.second.freeze()
        await r.hub.partition(Partition.REFUSED)
        assert r.first.task is not None
        await r.until(r.first.task.done)
        with pytest.raises(LeadershipLostError, match="was not renewed within 10 s"):
            r.first.task.result()
        r.first.task = None


async def test_a_lease_that_is_given_up_is_taken_at_the_next_try(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.pass_time(5)
        await r.first.freeze()
        await r.first.elector.release()
        assert not r.first.elector.may_write()
        await r.pass_time(2.5)
        assert r.second.elections == ["won"]


async def test_a_lease_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.second.freeze()
        r.hub.store.delete(r.hub.store.kind("leases", "coordination.k8s.io"), LEASE.name, SYSTEM)
        await r.pass_time(5)
        assert r.first.elector.may_write()
        assert r.holder == "first"


async def test_confirming_asks_the_hub(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.second.freeze()
        await r.first.elector.confirm()
        lease = await r.first.client.resource(LEASES).get(LEASE)
        lease["spec"]["holderIdentity"] = "somebody"
        r.hub.store.update(r.hub.store.kind("leases", "coordination.k8s.io"), lease, LEASE.name, SYSTEM)
        with pytest.raises(Fenced, match='held by "somebody"'):
            await r.first.elector.confirm()
        assert not r.first.elector.may_write()


async def test_nothing_is_sent_without_leave(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        asked = hub.faults.add(Latency(0), verb="create")
        client = ClusterClient("hub", access_to(hub), ClientContext(VirtualClock(), no_jitter, may_write=lambda: False))
        with pytest.raises(Fenced, match="does not hold the Lease"):
            await client.resource(CONFIG_MAPS).create({"metadata": {"name": "a", "namespace": "default"}})
        await client.close()
        assert asked.hits == 0


async def test_leave_that_is_lost_while_a_request_waits_for_its_connection_holds_it_back(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        asked = hub.faults.add(Latency(0), verb="create")
        leave = iter([True, False])
        client_context = ClientContext(VirtualClock(), no_jitter, may_write=lambda: next(leave))
        client = ClusterClient("hub", access_to(hub), client_context)
        with pytest.raises(Fenced, match="may no longer write"):
            await client.resource(CONFIG_MAPS).create({"metadata": {"name": "a", "namespace": "default"}})
        await client.close()
        assert asked.hits == 0


async def test_a_standby_watches_and_writes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        other = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
        await world.stop()
        lease = {"metadata": {"name": LEASE.name, "namespace": SYSTEM}, "spec": other}
        world.hub.create("leases", lease, "coordination.k8s.io", SYSTEM)
        await world.start(elects=True)
        world.queue()
        await world.connected()
        await world.pass_time(14, settle=False)
        assert world.holders() == []
        await world.pass_time(2, settle=False)
        await world.until(lambda: world.holders() == ["w1"])


async def test_a_lease_that_is_ours_is_given_up_even_if_it_looks_different(tmp_path: Path) -> None:
    """As after a renewal whose answer is still on its way: no instance should have to wait for the Lease to run out."""
    async with race(tmp_path) as r:
        kind = r.hub.store.kind("leases", "coordination.k8s.io")
        lease = deepcopy(r.hub.store.get(kind, LEASE.name, SYSTEM))
        lease["metadata"]["annotations"] = {"example.com/touched": "yes"}
        r.hub.store.update(kind, lease, LEASE.name, SYSTEM)
        await r.first.elector.release()
        assert r.holder == ""
        assert not r.first.elector.may_write()


async def test_a_release_waits_for_the_renewal_on_its_way(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        slow = r.hub.faults.add(Latency(0.2), verb="patch", plural="leases", times=1)
        await r.until(lambda: slow.hits)
        await r.first.elector.release()
        assert r.holder == ""
        await r.pass_time(1)
        assert r.holder in ("", "second")


async def test_an_instance_that_gave_the_lease_up_does_not_take_it_again(tmp_path: Path) -> None:
    async with race(tmp_path) as r:
        await r.first.elector.release()
        await r.until(lambda: r.second.elections)
        await r.pass_time(30)
        assert r.holder == "second"
        assert r.first.task is not None
        assert not r.first.task.done()
