"""`turnstile predict`: manifests in, answers out, and one clear line for whatever cannot be used."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from config.api.meta import not_a_time
from manager.cli.app import app
from tests.support.builders import Json, at, cluster, cluster_queue, workload

QUEUE = cluster_queue("A").quota("f", cpu=4).preemption(within="LowerPriority")
HOLDER = workload("v").queue("A").request(cpu=3).holds("A")
WAITING = workload("p").queue("A").request(cpu=2).priority(10)
OBJECTS = cluster(QUEUE, HOLDER, WAITING)


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["predict", *arguments], input=stdin)


def as_list(objects: list[Json]) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects})


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(OBJECTS))
    return path


def predictions(result: Result) -> list[Json]:
    assert result.exit_code == 0, result.output
    found: list[Json] = json.loads(result.output)["items"]
    return found


def test_a_table_with_reasons(manifests: Path) -> None:
    result = run("-f", str(manifests), "--now", at(10))
    assert result.exit_code == 0
    assert result.output.splitlines()[:2] == [
        "WORKLOAD  CLUSTERQUEUE  OUTCOME  FLAVORS     BORROWS  VICTIMS",
        "ns/p      A             Preempt  main:cpu=f  0        1",
    ]
    assert "would preempt ns/v in ClusterQueue A (InClusterQueue)" in result.output
    assert "cpu in flavor f: needs 2, 1 free, 4 at most (4 nominal): preempt" in result.output
    assert "its own ClusterQueue: 1 of 1 could be preempted" in result.output


def test_json_carries_the_numbers(manifests: Path) -> None:
    (answer,) = predictions(run("-f", str(manifests), "-o", "json", "--workload", "ns/p"))
    assert answer["outcome"] == "Preempt"
    assert answer["victims"] == [
        {"namespace": "ns", "name": "v", "clusterQueue": "A", "reason": "InClusterQueue"},
    ]
    assert answer["podSets"][0]["usage"] == {"cpu": "2"}
    assert answer["explanation"][0]["available"] == "1"


def test_preemption_costs_that_entered_the_decision_are_shown(tmp_path: Path) -> None:
    cost = "kueue.x-k8s.io/preemption-cost"
    objects = [
        raw if raw["metadata"]["name"] != "v" else {**raw, "metadata": {**raw["metadata"], "annotations": {cost: "7"}}}
        for raw in OBJECTS
    ]
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    gates = ("--feature-gates", "PreemptionCost=true")
    text = run("-f", str(path), "--now", at(10), *gates).output
    assert "would preempt ns/v in ClusterQueue A (InClusterQueue) at a cost of 7" in text
    assert "its own ClusterQueue: 1 of 1 could be preempted, at costs from 7 to 7" in text
    (answer,) = predictions(run("-f", str(path), "-o", "json", "--workload", "ns/p", *gates))
    assert answer["victims"][0]["preemptionCost"] == 7
    assert answer["explanation"][0]["candidates"][0]["costs"] == {"lowest": 7, "highest": 7}
    (without,) = predictions(run("-f", str(path), "-o", "json", "--workload", "ns/p"))
    assert "preemptionCost" not in without["victims"][0]


def test_yaml_says_the_same_as_json(manifests: Path) -> None:
    in_yaml = yaml.safe_load(run("-f", str(manifests), "-o", "yaml").output)
    assert in_yaml["items"] == predictions(run("-f", str(manifests), "-o", "json"))


@pytest.mark.parametrize(
    "text",
    [yaml.safe_dump_all(OBJECTS), as_list(OBJECTS), json.dumps({"kind": "List", "items": OBJECTS})],
    ids=["several documents", "a YAML list", "a JSON list"],
)
def test_standard_input(text: str) -> None:
    (answer,) = predictions(run("-f", "-", "-o", "json", stdin=text))
    assert answer["workload"] == "ns/p"


def test_a_directory_and_unquoted_times(tmp_path: Path) -> None:
    for number, raw in enumerate(OBJECTS):
        text = yaml.safe_dump(raw).replace("'2026-01-01T00:00:00Z'", "2026-01-01T00:00:00Z")
        (tmp_path / f"{number}.yml").write_text(text)
    (tmp_path / "notes.txt").write_text("not a manifest")
    (answer,) = predictions(run("-f", str(tmp_path), "-o", "json"))
    assert answer["outcome"] == "Preempt"


def test_the_configuration_and_gates_are_heeded(manifests: Path, tmp_path: Path) -> None:
    configuration = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "fairSharing": {}}
    path = tmp_path / "configuration.yaml"
    path.write_text(yaml.safe_dump(configuration))
    boosted = HOLDER.annotate("kueue.x-k8s.io/priority-boost", "50")
    manifests.write_text(yaml.safe_dump_all(cluster(QUEUE, boosted, WAITING)))
    for arguments, want in ([(), "Preempt"], [("--feature-gates", "PriorityBoost=true"), "PreemptNoCandidates"]):
        (answer,) = predictions(run("-f", str(manifests), "-f", str(path), "-o", "json", *arguments))
        assert answer["outcome"] == want


ASSUMED = "assumed-defaults: Kueue's Configuration is not known; predicted as Kueue v0.19.1 with its defaults"
CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


@pytest.mark.parametrize(
    ("objects", "arguments", "want"),
    [
        pytest.param(OBJECTS, (), True, id="nothing is known"),
        pytest.param([*OBJECTS, CONFIGURATION], (), False, id="an empty Configuration"),
        pytest.param(OBJECTS, ("--feature-gates", "PartialAdmission=true"), False, id="gates are given"),
        pytest.param(OBJECTS, ("--fair-sharing", "default"), False, id="fair sharing is given"),
    ],
)
def test_defaults_that_were_assumed_are_named(objects: list[Json], arguments: tuple[str, ...], want: bool) -> None:
    (answer,) = predictions(run("-f", "-", "-o", "json", *arguments, stdin=as_list(objects)))
    assert (ASSUMED in answer["labels"]) == want


def test_a_configuration_that_blocks_admission_is_not_predicted() -> None:
    blocking = CONFIGURATION | {"waitForPodsReady": {"blockAdmission": True}}
    (answer,) = predictions(run("-f", "-", "-o", "json", stdin=as_list([*OBJECTS, blocking])))
    assert answer["outcome"] == "Unsupported"
    assert "waitForPodsReady.blockAdmission" in answer["message"]


def test_an_object_that_no_cluster_would_store_is_named() -> None:
    broken = QUEUE.borrowing_limit("f", cpu=1)
    (answer,) = predictions(run("-f", "-", "-o", "json", stdin=as_list(cluster(broken, HOLDER, WAITING))))
    field = "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit"
    assert answer["labels"][1] == (
        f"not-storable: ClusterQueue A: {field}: is allowed only while spec.cohortName is set "
        "(refused by Kueue's API validation)"
    )


def test_fair_sharing_can_be_switched_on(manifests: Path) -> None:
    lender = cluster_queue("C").cohort("pool").quota("f", cpu=6)
    sharers = [cluster_queue(name).cohort("pool").quota("f", cpu=0).preemption(reclaim="Any") for name in ("A", "B")]
    holder = workload("v").queue("B").request(cpu=6).holds("B")
    manifests.write_text(yaml.safe_dump_all(cluster(lender, *sharers, holder, WAITING)))
    for strategies, want in [("default", "Preempt"), ("LessThanOrEqualToFinalShare", "PreemptNoCandidates")]:
        (answer,) = predictions(run("-f", str(manifests), "-o", "json", "--fair-sharing", strategies))
        assert answer["outcome"] == want


def test_names_are_those_that_kubectl_takes(manifests: Path) -> None:
    assert run("-f", str(manifests), "-o", "name").output == "workload.kueue.x-k8s.io/p\n"


def test_a_key_that_is_given_twice_is_refused(manifests: Path) -> None:
    manifests.write_text("kind: Workload\nkind: Job\n")
    result = run("-f", str(manifests))
    assert (result.exit_code, result.output) == (2, f'error: {manifests}: "kind" is given twice (line 2)\n')


def test_nothing_pending(manifests: Path) -> None:
    manifests.write_text(yaml.safe_dump_all(cluster(QUEUE, HOLDER)))
    assert run("-f", str(manifests)).output == "no workload is pending\n"


BROKEN_QUOTA = cluster(cluster_queue("A").quota("f", cpu="4 cores"))
UNKNOWN_POLICY = cluster(QUEUE.preemption(within="Sometimes"))
NEGATIVE_COUNT = cluster(QUEUE, WAITING.pods(-1))


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        (BROKEN_QUOTA, 'ClusterQueue "A": spec.resourceGroups[0].flavors[0].resources[0].nominalQuota'),
        (UNKNOWN_POLICY, 'ClusterQueue "A": spec.preemption.withinClusterQueue: "Sometimes" is not allowed'),
        (NEGATIVE_COUNT, 'Workload "ns/p": spec.podSets[0].count'),
    ],
    ids=["quantity", "policy", "count"],
)
def test_an_unusable_object_is_named_with_its_file_and_field(manifests: Path, objects: list[Json], want: str) -> None:
    manifests.write_text(yaml.safe_dump_all(objects))
    result = run("-f", str(manifests))
    assert result.exit_code == 2
    assert result.output.startswith(f"error: {manifests}: {want}")
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        ((), "error: nothing to predict from: give manifests with -f, or scenarios with --batch"),
        (("-f", "missing.yaml"), "error: missing.yaml: does not exist"),
        (("--workload", "ns/q"), "error: --workload ns/q: there is no Workload ns/q, did you mean ns/p?"),
        (("--now", "noon"), f"error: --now: {not_a_time('noon')}"),
        (("--feature-gates", "Nonsense=true"), "error: unknown feature gate 'Nonsense'"),
        (("--kueue-version", "newest"), "error: Kueue version 'newest' is not allowed: must be like v0.19.2 or v0.19"),
        (("--fair-sharing", "Luck"), 'error: fairSharing.preemptionStrategies: "Luck" is not allowed'),
    ],
    ids=["nothing", "file", "workload", "time", "gate", "version", "strategy"],
)
def test_a_wrong_argument_gets_one_line(manifests: Path, arguments: tuple[str, ...], want: str) -> None:
    given = () if not arguments or arguments[0] == "-f" else ("-f", str(manifests))
    result = run(*given, *arguments)
    assert result.exit_code == 2
    assert result.output.startswith(want)
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["a: [", "{", "- just a list", "kind: 1"], ids=["YAML", "JSON", "no object", "no kind"]
)
def test_what_is_no_manifest_is_refused(text: str) -> None:
    result = run("-f", "-", stdin=text)
    assert result.exit_code == 2
    assert result.output.startswith("error: standard input: ")
    assert len(result.output.splitlines()) == 1


def scenario(name: str, **changes: object) -> Json:
    incoming = {"namespace": "ns", "name": "p"}
    return {"name": name, "now": at(10), "fairSharing": None, "objects": OBJECTS, "incoming": incoming, **changes}


SHORT_OF_CPU = "insufficient unused quota for cpu in flavor f, 1 more needed"


def test_batch_answers_every_line_in_order() -> None:
    lines = [
        json.dumps(scenario("good")),
        "{not json",
        json.dumps(scenario("gate", featureGates={"PartialAdmission": "on"})),
        json.dumps(scenario("object", objects=BROKEN_QUOTA)),
        json.dumps(scenario("no objects", objects=None)),
        json.dumps([]),
        json.dumps(scenario("again")),
    ]
    result = run("--batch", stdin="\n".join(lines))
    assert result.exit_code == 0
    answers = [json.loads(line) for line in result.output.splitlines()]
    assert [answer["name"] for answer in answers] == ["good", None, "gate", "object", "no objects", None, "again"]
    assert [sorted(answer) for answer in answers] == [
        ["expect", "name"] if position in (0, 6) else ["error", "name"] for position in range(7)
    ]
    assert answers[0]["expect"] == {
        "mode": "Preempt",
        "flavors": {"main": {"cpu": "f"}},
        "borrowing": 0,
        "targets": [{"namespace": "ns", "name": "v", "reason": "InClusterQueue"}],
        "podSetModes": {"main": "Preempt"},
        "fits": "Ok",
        "message": f"couldn't assign flavors to pod set main: {SHORT_OF_CPU}",
    }


def test_batch_takes_given_flavors() -> None:
    given = {"main": {"cpu": {"flavor": "f", "mode": "Preempt"}}}
    answer = json.loads(run("--batch", stdin=json.dumps(scenario("given", assignment=given))).output)
    assert answer["expect"]["borrowing"] is None
    assert [target["name"] for target in answer["expect"]["targets"]] == ["v"]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"now": "noon"}, "now: 'noon' is not a time"),
        ({"incoming": "p"}, "incoming: is missing or not an object"),
        ({"featureGates": ["A"]}, "featureGates: is missing or not an object"),
        ({"fairSharing": True}, "fairSharing: is missing or not an object"),
        ({"requeuingTimestamp": "Noon"}, 'requeuingTimestamp: "Noon" is not allowed: Eviction, Creation'),
        ({"objects": ["x"]}, "objects[0]: is not an object"),
        ({"assignment": {"main": {"cpu": "f"}}}, "assignment.main.cpu: is missing or not an object"),
        (
            {"assignment": {"main": {"cpu": {"flavor": "f", "mode": "Maybe"}}}},
            'assignment.main.cpu.mode: "Maybe" is not allowed: NoFit, Preempt, Fit',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_a_scenario_that_cannot_be_used_is_told_why(changes: Json, want: str) -> None:
    answer = json.loads(run("--batch", stdin=json.dumps(scenario("s", **changes))).output)
    assert answer["error"].startswith(want)


STRANGE_FILES = {
    "without end": ("/dev/zero", "is larger than 262144 KiB, which is the limit"),
    "deep JSON": ('{"a":' * 900 + "1" + "}" * 900, "nested more than 200 deep"),
    "deep lists": ("[" * 100_000, "nested more than 200 deep"),
    "deep lists in lines": ("\n" + "- " * 100_000 + "x", "nested more than 200 deep"),
    "many values by aliases": (
        "".join(f"\nk{n}: &k{n} [{', '.join([f'*k{n - 1}' if n else 'x'] * 10)}]" for n in range(9)),
        "it holds more than 20000000 values",
    ),
    "a circle": ("&a [*a]", "the alias 'a' refers to nothing or to itself"),
}


@pytest.mark.parametrize(("content", "want"), STRANGE_FILES.values(), ids=STRANGE_FILES)
@pytest.mark.parametrize(
    "command", [("predict", "-f"), ("predict-pods", "-f"), ("simulate", "-f"), ("plan", "-f")], ids=" ".join
)
def test_S9_a_file_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, command: tuple[str, ...], content: str, want: str
) -> None:
    path = Path(content)
    if not content.startswith("/"):
        path = tmp_path / "manifests.yaml"
        path.write_text(content if content.startswith("{") else f"kind: {content}")
    result = CliRunner().invoke(app, [*command, str(path)])
    assert result.exit_code == 2, result.output
    assert want in result.stderr
    assert len(result.stderr.splitlines()) == 1
