"""What one cluster provokes in its cost controller, those of the others do not notice."""

from io import StringIO
from pathlib import Path

import pytest

from config.sections.process import Logging
from config.types.choices import CostPlace
from localcluster.serving.faults import RawAnswer
from manager.cost.fleet import CostCluster
from manager.logging.logs import configure_logging
from tests.integration.cost.jobs import cost, submit
from tests.integration.orchestrator.world import world
from tests.support.odd_answers import FEW_ODD_ANSWERS
from workerclient.objects.connection_report import ConnectionState

COSTS = {"enabled": True, "clusters": ("Workers",)}


@pytest.fixture(autouse=True)
def log() -> None:
    configure_logging(Logging(), StringIO())


@pytest.mark.parametrize("odd", FEW_ODD_ANSWERS.values(), ids=FEW_ODD_ANSWERS.keys())
async def test_S6_an_odd_answer_of_one_cluster_ends_no_controller(tmp_path: Path, odd: bytes) -> None:
    async with world(tmp_path, "w1", "w2", cost_controller=COSTS) as made:
        submit(made["w1"], "local")
        fault = made["w2"].local.faults.add(RawAnswer(odd))
        daemon = await made.start()
        await made.until(lambda: fault.hits)
        await made.until(lambda: cost(made["w1"], "local") == "2")
        assert daemon.costs is not None


async def test_S6_a_controller_that_fails_begins_again_and_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path, "w1", "w2", cost_controller=COSTS) as made:
        daemon = await made.start()
        await made.connected()
        costs = daemon.costs
        assert costs is not None
        broken = CostCluster(CostPlace.WORKERS, "w2")
        await made.until(
            lambda: len(costs.controllers) == 2 and all(c.is_connected for c in costs.controllers.values())
        )
        controller = costs.controllers[broken]

        def restarts(name: str) -> float:
            return costs.metrics.value("turnstile_cost_restarts_total", cluster=name)

        with monkeypatch.context() as patch:

            def fails(*_anything: object) -> None:
                raise TypeError("unhashable type: 'dict'")

            patch.setattr(controller.queue, "add", fails)
            submit(made["w2"], "early")
            await made.until(lambda: restarts("w2") == 1)
        report = controller.client.report
        assert report.connection is ConnectionState.LOST
        assert report.message == "cannot be understood: TypeError: unhashable type: 'dict'"
        submit(made["w1"], "local")
        submit(made["w2"], "late")
        await made.until(lambda: cost(made["w1"], "local") == "2")
        await made.pass_until(lambda: (cost(made["w2"], "early"), cost(made["w2"], "late")) == ("2", "2"))
        assert (restarts("w1"), restarts("w2")) == (0, 1)
        assert costs.controllers[broken] is controller
