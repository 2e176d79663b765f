"""`turnstile predict` for one version of Kueue or another."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from manager.cli.app import app
from tests.support.builders import Json, at, cluster, cluster_queue, workload


def pods_scenario(**more: Any) -> Json:
    queue = cluster_queue("A").quota("f", cpu=10, pods=2).preemption(within="LowerPriority")
    holders = [workload(name).request(cpu=1).holds("A").with_usage(cpu=1, pods=1) for name in ("u", "v")]
    waiting = workload("w").queue("A").request(cpu=2).pods(2).priority(10)
    objects = cluster(queue, *holders, waiting)
    incoming = {"namespace": "ns", "name": "w"}
    return {"name": "pods", "now": at(10), "fairSharing": None, "objects": objects, "incoming": incoming, **more}


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["predict", *arguments], input=stdin)


def answers_to(*lines: Json, options: Sequence[str] = ()) -> list[Json]:
    result = run("--batch", *options, stdin="\n".join(map(json.dumps, lines)))
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def prediction(*files: Path, options: Sequence[str] = ()) -> Json:
    given = [argument for file in files for argument in ("-f", str(file))]
    result = run(*given, "-o", "json", *options)
    assert result.exit_code == 0, result.output
    (found,) = json.loads(result.output)["items"]
    return dict(found)


def test_the_version_of_kueue_decides_by_line_and_by_option() -> None:
    lines = [pods_scenario(), pods_scenario(kueueVersion="v0.17.1"), pods_scenario(kueueVersion="0.19.2")]
    for options, want in (((), [1, 2, 1]), (("--kueue-version", "v0.17.1"), [2, 2, 1])):
        answers = answers_to(*lines, options=options)
        assert [len(answer["expect"]["targets"]) for answer in answers] == want
        assert not any("labels" in answer for answer in answers)


def test_what_is_assumed_is_a_label_of_the_batch_line() -> None:
    answers = answers_to(pods_scenario(kueueVersion="v0.20.0"), pods_scenario(featureGates={"Unheard": True}))
    assert [label.split(":")[0] for answer in answers for label in answer["labels"]] == [
        "assumed-version",
        "unknown-feature-gate",
    ]


@pytest.mark.parametrize(
    ("version", "want"),
    [("newest", "Kueue version 'newest' is not allowed"), (19, "kueueVersion: 19 is not allowed")],
)
def test_a_line_with_no_version_of_kueue_gets_an_error(version: object, want: str) -> None:
    (answer,) = answers_to(pods_scenario(kueueVersion=version))
    assert answer["error"].startswith(want)


def test_manifests_are_predicted_for_a_version(tmp_path: Path) -> None:
    manifests = tmp_path / "objects.yaml"
    manifests.write_text(yaml.safe_dump_all(pods_scenario()["objects"]))
    assert len(prediction(manifests, options=("--kueue-version", "v0.17.1"))["victims"]) == 2
    assert len(prediction(manifests)["victims"]) == 1


def test_a_configuration_with_a_gate_of_another_version_is_used_and_labelled(tmp_path: Path) -> None:
    manifests, configuration = tmp_path / "objects.yaml", tmp_path / "configuration.yaml"
    manifests.write_text(yaml.safe_dump_all(pods_scenario()["objects"]))
    gates = {"PrioritizePreemptorWorkloads": False, "TASCacheTopologyTree": True, "PartialAdmision": True}
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    configuration.write_text(yaml.safe_dump({**head, "featureGates": gates}, sort_keys=False))
    assert _unknown(prediction(manifests, configuration)) == [
        "unknown-feature-gate: PrioritizePreemptorWorkloads is no gate of Kueue v0.19.1 as it is known here",
        "unknown-feature-gate: TASCacheTopologyTree is no gate of Kueue v0.19.1 as it is known here",
        "unknown-feature-gate: PartialAdmision is no gate of Kueue v0.19.1 as it is known here, "
        "did you mean PartialAdmission?",
    ]
    assert len(_unknown(prediction(manifests, configuration, options=("--kueue-version", "v0.19.2")))) == 1


def _unknown(answer: Json) -> list[str]:
    return [label for label in answer["labels"] if label.startswith("unknown-feature-gate")]


def test_alpha_kinds_and_automated_quotas_are_noted(tmp_path: Path) -> None:
    manifests, more = tmp_path / "objects.yaml", tmp_path / "more.yaml"
    manifests.write_text(yaml.safe_dump_all(pods_scenario()["objects"]))
    alpha = {"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "CapacityProvider", "metadata": {"name": "cloud"}}
    config = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueConfig", "metadata": {"name": "all"}}
    more.write_text(yaml.safe_dump_all([alpha, {**config, "spec": {"quotaManagement": "Automated"}}]))
    labels = prediction(manifests, more)["labels"]
    assert "unmodelled-kind: CapacityProvider cloud (kueue.x-k8s.io/v1alpha1) is not read" in labels
    assert "multikueue-quota-automation: MultiKueueConfig all lets Kueue change quotas of the hub by itself" in labels
