"""`turnstile predict-pods`: objects in, forecasts out, and one clear line for whatever cannot be used."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from manager.cli.app import app
from tests.support.builders import Json
from tests.support.pod_builders import budget, gang, group, node, pod

OBJECTS = [node("n1"), pod("a", 4, 1, on="n1", app="x"), pod("p", 2, 10), budget("x")]
TIED = [node("n1"), node("n2"), pod("a", 4, 1, on="n1"), pod("b", 4, 1, on="n2"), pod("p", 4, 10)]
GANG = [
    node("n1"),
    pod("a", 4, 1, on="n1"),
    *gang("pg", 10, pod("p1", 2, 10, group="pg"), pod("p2", 2, 10, group="pg")),
]


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["predict-pods", *arguments], input=stdin)


def of(tmp_path: Path, objects: list[Json]) -> str:
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def forecasts(result: Result) -> list[Json]:
    assert result.exit_code == 0, result.output
    found: list[Json] = json.loads(result.output)["items"]
    return found


def test_a_table_with_reasons(tmp_path: Path) -> None:
    result = run("-f", of(tmp_path, OBJECTS))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[:2] == [
        "KIND  NAME       RESULT      EVICTED UNITS  PODS  NODES",
        "Pod   default/p  preempting  1              1     n1",
    ]
    assert "  would evict Pod default/a of priority 1, violating a PodDisruptionBudget" in lines
    assert "  would nominate default/p to n1" in lines
    assert (
        "  node n1: Candidate (chosen): 1 pods, 1 budget violations, highest priority 1; default/a of priority 1, "
        "which would violate a budget must be evicted on n1: cpu: needs 2, 0 free"
    ) in lines


def test_json_carries_the_data(tmp_path: Path) -> None:
    (found,) = forecasts(run("-f", of(tmp_path, OBJECTS), "-o", "json", "--pod", "default/p"))
    assert (found["kind"], found["name"], found["mode"], found["result"]) == ("Pod", "default/p", "1.37", "preempting")
    assert found["victims"] == ["default/a"]
    assert found["nominated"] == {"default/p": "n1"}
    assert found["units"][0]["violating"] is True
    (verdict,) = found["explanation"]["nodes"]
    assert verdict["score"]["budgetViolations"] == 1
    assert verdict["reprieve"][0]["shortages"] == [{"resource": "cpu", "requested": "2", "free": "0"}]


def test_all_possibilities_are_listed(tmp_path: Path) -> None:
    (found,) = forecasts(run("-f", of(tmp_path, TIED), "-o", "json"))
    assert [each["victims"] for each in found["alternatives"]] == [["default/b"]]
    assert found["alternativesComplete"] is True
    assert "possibility 1: preempting, victims default/b, default/p to n2" in run("-f", of(tmp_path, TIED)).output


@pytest.mark.parametrize(("mode", "places"), [("1.37", {"default/p1": "n1", "default/p2": "n1"}), ("1.36", {})])
def test_a_group_by_mode(tmp_path: Path, mode: str, places: dict[str, str]) -> None:
    (found,) = forecasts(run("-f", of(tmp_path, GANG), "-o", "json", "--pod-group", "pg", "--mode", mode))
    assert (found["kind"], found["victims"], found["nominated"]) == ("PodGroup", ["default/a"], places)


def test_the_mode_of_the_kep_says_that_no_release_behaves_so(tmp_path: Path) -> None:
    for mode, want in (("kep", True), ("v1.37", False)):
        (found,) = forecasts(run("-f", of(tmp_path, GANG), "-o", "json", "--pod-group", "pg", "--mode", mode))
        assert any("upstream dropped delayed preemption" in warning for warning in found["warnings"]) == want


def test_yaml_and_a_list_on_standard_input() -> None:
    listed = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": OBJECTS})
    result = run("-f", "-", "-o", "yaml", stdin=listed)
    assert yaml.safe_load(result.output)["items"][0]["victims"] == ["default/a"]


def test_nothing_is_pending(tmp_path: Path) -> None:
    assert run("-f", of(tmp_path, OBJECTS[:2])).output == "no pod is pending\n"


def test_what_is_not_modelled_is_said(tmp_path: Path) -> None:
    claims = pod("p", 1, 10, spec={"resourceClaims": [{"name": "gpu"}]})
    result = run("-f", of(tmp_path, [node("n1"), claims]))
    assert 'unsupported: Pod "default/p": spec.resourceClaims' in result.output
    (found,) = forecasts(run("-f", of(tmp_path, [node("n1"), claims]), "-o", "json"))
    assert found["reason"]["code"] == 'Unsupported:Pod "default/p": spec.resourceClaims'


def test_remarks_on_accepted_groups_are_shown(tmp_path: Path) -> None:
    basic = group("g", 1, minimum=None, mode="all")
    result = run("-f", of(tmp_path, [*OBJECTS, basic]))
    assert 'warning: PodGroup "default/g": spec.disruptionMode: KEP-5710 allows' in result.output


REFUSED = {
    "nothing given": ([], "nothing to predict from"),
    "both asked for": (["-f", "x", "--pod", "p", "--pod-group", "g"], "--pod and --pod-group exclude each other"),
    "no such file": (["-f", "missing.yaml"], "missing.yaml: does not exist"),
}


@pytest.mark.parametrize(("arguments", "want"), REFUSED.values(), ids=REFUSED)
def test_refused_arguments(arguments: list[str], want: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert want in result.output


BAD = {
    "an unknown node": (
        [node("n1"), pod("a", 1, on="n9")],
        'error: Pod "default/a": spec.nodeName: there is no Node "n9"',
    ),
    "a negative request": ([pod("a", -1)], "spec.containers[0].resources.requests[cpu]"),
    "a group that a server refuses": (
        [group("g", 1, minimum=0)],
        'PodGroup.scheduling.k8s.io "g" is invalid: spec.schedulingPolicy.gang.minCount: Required value',
    ),
    "a typo in the name": (OBJECTS, "--pod q: there is no pending Pod default/q, did you mean default/p?"),
}


@pytest.mark.parametrize(("objects", "want"), BAD.values(), ids=BAD)
def test_bad_objects_get_one_line(tmp_path: Path, objects: list[Json], want: str) -> None:
    result = run("-f", of(tmp_path, objects), "--pod", "q")
    assert result.exit_code == 2
    assert want in result.output
    assert len(result.output.splitlines()) == 1


def line(**changes: object) -> str:
    given = {"nodes": [node("n1")], "pods": [pod("a", 4, 1, on="n1"), pod("p", 4, 10)]}
    asked = {"preemptor": {"kind": "Pod", "namespace": "default", "name": "p"}}
    return json.dumps({"name": "s", "input": {**given, **asked, **changes}})


def test_batch_answers_every_line_for_every_release() -> None:
    result = run("--batch", stdin=f"{line()}\n\n{line()}\n")
    first, second = map(json.loads, result.output.splitlines())
    want = {"result": "preempting", "victims": ["default/a"], "nominated": {"default/p": "n1"}, "bound": {}}
    assert first == second == {"name": "s", "expect": {release: {"outcomes": [want]} for release in ("1.36", "1.37")}}


def test_batch_says_what_is_not_modelled() -> None:
    gated = pod("p", 1, 10, spec={"schedulingGates": [{"name": "x"}]})
    (answer,) = map(json.loads, run("--batch", stdin=line(pods=[gated])).output.splitlines())
    assert answer == {"name": "s", "unsupported": 'Pod "default/p": spec.schedulingGates'}


BAD_LINES = {
    "not JSON": ("{", "the line is not JSON"),
    "not an object": ("[]", "the line is not a JSON object"),
    "no input": ('{"name": "s"}', "input is missing or not an object"),
    "no preemptor": (line(preemptor=None), "input.preemptor is missing or not an object"),
    "another kind": (line(preemptor={"kind": "Job"}), 'input.preemptor.kind: "Job" is not allowed: Pod, PodGroup'),
    "nodes that are no list": (line(nodes={}), "input.nodes is not a list"),
    "a node that is no object": (line(nodes=[7]), "input.nodes[0] is not an object"),
    "a pod on an unknown node": (line(pods=[pod("a", on="n9")]), 'Pod "default/a": spec.nodeName'),
    "no pod of that name": (
        line(preemptor={"kind": "Pod", "name": "q"}),
        "Pod default/q is not waiting for a node",
    ),
}


@pytest.mark.parametrize(("text", "want"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_gets_an_error_and_the_run_goes_on(text: str, want: str) -> None:
    bad, good = map(json.loads, run("--batch", stdin=f"{text}\n{line()}\n").output.splitlines())
    assert want in bad["error"]
    assert "expect" in good
