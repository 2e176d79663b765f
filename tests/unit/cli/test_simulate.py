"""`turnstile simulate`: manifests in, the story of several cycles out."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from manager.cli.app import app
from tests.support.builders import Json, at, cluster, cluster_queue, workload

QUEUE = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
HOLDER = workload("v").queue("A").request(cpu=3).holds("A")
WAITING = workload("p").queue("A").request(cpu=2).priority(10)
COST = "kueue.x-k8s.io/preemption-cost"
OBJECTS = cluster(QUEUE, HOLDER, WAITING)


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(OBJECTS))
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", "--now", at(10), *arguments])


def told(result: Result) -> Json:
    assert result.exit_code == 0, result.output
    data: Json = json.loads(result.output)
    return data


def test_a_table_tells_the_story(manifests: Path) -> None:
    result = run("-f", str(manifests))
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines()]
    assert rows[0] == ["CYCLE", "WORKLOAD", "CLUSTERQUEUE", "OUTCOME", "FLAVORS", "VICTIMS", "THEN"]
    assert rows[1] == ["1", "ns/p", "A", "Preempt", "main:cpu=f", "ns/v", "(InClusterQueue)", "heap"]
    assert rows[2] == ["2", "ns/p", "A", "Admit", "main:cpu=f", "-", "-"]
    assert rows[3] == ["3", "ns/v", "A", "PreemptNoCandidates", "main:cpu=f", "-", "parked"]
    assert "ended after 3 cycles: no workload is left to schedule" in result.output
    assert "A holds quota for: ns/p" in result.output
    assert "A has waiting: ns/v (parked)" in result.output


def test_json_carries_what_kueue_would_write(manifests: Path) -> None:
    data = told(run("-f", str(manifests), "-o", "json"))
    first = data["cycles"][0]
    evicted = next(write for write in first["writes"] if write["workload"] == "ns/v")
    assert [condition["type"] for condition in evicted["conditions"]] == ["Evicted", "Preempted"]
    assert evicted["patch"]["schedulingStats"]["evictions"][0]["count"] == 1
    assert [event["reason"] for event in evicted["events"]] == ["EvictedDueToPreempted", "Preempted"]
    assert data["final"] == {"reserving": {"A": ["ns/p"]}, "queues": {"heap": {}, "parked": {"A": ["ns/v"]}}}


def test_yaml_says_the_same(manifests: Path) -> None:
    result = run("-f", str(manifests), "-o", "yaml")
    assert yaml.safe_load(result.output) == told(run("-f", str(manifests), "-o", "json"))


def test_victims_that_go_on_terminating(manifests: Path) -> None:
    data = told(run("-f", str(manifests), "-o", "json", "--victims", "Terminating"))
    assert data["ending"] == "Quiet"
    assert data["final"]["reserving"] == {"A": ["ns/v"]}


def test_a_number_of_cycles(manifests: Path) -> None:
    data = told(run("-f", str(manifests), "-o", "json", "--cycles", "1"))
    assert (len(data["cycles"]), data["ending"]) == (1, "Limit")


def test_costs_that_entered_a_decision_are_told(tmp_path: Path) -> None:
    """Two equals: the one that was reserved last is dear, so the other one goes."""
    cheap = workload("cheap").queue("A").request(cpu=2).holds("A", since=1).annotate(COST, "2")
    dear = workload("dear").queue("A").request(cpu=2).holds("A", since=5).annotate(COST, "9")
    path = tmp_path / "costs.yaml"
    path.write_text(yaml.safe_dump_all(cluster(QUEUE, cheap, dear, WAITING)))
    with_costs = ("-f", str(path), "--feature-gates", "PreemptionCost=true")
    assert "ns/cheap (InClusterQueue, cost 2)" in run(*with_costs).output
    (victim,) = told(run(*with_costs, "-o", "json"))["cycles"][0]["entries"][0]["victims"]
    assert (victim["workload"], victim["preemptionCost"]) == ("ns/cheap", 2)
    assert "ns/dear (InClusterQueue)" in run("-f", str(path)).output


def test_chance_is_told(tmp_path: Path) -> None:
    queues = [cluster_queue(name).cohort("pool").quota("f", cpu=cpu) for name, cpu in (("A", 0), ("B", 0), ("C", 4))]
    equal = [workload(name).queue(queue).request(cpu=4) for name, queue in (("w1", "A"), ("w2", "B"))]
    path = tmp_path / "tie.yaml"
    path.write_text(yaml.safe_dump_all(cluster(*queues, *equal)))
    assert "this is one of 2 possible outcomes" in run("-f", str(path)).output
    alternatives = told(run("-f", str(path), "-o", "json"))["alternatives"]
    assert sorted(str(history["final"]["reserving"]) for history in alternatives) == [
        "{'A': ['ns/w1']}",
        "{'B': ['ns/w2']}",
    ]


def test_time_passes_until(tmp_path: Path) -> None:
    rotating = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerOrNewerEqualPriority")
    equal = workload("p").queue("A").request(cpu=4).created(5)
    objects = cluster(rotating.min_admit_duration("1h"), HOLDER, equal)
    path = tmp_path / "rotation.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    gate = ("--feature-gates", "TimeBasedSamePriorityPreemption=true")
    asleep = told(run("-f", str(path), "-o", "json", *gate))
    assert asleep["nextWake"] == at(60)
    awake = told(run("-f", str(path), "-o", "json", *gate, "--until", at(61)))
    assert [cycle["entries"][0]["outcome"] for cycle in awake["cycles"][:3]] == [
        "PreemptNoCandidates",
        "Preempt",
        "Admit",
    ]


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (["--now", "yesterday"], "--now: 'yesterday' is not a time"),
        (["--until", "later"], "--until: 'later' is not a time"),
        (["--cycles", "0"], "--cycles"),
        (["--victims", "Gone"], "--victims"),
        (["--feature-gates", "Nope=true"], "unknown feature gate 'Nope'"),
    ],
)
def test_bad_options_get_one_clear_error(manifests: Path, arguments: list[str], want: str) -> None:
    result = run("-f", str(manifests), *arguments)
    assert result.exit_code == 2
    assert want in result.output
    assert "Traceback" not in result.output
