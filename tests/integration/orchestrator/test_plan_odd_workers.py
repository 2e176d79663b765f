"""A worker that answers with nonsense costs a plan its own line, and no other."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localcluster.serving.faults import RawAnswer
from manager.cli.app import app
from manager.planning.listed import NO_DESCRIPTION
from tests.integration.orchestrator.planning import (
    FULL,
    ROOMY,
    plan_of,
    planning,
    urgent_job,
    write,
    write_configuration,
)
from tests.support.odd_answers import FEW_ODD_ANSWERS, OPENAPI


@pytest.mark.parametrize("odd", FEW_ODD_ANSWERS.values(), ids=FEW_ODD_ANSWERS.keys())
async def test_S6_without_a_daemon_one_odd_worker_does_not_hide_the_others(tmp_path: Path, odd: bytes) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY}) as made:
        await made.stop()
        made["w2"].local.faults.add(RawAnswer(odd), path=OPENAPI)
        configuration = write_configuration(made, tmp_path / "turnstile.yaml")
        file = write(tmp_path / "job.yaml", urgent_job())
        arguments = ["plan", "-f", str(file), "--config", str(configuration), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == 0, result.stderr
        workers = plan_of(result.stdout)["workers"]
        assert [each["verdict"] for each in workers] == ["Preempts", "Unreachable"]
        assert NO_DESCRIPTION in str(workers[1])
