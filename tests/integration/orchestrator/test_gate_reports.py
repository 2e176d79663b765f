"""What is said of a worker's gates while evidence comes in: in the log, as metrics, and as a violated invariant."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.api.identifiers import WorkerName
from config.sections.process import Logging
from gates.model.texts import GATES_NOT_HONOURED, GATES_NOT_KNOWN_YET
from localcluster.catalogue.registry import all_kinds
from manager.logging.logs import configure_logging
from manager.metrics.process import ProcessMetrics
from tests.integration.orchestrator.forecasting import begin, give, queue, tenant
from tests.integration.orchestrator.world import World, world
from tests.support.scraping import Scrape, scraping

STATES = ("honoured", "unknown", "not_honoured")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging(Logging(), stream)
    yield stream
    configure_logging(Logging())


def reports(log: io.StringIO, worker: str) -> list[tuple[str, str]]:
    """Return the events about a worker's gates with the beginning of their messages."""
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    found = [line for line in lines if line["event"].startswith("worker.gates_") and line["worker"] == worker]
    return [(line["event"], line.get("message", "").partition(":")[0]) for line in found]


def state(found: Scrape, worker: str) -> list[str]:
    return [each for each in STATES if found.value("turnstile_worker_gates", worker=worker, state=each)]


def preempt_for(made: World, name: str, victim: str) -> None:
    """Let a worker's Kueue preempt one of its own Workloads for our replica."""
    uid = made[name].workload()["metadata"]["uid"]
    cause = "prioritization in the ClusterQueue"
    message = f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to {cause}; preemptor path: /x"
    made[name].evict(victim, "Preempted", message)
    made[name].set_condition(victim, "Preempted", "True", "InClusterQueue", message)


def sees_victim(made: World, name: str) -> bool:
    """Return whether the daemon's model of a worker has a victim of our replica."""
    observation = made.running_daemon().fleet.links[WorkerName(name)].observation
    return observation is not None and observation.last_victim_ns(made[name].workload()["metadata"]["uid"]) is not None


async def test_90_gates_are_reported_as_they_are_known_and_a_breach_by_the_next_reconcile(
    tmp_path: Path, log: io.StringIO
) -> None:
    async with world(tmp_path, "w1", "w2", kinds={"w2": all_kinds(v1beta1=True)}, forecast={"enabled": True}) as made:
        give(made["w1"], queue(), tenant("victim"))
        await begin(made)
        async with scraping(made.running_daemon(), ProcessMetrics(made.clock.now_ns, None)) as scrape:
            found = await scrape()
            assert (state(found, "w1"), state(found, "w2")) == (["honoured"], ["unknown"])
            assert reports(log, "w2") == [("worker.gates_unknown", GATES_NOT_KNOWN_YET)]

            made.queue()
            await made.until(lambda: made.holders() == ["w1", "w2"])
            await made.settled()
            found = await scrape()
            assert (state(found, "w1"), state(found, "w2")) == (["honoured"], ["honoured"])
            assert reports(log, "w2")[1:] == [("worker.gates_honoured", "")]
            assert reports(log, "w1") == []
            violated = {"invariant": "closed_gate_holds"}
            assert found.value("turnstile_invariant_violations_total", **violated) == 0

            await made.pass_time(3)
            assert made["w1"].gate() == "Closed"
            preempt_for(made, "w1", "victim")
            await made.until(lambda: sees_victim(made, "w1"))
            made.look_after(0)
            await made.settled()
            found = await scrape()
            assert (state(found, "w1"), state(found, "w2")) == (["not_honoured"], ["honoured"])
            told = f"{GATES_NOT_HONOURED} and preempted through a closed one"
            assert reports(log, "w1") == [("worker.gates_not_honoured", told)]
            assert found.value("turnstile_invariant_violations_total", **violated) == 1

            made.look_after(0)
            await made.settled()
            found = await scrape()
            assert found.value("turnstile_invariant_violations_total", **violated) == 1, "counted once"
