"""Giving up a Workload, and a job's own delay of preemption, on a hub and workers that speak HTTP."""

from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from gates.targets.rules import GIVE_UP_AFTER, PREEMPTION_DELAY
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.world import World, running


def annotate(made: World, **annotations: str) -> None:
    made.hub.change("workloads", "wl", lambda w: w["metadata"].setdefault("annotations", {}).update(annotations), KUEUE)


@pytest.mark.parametrize("state", ["Retry", "Rejected"])
async def test_a_workload_that_no_worker_admits_gives_its_quota_back(tmp_path: Path, state: str) -> None:
    patient = {"give_up_after": "10m", "give_up_state": state}
    async with running(tmp_path, "w1", "w2", dispatcher=patient) as made:
        made.queue()
        await made.until(lambda: made.holders() == ["w1", "w2"])
        await made.pass_time(590)
        assert made.check()["state"] == "Pending"
        explained = await made.running_daemon().inspector.explain(ObjectKey(NAMESPACE, "wl"))
        assert explained is not None
        assert explained["givesUpAt"]
        await made.pass_time(11)
        await made.until(lambda: made.check()["state"] == state)
        assert "No worker admitted it by" in made.check()["message"]
        assert "w1: pending there" in made.check()["message"]
        assert any(each["type"] == "Warning" for each in made.events())


async def test_the_annotation_of_a_job_wins(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", dispatcher={"give_up_after": "10m"}) as made:
        made.submit()
        annotate(made, **{GIVE_UP_AFTER: "never"})
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w1"])
        await made.pass_time(1200)
        assert made.check()["state"] == "Pending"
        annotate(made, **{GIVE_UP_AFTER: "5m"})
        await made.until(lambda: made.check()["state"] == "Retry")


async def test_a_jobs_own_delay_keeps_its_first_gate_closed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        made.submit()
        annotate(made, **{PREEMPTION_DELAY: "2m"})
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w1", "w2"])
        made["w1"].block()
        await made.settled()
        assert "the gate of w1 opens at" in made.check()["message"]
        await made.pass_time(110)
        assert made["w1"].gate() == "Closed"
        await made.pass_time(15)
        await made.until(lambda: made["w1"].gate() == "Open")
