"""The cost controller and shadow mode try again, longer each time, and tell it."""

from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from config.sections.process import Logging
from gates.shadow.hindsight import Episode
from localcluster.serving.faults import ServerError
from manager.base.retrying import RetriedOperation
from manager.logging.logs import configure_logging
from manager.shadow.episode_log import EpisodeLog
from tests.integration.cost.world import cost_world
from tests.integration.orchestrator.forecasting import queue
from tests.integration.orchestrator.kueue import NAMESPACE
from tests.integration.shadow.world import shadowing
from workerclient.base.backoff import Retry


@pytest.fixture(autouse=True)
def log() -> None:
    """Write lines as the daemon does; tracebacks for people take long."""
    configure_logging(Logging(), StringIO())


def waits(retried: list[Retry], operation: RetriedOperation, subject: str) -> list[float]:
    return [retry.seconds for retry in retried if (retry.operation, retry.subject) == (operation, subject)]


async def test_the_cost_of_a_job(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        await world.start()
        fault = world.cluster.local.faults.add(ServerError(), verb="patch", plural="jobs")
        world.submit(preempted=1)
        subject = f"{NAMESPACE}/j"
        await world.pass_until(lambda: len(waits(world.retried, RetriedOperation.COST, subject)) >= 4)
        found = waits(world.retried, RetriedOperation.COST, subject)
        assert all(before < after for before, after in pairwise(found)), found
        world.cluster.local.faults.remove(fault)
        await world.pass_until(lambda: world.cost() == "1")


async def test_a_bug_in_the_cost_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cost_world(tmp_path) as world:
        controller = await world.start()
        with monkeypatch.context() as patch:

            def fails(*_anything: object) -> None:
                raise LookupError("nowhere")

            patch.setattr(controller.propagator, "propagate", fails)
            world.submit(preempted=1)
            subject = f"{NAMESPACE}/j"
            await world.pass_until(lambda: len(waits(world.retried, RetriedOperation.COST, subject)) >= 3)
        assert waits(world.retried, RetriedOperation.COST, subject)[:3] == [3.75, 7.5, 15.0]


class FailingLog(EpisodeLog):
    """A log in which nothing can be found."""

    def find(self, key: tuple[str, str, int]) -> Episode | None:
        raise LookupError(key)


async def test_a_bug_in_shadow_mode(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": [queue()]}) as world:
        await world.stop()
        world.episodes = FailingLog()
        await world.start()
        world.submit(cpu=1)
        world.dispatch("w1")
        subject, retried = f"{NAMESPACE}/wl", world.clusters.retried
        await world.passing(lambda: len(waits(retried, RetriedOperation.WORKLOAD, subject)) >= 3)
        found = waits(retried, RetriedOperation.WORKLOAD, subject)
        assert all(before < after for before, after in pairwise(found)), found
