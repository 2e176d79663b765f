"""A cordoned worker: what runs there stays, nothing new goes there, under every dispatcher, and everything shows it."""

from pathlib import Path
from typing import Any

import pytest

from config.api.meta import ObjectKey
from gates.targets.rules import UNSCHEDULABLE
from localcluster.catalogue.kueue_kinds.multikueue import multikueue_cluster_kind
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.kinds import ServedKind
from tests.integration.orchestrator.commands import command
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj
from tests.integration.orchestrator.planning import FULL, ROOMY, plan, planning, urgent_job
from tests.integration.orchestrator.worker_commands import worker
from tests.integration.orchestrator.world import World, running

CORDONABLE: tuple[ServedKind, ...] = tuple(
    multikueue_cluster_kind(cordonable=True) if kind.kind == "MultiKueueCluster" else kind for kind in all_kinds()
)


async def cordon(made: World, name: str, verb: str = "cordon") -> None:
    result = await worker(made, verb, name)
    assert result.exit_code == 0, result.output


def cluster(made: World, name: str) -> Obj:
    return made.hub.get("multikueueclusters", name, KUEUE, "")


def active(made: World, name: str) -> str:
    conditions = cluster(made, name).get("status", {}).get("conditions", [])
    return next((str(each["message"]) for each in conditions if each["type"] == "Active"), "")


async def ruled_out(made: World, name: str = "wl") -> dict[str, str | None]:
    explained = await made.running_daemon().inspector.explain(ObjectKey(NAMESPACE, name))
    assert explained is not None
    return {each["name"]: each["ruledOut"] and each["ruledOut"]["rule"] for each in explained["workers"]}


@pytest.mark.parametrize("kinds", [{}, {"hub": CORDONABLE}], ids=["by annotation", "by field"])
async def test_the_command_uses_the_field_where_the_hub_serves_it(
    tmp_path: Path, kinds: dict[str, tuple[ServedKind, ...]]
) -> None:
    async with running(tmp_path, "w1", "w2", kinds=kinds) as made:
        await cordon(made, "w1")
        stored = cluster(made, "w1")
        has_field = stored["spec"].get("unschedulable") is True
        assert has_field is bool(kinds)
        assert (stored["metadata"].get("annotations", {}).get(UNSCHEDULABLE) == "true") is not has_field
        made.queue()
        await made.until(lambda: made.holders() == ["w2"])
        await made.until(lambda: "cordoned" in active(made, "w1"))
        assert await ruled_out(made) == {"w1": "Cordoned", "w2": None}

        await cordon(made, "w1", "uncordon")
        await made.until(lambda: made.holders() == ["w1", "w2"])
        await made.until(lambda: "cordoned" not in active(made, "w1"))
        assert "unschedulable" not in cluster(made, "w1")["spec"]


@pytest.mark.parametrize(
    "mode", [{"mode": "AllAtOnce"}, {"mode": "Incremental"}, {"mode": "External"}], ids=lambda mode: mode["mode"]
)
async def test_all_dispatchers_obey(tmp_path: Path, mode: dict[str, Any]) -> None:
    async with running(tmp_path, "w1", "w2", dispatcher=mode) as made:
        await cordon(made, "w1")
        made.queue()
        if mode["mode"] == "External":
            made.hub.set_status("wl", lambda status: status.update(nominatedClusterNames=["w1", "w2"]))
        await made.until(lambda: made.holders() == ["w2"])
        await made.settled()
        assert "ruled out: w1 (it is cordoned)" in made.check()["message"]
        await made.pass_time(600)
        assert made.holders() == ["w2"]


async def test_running_work_stays_and_gates_stay_closed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        names = ("runs", "reserved", "waits")
        for name in names:
            made.queue(name)
        await made.until(lambda: all(made.holders(name) == ["w1", "w2"] for name in names))
        made["w1"].admit("runs")
        await made.until(lambda: made.check("runs")["state"] == "Ready")
        made["w1"].reserve("reserved")
        await made.settled()
        await cordon(made, "w1")
        made["w1"].block("waits")
        await made.until(lambda: made.holders("waits") == ["w2"])
        await made.settled()
        assert made.holders("runs") == ["w1"]
        assert made.holders("reserved") == ["w1", "w2"]
        made["w1"].admit("reserved")
        await made.until(lambda: made.check("reserved")["state"] == "Ready")
        made["w1"].finish("runs")
        await made.until(lambda: made.hub.condition("Finished", "runs"))


async def test_it_shows_in_lists_and_metrics(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        await cordon(made, "w1")
        await made.until(lambda: "cordoned" in active(made, "w1"))
        listed = await command(made, tmp_path / "s", "status", "workers")
        assert "Connected, cordoned" in listed.output
        assert "yes, cordoned" in (await worker(made, "list")).output
        value = made.running_daemon().metrics.registry.get_sample_value("turnstile_worker_cordoned", {"cluster": "w1"})
        assert value == 1.0


async def test_a_plan_leaves_a_cordoned_worker_out(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY}) as made:
        await cordon(made, "w2")
        await made.settled()
        found = await plan(made, tmp_path, urgent_job())
        assert {each["name"]: each["verdict"] for each in found["workers"]} == {"w1": "Preempts", "w2": "RuledOut"}
        assert found["chosen"]["worker"] == "w1"


async def test_what_is_not_there_cannot_be_cordoned_and_twice_is_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        result = await worker(made, "cordon", "w9")
        assert (result.exit_code, "no MultiKueueCluster w9" in result.output) == (2, True)
        assert (await worker(made, "cordon", "W 1")).exit_code == 2
        rehearsed = await worker(made, "cordon", "w1", "--dry-run")
        assert (rehearsed.exit_code, rehearsed.output) == (0, "would cordon w1\n")
        assert "annotations" not in cluster(made, "w1")["metadata"]
        await cordon(made, "w1")
        again = await worker(made, "cordon", "w1")
        assert (again.exit_code, again.output) == (0, "w1 is cordoned already\n")
        await cordon(made, "w1", "uncordon")
        assert "w1 is not cordoned" in (await worker(made, "uncordon", "w1")).output
