"""What requests do when a cluster is slow, busy or ill."""

import asyncio
import itertools
from collections.abc import Coroutine
from dataclasses import replace

import pytest

from config.api.meta import Obj, ObjectKey
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import Drop, HalfOpen, ServerError, Throttle
from manager.base.kinds import CONFIG_MAPS
from tests.support.clusters import Setting, Story, access_to, config_map, following, no_jitter
from tests.support.virtual_time import VirtualClock, until
from workerclient.base.errors import CircuitOpen, InternalFailure, NotFound, Throttled, TimedOut, TooLate, Unavailable
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.objects.connection_report import ConnectionState
from workerclient.objects.resource import Precondition
from workerclient.transport.budget import BudgetLimits, RequestPriority

A = ObjectKey("default", "a")


async def test_a_throttled_request_is_sent_again_when_the_server_said(cluster: LocalCluster) -> None:
    async with following(cluster) as story, asyncio.TaskGroup() as group:
        fault = cluster.faults.add(Throttle(retry_after=3), verb="create", times=1)
        created = group.create_task(story.followed.resource.create(config_map("a")))
        await until(lambda: fault.hits == 1 and story.clock.next_awakening is not None)
        await story.clock.advance(2.9)
        assert not created.done()
        await story.clock.advance(0.1)
        await created
        assert A in story.followed.cache


async def test_a_server_that_asks_for_more_patience_than_a_call_has_gives_it_back_to_the_caller(
    cluster: LocalCluster,
) -> None:
    async with following(cluster) as story:
        cluster.faults.add(Throttle(retry_after=60), verb="create", times=1)
        with pytest.raises(Throttled) as caught:
            await story.followed.resource.create(config_map("a"))
        assert caught.value.retry_after == 60


