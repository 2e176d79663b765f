"""Findings about a worker: which cluster is behind its name, and what it lacks of what the hub has."""

import pytest

from config.api.meta import ObjectKey
from engine.vocabulary.gate_dialect import GateDialect
from gates.diagnosis.capabilities import gate_findings, unserved_jobs
from gates.diagnosis.finding import Finding, Topic
from gates.diagnosis.identity import identity_findings, unidentified
from gates.diagnosis.objects import queue_findings
from gates.model.settings import UngatedPolicy


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(each.cluster, str(each.severity), each.message.partition(":")[0]) for each in findings]


def test_different_clusters_are_no_finding() -> None:
    assert list(identity_findings({"w1": "a", "w2": "b"}, "hub")) == []
    assert list(identity_findings({"w1": "a"}, None)) == []


def test_two_names_for_one_cluster_name_each_other() -> None:
    assert told(list(identity_findings({"w2": "a", "w1": "a", "w3": "b"}, "hub"))) == [
        ("w1", "error", "it is the same cluster as w2"),
        ("w2", "error", "it is the same cluster as w1"),
    ]


def test_the_hub_is_not_its_own_worker() -> None:
    message = "it is the hub itself, which cannot be its own worker"
    assert told(list(identity_findings({"w1": "hub"}, "hub"))) == [("w1", "error", message)]


def test_a_cluster_that_does_not_identify_itself_is_a_warning_with_the_role_to_apply() -> None:
    (finding,) = unidentified("w1", "worker.yaml")
    assert (finding.cluster, str(finding.severity), finding.remedy) == ("w1", "warning", "apply worker.yaml there")


def test_local_queues_are_compared_with_those_of_the_worker() -> None:
    wanted = [ObjectKey("a", "main"), ObjectKey("b", "main"), ObjectKey("b", "other"), ObjectKey("c", "main")]
    queues = {ObjectKey("a", "main"): "", ObjectKey("b", "main"): "its ClusterQueue is stopped"}
    found = queue_findings("w1", wanted, frozenset({"a", "b"}), queues)
    assert [(str(each.severity), each.message) for each in found] == [
        ("warning", "LocalQueue b/main is not active there: its ClusterQueue is stopped"),
        ("error", "LocalQueue b/other is missing there: jobs of that queue never start there"),
        ("error", "namespace c is missing there, and so is LocalQueue main"),
    ]


def test_a_kind_that_only_the_hub_serves_is_a_warning() -> None:
    (finding,) = unserved_jobs("w1", ["RayJob"])
    assert told([finding]) == [("w1", "warning", "it does not serve RayJob, which the hub does")]


@pytest.mark.parametrize(("policy", "severity"), [(UngatedPolicy.ALLOW, "error"), (UngatedPolicy.EXCLUDE, "warning")])
def test_a_worker_without_gates_is_as_bad_as_its_policy(policy: UngatedPolicy, severity: str) -> None:
    (finding,) = gate_findings("w1", knows_gates=False, replicas=(), dialect=None, policy=policy)
    assert told([finding]) == [("w1", severity, "its Kueue does not know preemption gates")]


def test_a_worker_that_does_not_describe_its_gates_is_a_warning() -> None:
    (finding,) = gate_findings(
        "w1", knows_gates=True, replicas=(), dialect=None, policy=UngatedPolicy.ALLOW, configured=True
    )
    assert (str(finding.severity), finding.topic) == ("warning", Topic.GATES)


CONFIGURED: dict[str, tuple[bool | None, list[str]]] = {
    "it does not say": (None, ["warning: it is not known yet whether its Kueue honours preemption gates"]),
    "it switches gates off": (False, ["warning: the Configuration of its Kueue switches preemption gates off"]),
    "it switches gates on": (True, []),
}


@pytest.mark.parametrize(("configured", "want"), CONFIGURED.values(), ids=CONFIGURED.keys())
def test_before_anything_is_submitted_the_configuration_decides(configured: bool | None, want: list[str]) -> None:
    policy = UngatedPolicy.SEQUENTIAL
    found = gate_findings(
        "w1", knows_gates=True, replicas=(), dialect=GateDialect.KUEUE, policy=policy, configured=configured
    )
    shown = [f"{each.severity}: {each.message}" for each in found]
    assert shown == [f"{text} (workers[].gatesUnsupported is sequential)" for text in want]
