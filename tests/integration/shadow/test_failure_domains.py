"""What one worker provokes, shadow mode survives, and goes on to watch the others."""

from io import StringIO
from pathlib import Path

import pytest

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.sections.process import Logging
from localcluster.cluster import Partition
from localcluster.serving.faults import RawAnswer
from manager.logging.logs import configure_logging
from manager.shadow.event_router import ShadowEventRouter
from tests.integration.shadow.world import EMPTY, shadowing
from tests.support.odd_answers import FEW_ODD_ANSWERS, OPENAPI
from tests.support.worker_names import W1, W2
from workerclient.objects.connection_report import ConnectionState


@pytest.fixture(autouse=True)
def log() -> None:
    configure_logging(Logging(), StringIO())


@pytest.mark.parametrize("odd", FEW_ODD_ANSWERS.values(), ids=FEW_ODD_ANSWERS.keys())
async def test_S6_an_odd_description_does_not_end_the_shadow(tmp_path: Path, odd: bytes) -> None:
    async with shadowing(tmp_path, {"w1": EMPTY, "w2": EMPTY}) as world:
        fault = world["w2"].local.faults.add(RawAnswer(odd), path=OPENAPI)
        shadow = world.shadow
        assert shadow is not None
        await world["w2"].local.partition(Partition.REFUSED)
        await world.passing(lambda: not shadow.fleet.links[W2].is_connected)
        await world["w2"].local.heal()
        await world.passing(lambda: fault.hits)
        world.submit(cpu=1)
        world.dispatch("w1")
        await world.passing(lambda: world.is_admitted("w1"))


async def test_S6_a_failure_costs_one_worker_and_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    route, strikes = ShadowEventRouter.remote_workload, True

    def remote_workload(router: ShadowEventRouter, cluster: str, key: ObjectKey) -> None:
        if strikes and cluster == "w2":
            raise LookupError("nowhere")
        route(router, WorkerName(cluster), key)

    monkeypatch.setattr(ShadowEventRouter, "remote_workload", remote_workload)
    async with shadowing(tmp_path, {"w1": EMPTY, "w2": EMPTY}) as world:
        shadow = world.shadow
        assert shadow is not None
        links = shadow.fleet.links
        world.submit(cpu=1)
        world.dispatch("w1", "w2")

        def restarts(name: str) -> float | None:
            return shadow.metrics.registry.get_sample_value("turnstile_worker_restarts_total", {"cluster": name})

        await world.until(lambda: restarts("w2") == 1)
        assert restarts("w1") == 0
        assert links[W2].report.connection is ConnectionState.LOST
        assert links[W2].report.message == "cannot be understood: LookupError: nowhere"
        assert links[W1].is_connected
        strikes = False
        await world.passing(lambda: links[W2].is_connected)
        assert links[W2].replica(ObjectKey("team", "wl")) is not None