async def test_a_read_survives_errors_and_broken_connections(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        await story.followed.resource.create(config_map("a", color="red"))
        cluster.faults.add(ServerError(), verb="get", times=1)
        cluster.faults.add(Drop(), verb="get", times=2)
        assert (await story.followed.resource.get(A))["data"] == {"color": "red"}


async def test_a_create_whose_outcome_is_unknown_is_not_sent_twice(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        fault = cluster.faults.add(Drop(), verb="create")
        with pytest.raises(Unavailable) as caught:
            await story.followed.resource.create(config_map("a"))
        assert caught.value.may_have_been_executed
        assert fault.hits == 1


async def test_a_delete_with_its_precondition_is_sent_again(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        stored = await story.followed.resource.create(config_map("a"))
        cluster.faults.add(Drop(), verb="delete", times=1)
        await story.followed.resource.delete(A, Precondition(stored["metadata"]["uid"]))
        with pytest.raises(NotFound):
            await story.followed.resource.get(A)


async def test_a_request_without_an_answer_ends_at_its_deadline(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        fault = cluster.faults.add(HalfOpen(), verb="create", times=1)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(outcome(story.followed.resource.create(config_map("a"))))
            await until(lambda: fault.hits == 1)
            await story.clock.advance(9.9)
            assert not waiting.done()
            await story.clock.advance(0.1)
        error = waiting.result()
        assert isinstance(error, TimedOut)
        assert str(error) == "cluster w1: create configmaps default/a: no answer within 10 s"
        assert error.may_have_been_executed


async def test_a_webhook_that_fails_does_not_make_the_cluster_unreachable(cluster: LocalCluster) -> None:
    async with following(cluster) as story:
        cluster.faults.add(ServerError("failed calling webhook"), verb="create")
        for _ in range(10):
            with pytest.raises(InternalFailure, match="failed calling webhook"):
                await story.followed.resource.create(config_map("a"))
        with pytest.raises(NotFound):
            await story.followed.resource.get(A)
        assert story.connection is ConnectionState.CONNECTED


async def test_a_cluster_that_does_not_answer_is_left_alone_and_probed_by_one_request(cluster: LocalCluster) -> None:
    setting = Setting(jitter=lambda: 0.5)
    async with following(cluster, setting) as story:
        fault = cluster.faults.add(Drop(), verb="create")
        for _ in range(5):
            with pytest.raises(Unavailable):
                await story.followed.resource.create(config_map("a"))
        for _ in range(20):
            with pytest.raises(CircuitOpen):
                await story.followed.resource.create(config_map("a"))
        assert fault.hits == 5
        cluster.faults.clear()
        await story.clock.advance(0.125)
        await story.followed.resource.create(config_map("a"))


async def test_a_gate_opening_passes_a_crowd_of_creates(cluster: LocalCluster) -> None:
    budget = BudgetLimits(queries_per_second=10, burst=10)
    async with following(cluster, Setting(limits=replace(ClientLimits(), budget=budget))) as story:
        stored = await story.followed.resource.create(config_map("a"))
        async with asyncio.TaskGroup() as group:
            crowd = [
                group.create_task(story.followed.resource.create(config_map(f"m{number}"))) for number in range(50)
            ]
            await until(lambda: any(task.done() for task in crowd))
            precondition = Precondition(stored["metadata"]["uid"])
            await story.followed.resource.merge_patch(
                A, {"data": {"gate": "open"}}, precondition, priority=RequestPriority.URGENT
            )
            assert story.clock.monotonic() == 0.0
            assert sum(task.done() for task in crowd) < 10
            await let_all_pass(story, crowd)


async def let_all_pass(story: Story[Obj], tasks: list[asyncio.Task[Obj]]) -> None:
    while not all(task.done() for task in tasks):
        await until(lambda: story.clock.next_awakening is not None or all(task.done() for task in tasks))
        await story.clock.advance(story.clock.next_awakening or 0.0)


async def outcome(call: Coroutine[None, None, Obj]) -> BaseException | Obj:
    """Return what a call ended with, be it an error."""
    try:
        return await call
    except (TimedOut, Unavailable) as error:
        return error


async def test_F7_a_write_that_waited_for_the_budget_beyond_its_time_is_not_sent(cluster: LocalCluster) -> None:
    limits = ClientLimits(budget=BudgetLimits(in_flight=1))
    async with following(cluster, Setting(limits=limits)) as story, asyncio.TaskGroup() as group:
        resource = story.followed.resource
        slow = cluster.faults.add(HalfOpen(), verb="create", times=1)
        group.create_task(_swallow(resource.create(config_map("first"))))
        await until(lambda: slow.hits == 1)
        late = group.create_task(_swallow(resource.create(config_map("a"), not_after=story.clock.monotonic() + 5)))
        await story.clock.advance(60)
        assert isinstance(await late, TooLate)
        assert cluster.store.collection(cluster.store.kind("configmaps")).get(("default", "a")) is None


async def test_F7_tries_end_when_the_time_of_a_write_is_over(cluster: LocalCluster) -> None:
    async with following(cluster) as story, asyncio.TaskGroup() as group:
        created = await story.followed.resource.create(config_map("a"))
        fence = Precondition(created["metadata"]["uid"], created["metadata"]["resourceVersion"])
        silent = cluster.faults.add(HalfOpen(), verb="patch")
        steps = [{"op": "add", "path": "/data", "value": {"color": "red"}}]
        not_after = story.clock.monotonic() + 15
        patch = story.followed.resource.json_patch(A, steps, fence, not_after=not_after)
        failed = group.create_task(_swallow(patch))
        for _ in range(60):
            await story.clock.advance(1)
            await asyncio.sleep(0.001)
        assert isinstance(await failed, TooLate)
        assert silent.hits == 2


async def test_F7_a_write_that_became_late_while_it_got_its_connection_is_not_sent(cluster: LocalCluster) -> None:
    """Even the bytes are held back: the time is looked at when they are handed to the connection."""
    clock, asked = _JumpingClock(), itertools.count()

    def may_write() -> bool:
        clock.jump = 100.0 * next(asked)  # it is asked for the second time when the connection is there
        return True

    client = ClusterClient("w1", access_to(cluster), ClientContext(clock, no_jitter, may_write=may_write))
    with pytest.raises(TooLate):
        await client.resource(CONFIG_MAPS).create(config_map("a"), not_after=clock.monotonic() + 50.0)
    await client.close()
    assert next(asked) == 2
    assert cluster.store.collection(cluster.store.kind("configmaps")).get(("default", "a")) is None


class _JumpingClock(VirtualClock):
    jump = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.jump


async def _swallow(call: Coroutine[None, None, Obj]) -> BaseException | None:
    try:
        await call
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return error
    return None
