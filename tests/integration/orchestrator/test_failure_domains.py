"""A worker is a failure domain: whatever it answers, the daemon goes on with all others."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.names import ORIGIN_LABEL
from config.sections.process import Logging
from gates.model.activity import Health
from gates.model.identity import Authorship
from gates.model.view import GateSupport
from gates.upkeep.garbage import Orphan, orphans
from localcluster.serving.faults import RawAnswer
from manager.app.event_router import EventRouter
from manager.logging.logs import configure_logging
from manager.process.supervision import PROBATION_SECONDS
from manager.upkeep.conditions import ConditionOwner, ConditionTarget
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, workload
from tests.integration.orchestrator.world import ORIGIN, World, running, world
from tests.support.odd_answers import ODD_ANSWERS, ODD_DOCUMENTS, OPENAPI, document
from tests.support.worker_names import W1, W2
from workerclient.base.turns import ITEMS
from workerclient.objects.connection_report import ConnectionState

RESTARTS = "turnstile_worker_restarts_total"


@pytest.fixture(autouse=True)
def log() -> StringIO:
    """Keep what is logged, in the form that people choose."""
    written = StringIO()
    configure_logging(Logging(), written)
    return written


async def works_without(made: World, name: str) -> None:
    """A Workload is placed on the other worker."""
    made.queue(name)
    await made.until(lambda: made["w1"].has_workload(name))
    made["w1"].admit(name)
    await made.until(lambda: made.check(name)["state"] == "Ready")


def restarts(made: World, name: str) -> float:
    assert made.daemon is not None
    return made.daemon.metrics.registry.get_sample_value(RESTARTS, {"cluster": name}) or 0.0


@pytest.mark.parametrize("path", ["", OPENAPI], ids=["everything", "its description"])
@pytest.mark.parametrize("odd", ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
async def test_F1_an_odd_answer_of_one_worker_does_not_end_the_daemon(tmp_path: Path, odd: bytes, path: str) -> None:
    async with world(tmp_path, "w1", "evil") as made:
        evil = made["evil"].local.faults.add(RawAnswer(odd), path=path)
        await made.start()
        await made.connected("w1")
        await made.until(lambda: evil.hits)
        await works_without(made, "wl")
        assert made.daemon is not None
        assert restarts(made, "evil") == 0


@pytest.mark.parametrize("content", ODD_DOCUMENTS.values(), ids=ODD_DOCUMENTS.keys())
async def test_F1_what_was_known_of_gates_stands_when_the_description_gets_odd(tmp_path: Path, content: object) -> None:
    """Kueue of before gates: the worker does not know them, and no odd document makes it look as if it did."""
    old: dict[str, Any] = {
        "components": {"schemas": {"x.Workload": {"properties": {"spec": {"properties": {"queueName": {}}}}}}}
    }
    async with world(tmp_path, "w1") as made:
        made["w1"].local.faults.add(RawAnswer(document(old)), path=OPENAPI, times=1)
        daemon = await made.start()
        await made.connected()
        link = daemon.fleet.links[W1]
        assert link.gates.verdict is GateSupport.MISSING
        odd = made["w1"].local.faults.add(RawAnswer(document(content)), path=OPENAPI)
        await made.pass_time(660)
        assert odd.hits
        assert link.gates.verdict is GateSupport.MISSING
        assert link.is_connected


@dataclass
class Bug:
    """A bug that a change of a replica on one worker runs into."""

    cluster: str
    error: Exception
    strikes: bool = False

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the bug into daemons that start from now on."""
        route = EventRouter.remote_workload

        def remote_workload(router: EventRouter, name: str, key: ObjectKey) -> None:
            if self.strikes and name == self.cluster:
                raise self.error
            route(router, WorkerName(name), key)

        monkeypatch.setattr(EventRouter, "remote_workload", remote_workload)


async def failing(tmp_path: Path, made: World, monkeypatch: pytest.MonkeyPatch) -> Bug:
    bug = Bug("w2", IndexError("string index out of range"), strikes=True)
    bug.plant(monkeypatch)
    daemon = await made.start()
    await made.connected()
    stray = workload("stray")
    stray["metadata"]["labels"] = {ORIGIN_LABEL: ORIGIN}
    made["w2"].create("workloads", stray, KUEUE, NAMESPACE)
    await made.until(lambda: daemon.fleet.links[W2].report.connection is ConnectionState.LOST)
    await made.until(lambda: restarts(made, "w2") == 1)
    return bug


async def test_F1_a_failure_that_was_not_foreseen_costs_one_worker_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: StringIO
) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        await failing(tmp_path, made, monkeypatch)
        assert made.daemon is not None
        report = made.daemon.fleet.links[W2].report
        assert report.message == "cannot be understood: IndexError: string index out of range"

        def active() -> dict[str, Any]:
            status = made.hub.get("multikueueclusters", "w2", KUEUE, "").get("status", {})
            found: dict[str, Any] = next((c for c in status.get("conditions", []) if c["type"] == "Active"), {})
            return found

        await made.until(lambda: active().get("message") == report.message)
        assert active()["status"] == "False"
        await works_without(made, "wl")
        (line,) = [each for each in map(json.loads, log.getvalue().splitlines()) if each["event"] == "worker.failed"]
        assert (line["level"], line["cluster"], line["problem"]) == ("error", "w2", report.message)
        assert "IndexError" in line["exception"]


