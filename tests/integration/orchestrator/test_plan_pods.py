"""`turnstile plan` below the quota: the pods that it names are those that go once the job is submitted."""

import asyncio
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from manager.cli.app import app
from tests.integration.orchestrator.forecasting import passing, queue, tenant
from tests.integration.orchestrator.kueue import Obj
from tests.integration.orchestrator.planning import (
    open_hub,
    plan,
    plan_of,
    planned,
    urgent_job,
    write,
    write_configuration,
)
from tests.integration.orchestrator.pod_scheduling import (
    HIGH,
    StandInScheduler,
    make_pods,
    pod_sets,
    running_pod,
    with_pods,
)
from tests.integration.orchestrator.world import World
from tests.support.pod_builders import node

QUEUES = [queue(), tenant("low")]
STAGE = [
    node("n1"),
    node("n2"),
    running_pod("low-0", 2, "n1", workload="low"),
    running_pod("old", 2, "n1", minute=1),
    running_pod("young", 4, "n2", minute=30),
]


def wanted(cpu: int = 4) -> Obj:
    """Return a job whose pods are more important than those that run."""
    document = urgent_job(cpu=cpu)
    document["spec"]["template"]["spec"]["priorityClassName"] = HIGH
    return document


async def begun(made: World) -> None:
    open_hub(made)
    await passing(made, lambda: made["w1"].condition("Admitted", "low"))
    await made.settled()


async def test_quota_victims_and_pod_victims_are_told_apart_and_both_come(tmp_path: Path) -> None:
    async with with_pods(tmp_path, QUEUES, STAGE) as made:
        await begun(made)
        (worker,) = (await plan(made, tmp_path, wanted()))["workers"]
        assert (worker["verdict"], [victim["workload"] for victim in worker["victims"]]) == ("Preempts", ["team/low"])
        pods = worker["pods"]
        assert (pods["verdict"], pods["mode"], pods["pods"], pods["complete"]) == ("Evicts", "1.36", 1, True)
        promised = {victim["pod"] for victim in pods["victims"]}
        assert promised == {"team/young"}

        sets = pod_sets(4)
        made.submit_ownerless("wl", podSets=sets, priority=100)
        made.hub.reserve("wl")
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert made["w1"].condition("Preempted", "low") is not None
        made["w1"].delete("pods", "low-0")
        make_pods(made["w1"], sets)
        StandInScheduler(made["w1"]).run()
        gone = {f"team/{name}" for name in ("old", "young") if made["w1"].find("pods", name) is None}
        assert gone == promised


async def test_the_screen_has_a_table_of_its_own_for_pods(tmp_path: Path) -> None:
    async with with_pods(tmp_path, QUEUES, STAGE) as made:
        await begun(made)
        result = await planned(made, tmp_path, wanted())
        assert result.exit_code == 0, result.stderr
        rows = [line.split() for line in result.stdout.splitlines()]
        assert rows[rows.index(["ON", "PODS", "WOULD", "EVICTED", "MESSAGE"]) + 1] == ["w1", "1", "Evicts", "1", "-"]
        head = rows.index(["ON", "EVICTED", "POD", "NODE", "PRIORITY", "RUNNING"])
        assert rows[head + 1][:4] == ["w1", "team/young", "n2", "0"]
        wide = await planned(made, tmp_path, wanted(), options=("-o", "wide"))
        assert "OUTCOMES  RULES" in wide.stdout


async def test_where_the_quota_is_not_there_nothing_is_said_of_pods(tmp_path: Path) -> None:
    async with with_pods(tmp_path, QUEUES, STAGE) as made:
        await begun(made)
        result = await planned(made, tmp_path, wanted(cpu=8), options=("-o", "json"))
        (worker,) = plan_of(result.stdout)["workers"]
        assert (worker["verdict"], worker["pods"]) == ("Cannot", None)


async def test_what_is_not_modelled_is_said_and_the_quota_is_planned_all_the_same(tmp_path: Path) -> None:
    document = wanted()
    constraint: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    document["spec"]["template"]["spec"]["topologySpreadConstraints"] = [constraint]
    async with with_pods(tmp_path, QUEUES, STAGE) as made:
        await begun(made)
        (worker,) = (await plan(made, tmp_path, document))["workers"]
        assert (worker["verdict"], worker["pods"]["verdict"]) == ("Preempts", "Unsupported")
        assert "topologySpreadConstraints" in worker["pods"]["message"]


async def test_without_a_daemon_it_is_said_that_pods_were_not_looked_at(tmp_path: Path) -> None:
    async with with_pods(tmp_path, QUEUES, STAGE) as made:
        await begun(made)
        await made.stop()
        configuration = write_configuration(
            made, tmp_path / "turnstile.yaml", workers=[{"name": "w1", "podForecast": True}]
        )
        file = write(tmp_path / "job.yaml", wanted())
        arguments = ["plan", "-f", str(file), "--config", str(configuration), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == 0, result.stderr
        (worker,) = plan_of(result.stdout)["workers"]
        assert worker["pods"] is None
        assert worker["notes"] == ["pods were not looked at (podForecast): only a daemon follows them"]
