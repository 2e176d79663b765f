"""`turnstile plan`: what it says about a job, and that it happens once the job is submitted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gates.planning.choosing import ONLY_PREEMPTING
from localcluster.cluster import Partition
from localcluster.kueue.profile import CURRENT
from manager.cli.app import app
from tests.integration.orchestrator.forecasting import forecasting, passing, pods, queue, tenant
from tests.integration.orchestrator.kueue import Obj
from tests.integration.orchestrator.planning import (
    FULL,
    ROOMY,
    URGENT,
    open_hub,
    plan,
    plan_of,
    planned,
    planning,
    urgent_job,
    write,
    write_configuration,
)
from tests.integration.orchestrator.world import World
from tests.support.builders import Builder

SMALL: list[Builder] = [queue(2)]


def submit(made: World, cpu: int = 4, count: int = 1) -> None:
    """Submit the job that was planned, as hub Kueue makes its Workload."""
    pod_sets = pods(cpu)
    pod_sets[0]["count"] = count
    made.submit_ownerless("wl", podSets=pod_sets, priority=URGENT)
    made.hub.reserve("wl")


async def test_a_job_goes_where_the_plan_says_that_it_fits(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY, "w3": SMALL}) as made:
        found = await plan(made, tmp_path, urgent_job())
        verdicts = {each["name"]: each["verdict"] for each in found["workers"]}
        assert verdicts == {"w1": "Preempts", "w2": "Fits", "w3": "Cannot"}
        assert found["chosen"]["worker"] == "w2"
        assert made.holders() == [], "planning changes nothing"

        submit(made)
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert made.status()["clusterName"] == "w2"
        assert made["w1"].condition("Evicted", "low") is None


async def test_the_victims_of_a_plan_are_those_that_are_preempted(tmp_path: Path) -> None:
    both: list[Builder] = [queue(), tenant("low", 1), tenant("mid", 3, priority=5)]
    async with planning(tmp_path, {"w1": both, "w3": SMALL}) as made:
        found = await plan(made, tmp_path, urgent_job(cpu=3))
        (preempting, _) = found["workers"]
        assert found["chosen"] == {
            "worker": "w1",
            "why": ONLY_PREEMPTING,
            "others": [],
        }
        victims = {victim["workload"] for victim in preempting["victims"]}
        assert victims == {"team/mid"}
        (victim,) = preempting["victims"]
        assert (victim["priority"], victim["pods"], victim["reason"]) == (5, 1, "InClusterQueue")

        submit(made, cpu=3)
        await passing(made, lambda: made.check()["state"] == "Ready")
        evicted = {name for name in ("low", "mid") if made["w1"].condition("Preempted", name) is not None}
        assert {f"team/{name}" for name in evicted} == victims


async def test_what_fits_nowhere_does_not_run_and_the_largest_size_does(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w2": ROOMY, "w3": SMALL}) as made:
        result = await planned(made, tmp_path, urgent_job(cpu=1, pods=12), options=("-o", "json"))
        assert result.exit_code == 1
        found = plan_of(result.stdout)
        assert found["chosen"]["worker"] == ""
        assert {each["name"]: each["missing"] for each in found["workers"]} == {
            "w2": [{"podSet": "main", "flavor": "f", "resource": "cpu", "missing": "6", "overCapacity": "4"}],
            "w3": [{"podSet": "main", "flavor": "f", "resource": "cpu", "missing": "10", "overCapacity": "10"}],
        }
        assert found["largest"]["withoutPreemption"] == {"size": 6, "worker": "w2"}
        assert found["largest"]["withPreemption"] == {"size": 8, "worker": "w2"}

        submit(made, cpu=1, count=6)
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert made.status()["clusterName"] == "w2"
        assert made["w2"].condition("Evicted", "other") is None


async def test_the_screen(tmp_path: Path) -> None:
    dear = tenant("low").annotate("kueue.x-k8s.io/preemption-cost", "7")
    async with planning(tmp_path, {"w1": [queue(), dear], "w3": SMALL}) as made:
        await made.clock.advance(90)
        result = await planned(made, tmp_path, urgent_job())
        assert result.exit_code == 0, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0] == "Job team/train: LocalQueue main, priority 100, pods: 1 of main"
        assert [line.split()[:6] for line in lines[1:4]] == [
            ["WORKER", "WOULD", "FLAVORS", "VICTIMS", "LARGEST", "PREEMPTING"],
            ["w1", "Preempts", "cpu=f", "1", "0", "1"],
            ["w3", "Cannot", "-", "0", "0", "0"],
        ]
        assert lines[5].split() == ["ON", "VICTIM", "OWNER", "PRIORITY", "RUNNING", "COST", "REASON"]
        assert lines[6].split()[:4] == ["w1", "team/low", "-", "0"]
        assert lines[6].endswith("7 (not counted)  InClusterQueue")
        assert lines[9].split() == ["w3", "main", "cpu", "f", "2", "2"]
        assert lines[-2:] == [
            f"goes to: w1: {ONLY_PREEMPTING}",
            "largest: pod set main: none without preemption, 1 on w1 with preemption",
        ]
        wide = await planned(made, tmp_path, urgent_job(), options=("-o", "wide"))
        assert "ACCELERATOR-S LOST" in wide.stdout
        assert wide.stdout.splitlines()[-1] == "note: assumes that ClusterQueue cq on the hub has quota for it"
        name = await planned(made, tmp_path, urgent_job(), options=("-o", "name"))
        assert name.stdout == "multikueuecluster.kueue.x-k8s.io/w1\n"


async def test_several_jobs_are_planned_each_by_itself(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w2": ROOMY}) as made:
        small, large = urgent_job("small", 1), urgent_job("large", 99)
        result = await planned(made, tmp_path, small, large, options=("-o", "json"))
        assert result.exit_code == 1, "one of them fits nowhere"
        document = json.loads(result.stdout)
        assert document["kind"] == "PlanList"
        assert [each["takes"] for each in document["items"]] == [True, False]


async def test_a_worker_that_is_away_does_not_hide_the_others(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY}) as made:
        await made.cut("w2")
        found = await plan(made, tmp_path, urgent_job())
        assert [each["verdict"] for each in found["workers"]] == ["Preempts", "Unreachable"]
        assert found["workers"][1]["message"]
        await made.cut("w1")
        result = await planned(made, tmp_path, urgent_job())
        assert result.exit_code == 3
        assert "no worker is known to admit it" in result.stdout


async def test_a_worker_that_does_not_know_the_kind_of_job_never_gets_it(tmp_path: Path) -> None:
    kinds = {"w1": tuple(kind for kind in CURRENT.kinds() if kind.group != "ray.io")}
    jobs = {"integrations": ["batch/job", "ray.io/raycluster"]}
    async with planning(tmp_path, {"w1": ROOMY}, kinds=kinds, jobs=jobs) as made:
        head = {"template": urgent_job()["spec"]["template"]}
        cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"headGroupSpec": head}}
        result = await planned(
            made, tmp_path, {**cluster, "metadata": urgent_job()["metadata"]}, options=("-o", "json")
        )
        assert result.exit_code == 1, result.stderr
        (worker,) = plan_of(result.stdout)["workers"]
        assert (worker["verdict"], worker["message"]) == (
            "Cannot",
            "it does not serve ray.io/v1, Kind=RayCluster, so that such jobs never go there",
        )


def odd(**fields: Any) -> Obj:
    return {**urgent_job(), **fields}


REFUSED: dict[str, tuple[Obj, str]] = {
    "a queue that is not there": (
        odd(metadata={"name": "x", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "other"}}),
        'there is no LocalQueue "team/other" on the hub',
    ),
    "a priority class that is not there": (
        odd(
            metadata={
                "name": "x",
                "namespace": "team",
                "labels": {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": "none"},
            }
        ),
        'there is no WorkloadPriorityClass "none" on the hub',
    ),
    "no pods": (odd(spec={}), "spec is missing: must be a map"),
    "S1: more pod sets than Kueue takes": (
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "x"},
            "spec": {"podSets": [{"name": f"p{number}", "count": 1, "template": {}} for number in range(19)]},
        },
        "spec.podSets has 19 pod sets: must be at most 18",
    ),
    "S1: more containers than anybody needs": (
        odd(spec={"template": {"spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(101)]}}}),
        "as a Workload, spec.podSets have 101 containers in all: must be at most 100",
    ),
    "a kind that is not taken": (
        odd(kind="Deployment", apiVersion="apps/v1"),
        '"apps/v1 Deployment" is not allowed: must be one of kueue.x-k8s.io/v1beta2 Workload, batch/v1 Job',
    ),
}


async def test_what_cannot_be_planned_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w2": ROOMY}) as made:
        for document, message in REFUSED.values():
            result = await planned(made, tmp_path, document)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith(f"error: {tmp_path}/job.yaml: {message}")
            assert len(result.stderr.splitlines()) == 1
        padding = {"big": "x" * (1 << 20)}
        large = await planned(made, tmp_path, odd(metadata={"name": "x", "annotations": padding}))
        assert large.exit_code == 2
        assert large.stderr.startswith(f"error: {tmp_path}/job.yaml: the manifest has 10")
        assert large.stderr.endswith(" bytes: must be at most 1000000\n")
        spec: Obj = {"namespaceSelector": {}}
        made.hub.create("clusterqueues", {"metadata": {"name": "here"}, "spec": spec}, "kueue.x-k8s.io")
        made.hub.create(
            "localqueues", {"metadata": {"name": "here"}, "spec": {"clusterQueue": "here"}}, "kueue.x-k8s.io", "team"
        )
        document = urgent_job()
        document["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "here"
        local = await planned(made, tmp_path, document)
        assert local.exit_code == 2
        assert 'LocalQueue "team/here" leads to ClusterQueue "here", which has no AdmissionCheck' in local.stderr


async def test_without_a_daemon_the_clusters_themselves_are_asked(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY, "w3": SMALL}) as made:
        with_daemon = await plan(made, tmp_path, urgent_job())
        await made.stop()
        configuration = write_configuration(made, tmp_path / "turnstile.yaml")
        arguments = ["plan", "-f", str(tmp_path / "job.yaml"), "--config", str(configuration), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == 0, result.stderr
        without = plan_of(result.stdout)
        assert (with_daemon.pop("source"), without.pop("source")) == ("daemon", "clusters")
        for found in (with_daemon, without):
            del found["asOf"]  # the command's clock is not the test's
            for worker in found["workers"]:
                for victim in worker["victims"]:
                    del victim["runningSeconds"], victim["runningSince"]
                worker.pop("cost")
        assert without == with_daemon


async def test_without_a_daemon_one_dead_worker_does_not_hide_the_others(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY}) as made:
        await made.stop()
        await made["w2"].local.partition(Partition.REFUSED)
        configuration = write_configuration(made, tmp_path / "turnstile.yaml")
        file = write(tmp_path / "job.yaml", urgent_job())
        arguments = ["plan", "-f", str(file), "--config", str(configuration), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert result.exit_code == 0, result.stderr
        assert [each["verdict"] for each in plan_of(result.stdout)["workers"]] == ["Preempts", "Unreachable"]
        await made["w2"].local.heal()


async def test_without_daemon_and_file_the_hub_of_the_kubeconfig_is_planned_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("manager.cli.conventions.configuration.CONFIG_FILE", str(tmp_path / "none.yaml"))
    monkeypatch.delenv("TURNSTILE_CONFIG", raising=False)
    async with forecasting(tmp_path, {"w1": FULL}) as made:
        open_hub(made)
        await made.until(lambda: made["w1"].condition("Admitted", "low"))
        file = write(tmp_path / "job.yaml", urgent_job())
        hub = ("--kubeconfig", str(made.hub.local.kubeconfig_path), "--socket", str(tmp_path / "none"))
        result = await asyncio.to_thread(CliRunner().invoke, app, ["plan", "-f", str(file), *hub, "-o", "json"])
    assert result.exit_code == 0, result.stderr
    first, second = result.stderr.splitlines()
    assert first.endswith("; planning from the clusters instead")
    assert second.startswith(f"{tmp_path}/none.yaml does not exist; using the defaults and the hub of context ")
    assert [each["verdict"] for each in plan_of(result.stdout)["workers"]] == ["Preempts"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-f", "job.yaml", "--socket", "none"), 3, "error: the clusters cannot be read: "),
        ((), 2, "error: nothing to plan: give a file with -f, or - for standard input\n"),
        (("-f", "none.yaml"), 2, "error: none.yaml: does not exist\n"),
        (("-f", "job.yaml", "--config", "none.yaml"), 2, "error: none.yaml: "),
    ],
    ids=["no daemon", "no file", "a file that is not there", "a configuration that is not there"],
)
def test_what_is_needed_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNSTILE_CONFIG", str(tmp_path / "absent.yaml"))
    write(tmp_path / "job.yaml", urgent_job())
    result = CliRunner().invoke(app, ["plan", *arguments])
    assert (result.exit_code, result.stdout) == (code, "")
    *notes, error = result.stderr.splitlines(keepends=True)
    assert error.startswith(message)
    assert len(notes) == (code == 3), "that no daemon answers"