async def test_F1_a_worker_that_fails_again_and_again_has_been_lost_since_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        await failing(tmp_path, made, monkeypatch)
        assert made.daemon is not None
        link, lost_ns = made.daemon.fleet.links[W2], made.clock.now_ns()
        since = link.report.lost_since_ns
        for _ in range(300):
            await made.pass_time(1, settle=False)
            assert link.report.connection is ConnectionState.LOST
            assert link.report.lost_since_ns == since
        assert restarts(made, "w2") >= 3
        assert made.daemon.core.lost_workers.missing_since(W2) == since
        assert since is not None
        assert since <= lost_ns
        await works_without(made, "wl")


async def test_F1_a_worker_that_is_well_again_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        bug = await failing(tmp_path, made, monkeypatch)
        assert made.daemon is not None
        link = made.daemon.fleet.links[W2]
        link.memory.remember(ObjectKey(NAMESPACE, "wl")).confirmed.add("kept")
        bug.strikes = False
        made.queue("wl")
        await made.pass_until(lambda: link.is_connected)
        await made.pass_until(made.is_settled)
        assert made.clock.monotonic() >= PROBATION_SECONDS
        assert restarts(made, "w2") == 1
        assert link is made.daemon.fleet.links[W2]
        assert link.memory.recall(ObjectKey(NAMESPACE, "wl")).confirmed == {"kept"}
        assert link.replica(ObjectKey(NAMESPACE, "stray")) is not None
        await made.pass_until(lambda: sorted(made.holders("wl")) == ["w1", "w2"])


async def test_F1_ending_the_daemon_does_not_wait_for_a_failing_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        await failing(tmp_path, made, monkeypatch)
        await made.stop()
        assert made.task is None


async def test_F1_a_failure_of_forecasts_costs_no_gate_and_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, "w1", forecast={"enabled": True}) as made:
        assert made.daemon is not None
        link = made.daemon.fleet.links[W1]
        observation = link.observation
        assert observation is not None
        await made.until(lambda: observation.is_complete)
        with monkeypatch.context() as patch:  # what an object itself provokes costs that object alone
            patch.setattr("manager.models.observation.WORKLOADS", None)
            made["w1"].create("workloads", workload("stray"), KUEUE, NAMESPACE)
            await made.until(lambda: observation.failures)
        assert observation.why_silent().startswith("cannot be understood: AttributeError")
        assert link.is_connected
        assert restarts(made, "w1") == 1
        await made.pass_until(lambda: observation.is_complete)
        assert any(key.name == "stray" for key in observation.cluster.tenants)
        assert link.is_connected


async def test_F1_forecasts_come_back_although_the_whole_link_failed_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug = Bug("w1", LookupError("nowhere"))
    bug.plant(monkeypatch)
    async with running(tmp_path, "w1", forecast={"enabled": True}) as made:
        assert made.daemon is not None
        link = made.daemon.fleet.links[W1]
        observation = link.observation
        assert observation is not None
        await made.until(lambda: observation.is_complete)
        observation.fail("cannot be understood: odd")
        bug.strikes = True
        stray = workload("stray")
        stray["metadata"]["labels"] = {ORIGIN_LABEL: ORIGIN}
        made["w1"].create("workloads", stray, KUEUE, NAMESPACE)
        await made.until(lambda: link.failures == 2)
        bug.strikes = False
        await made.pass_until(lambda: link.is_connected and observation.is_complete)


async def test_F1_what_garbage_collection_stumbles_over_on_one_worker_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: StringIO
) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        assert made.daemon is not None
        made.queue("wl")
        await made.until(lambda: made.holders() == ["w1", "w2"])
        await made.settled()
        found: list[str] = []

        def stumble(authorship: Authorship, *others: Any) -> Iterator[Orphan]:
            if authorship.name == "w1":
                raise TypeError("odd")
            found.append(authorship.name)
            return orphans(authorship, *others)

        monkeypatch.setattr("manager.upkeep.garbage.orphans", stumble)
        await made.daemon.garbage.collect()
        assert set(found) == {"w2"}
        assert '"event":"garbage.failed"' in log.getvalue()
        await works_without(made, "other")


async def test_F12_the_loop_has_its_turn_while_garbage_is_looked_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        assert made.daemon is not None
        for n in range(5 * ITEMS):
            stray = workload(f"stray-{n}")
            stray["metadata"]["labels"] = {ORIGIN_LABEL: ORIGIN}
            made["w1"].create("workloads", stray, KUEUE, NAMESPACE)
        await made.settled()
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        await made.daemon.garbage.collect()  # nothing is garbage at the first sight, so the hub is not asked
        counting.cancel()
        assert turns >= 5


async def test_F1_a_condition_that_cannot_be_made_does_not_end_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: StringIO
) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        assert made.daemon is not None
        fleet = made.daemon.fleet

        def stumble() -> dict[str, Health]:
            raise AttributeError("odd")

        with monkeypatch.context() as patch:
            patch.setattr(fleet, "health", stumble)
            made.daemon.conditions.add(ConditionTarget(ConditionOwner.CLUSTER, "w2"))
            await made.until(lambda: '"event":"condition.failed"' in log.getvalue())
        await works_without(made, "wl")
