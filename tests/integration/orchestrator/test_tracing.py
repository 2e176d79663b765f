"""One trace for each Workload, sent to a collector over HTTP; and a collector that is not there."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from manager.telemetry.spans import root_id, trace_id
from manager.telemetry.tracing import Traces
from tests.integration.orchestrator.world import World, running
from tests.support.otlp_collector import Collector, collecting


@asynccontextmanager
async def tracing(directory: Path, collector: Collector) -> AsyncIterator[World]:
    """Run a daemon on two workers that sends traces there."""
    async with running(directory, "w1", "w2") as world:
        await world.stop()
        world.traces = Traces(collector.endpoint, "here")
        await world.start()
        await world.connected()
        await world.settled()
        yield world


async def closed(world: World) -> None:
    """Send what is waiting, while the collector listens, and let nothing of the library run into other tests."""
    assert world.traces is not None
    await asyncio.to_thread(world.traces.close)
    for thread in [each for each in threading.enumerate() if each.name == "traces"]:
        await asyncio.to_thread(thread.join, 30)


async def preempt_and_finish(world: World) -> None:
    """Play a Workload that waits on two workers, preempts on one, runs and finishes."""
    world.queue()
    await world.settled()
    await world.pass_time(5)
    world["w1"].block()
    await world.settled()
    await world.pass_time(7)
    world["w1"].admit()
    await world.settled()
    world["w1"].finish()
    await world.settled()


async def test_a_workload_is_one_trace_over_hub_and_workers(tmp_path: Path) -> None:
    async with collecting() as collector, tracing(tmp_path, collector) as world:
        await preempt_and_finish(world)
        await closed(world)
        uid = world.hub.workload()["metadata"]["uid"]

        assert {span.trace for span in collector.spans} == {trace_id(uid).to_bytes(16)}
        (root,) = collector.named("workload")
        assert (root.span, root.parent) == (root_id(uid).to_bytes(8), b"")
        assert {span.parent for span in collector.spans if span is not root} == {root.span}
        assert sorted(span.attributes["cluster"] for span in collector.named("replicate")) == ["w1", "w2"]
        (signalled,) = collector.named("wait.signal")
        assert (signalled.ended_ns - signalled.began_ns) // 10**9 == 5
        (opened,) = collector.named("gate.open")
        assert (opened.attributes["cluster"], opened.attributes["reason"]) == ("w1", "first")
        (admission,) = collector.named("wait.admission")
        assert (admission.ended_ns - admission.began_ns) // 10**9 == 7
        assert "w2" in {span.attributes["cluster"] for span in collector.named("remove")}
        assert [span.attributes["cluster"] for span in collector.named("mirror")][:1] == ["w1"]
        assert len(collector.named("admit")) == len(collector.named("finish")) == 1
        assert all(span.attributes["cause"] and span.attributes["workload"] == "team/wl" for span in collector.spans)
        assert all(span.began_ns <= span.ended_ns for span in collector.spans)


async def test_a_restart_goes_on_with_the_same_trace(tmp_path: Path) -> None:
    async with collecting() as collector, tracing(tmp_path, collector) as world:
        world.queue()
        await world.settled()
        await closed(world)
        await world.stop()
        world.traces = Traces(collector.endpoint, "there")
        await world.start()
        await world.connected()
        await world.settled()
        world["w1"].admit()
        await world.settled()
        await closed(world)
        assert collector.named("replicate")
        assert collector.named("admit")
        assert len({span.trace for span in collector.spans}) == 1


@pytest.mark.parametrize("trouble", ["refuses", "is not there"])
async def test_a_collector_that_fails_holds_nothing_up(tmp_path: Path, trouble: str) -> None:
    async with collecting() as collector:
        collector.status = 503
        if trouble == "is not there":
            collector.address = "http://127.0.0.1:9"
        async with tracing(tmp_path, collector) as world:
            await preempt_and_finish(world)
            assert world.hub.condition("Finished") is not None
            await closed(world)
            assert collector.spans == []


def test_without_the_library_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from manager.base.errors import StartupError\n"
        "from manager.telemetry.tracing import Traces\n"
        "try: Traces('http://127.0.0.1:4318/v1/traces', 'here')\n"
        "except StartupError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'multikueue-turnstile[tracing]'" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_without_an_endpoint_nothing_of_the_library_is_loaded() -> None:
    program = (
        "import sys, manager.app.service; print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
