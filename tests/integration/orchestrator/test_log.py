"""The log of a running daemon: a decision, what it led to and what failed are found by one id."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.sections.process import Logging
from localcluster.serving.faults import ServerError
from manager.logging.logs import configure_logging
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import running

Line = dict[str, Any]


class Log:
    """Log lines as they were written."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    def of(self, event: str) -> list[Line]:
        lines = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def log() -> Iterator[Log]:
    stream = io.StringIO()
    configure_logging(Logging(), stream)
    yield Log(stream)
    configure_logging(Logging())


async def test_signal_decision_and_write_share_a_cause(tmp_path: Path, log: Log) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.settled()
        world["w2"].block()
        asked = world["w2"].now()
        await world.settled()
        (opened,) = log.of("gate.opened")
        (decided,) = (line for line in log.of("workload.decided") if "OpenGate" in line["actions"])
        assert opened["cause"] == decided["cause"]
        assert (opened["worker"], opened["reason"], opened["asked_at"]) == ("w2", "first", asked)
        world["w2"].admit()
        await world.settled()
        (placed,) = log.of("workload.placed")
        assert placed["cause"] != opened["cause"]
        assert placed["cause"] in {line["cause"] for line in log.of("workload.decided")}


async def test_a_failure_names_the_decision_that_led_to_it(tmp_path: Path, log: Log) -> None:
    async with running(tmp_path, "w1") as world:
        world["w1"].local.faults.add(ServerError(), plural="workloads", verb="create")
        world.queue()
        await world.until(lambda: log.of("action.failed"))
        failed, *_ = log.of("action.failed")
        assert failed["cause"] in {
            line["cause"] for line in log.of("workload.decided") if "CreateReplica" in line["actions"]
        }


async def test_garbage_is_reported_as_removed_only_once_it_is(tmp_path: Path, log: Log) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.cut("w1")
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.settled()
        refused = world["w1"].local.faults.add(ServerError(), plural="workloads", verb="delete")
        await world.mend("w1")
        await world.connected("w1")
        await world.pass_time(150)
        assert refused.hits
        assert world.holders() == ["w1"]
        assert log.of("garbage.removed") == []
        world["w1"].local.faults.clear()
        await world.pass_time(150)
        await world.until(lambda: world.holders() == [])
        (removed,) = log.of("garbage.removed")
        assert (removed["worker"], removed["kind"], removed["name"]) == ("w1", "Workload", "team/wl")
