"""Pods, priorities, pod groups, events, secrets: the habits of Kubernetes that clients meet."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.meta import Obj
from localcluster.catalogue.builtin_kinds.events import to_core_event, to_events_event
from tests.unit.localcluster.writing import find_kind, write

HIGH = {"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"}
USUAL = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}


def pod(**spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec},
    }


PRIORITY_CASES: dict[str, tuple[Obj, list[Obj], tuple[object, object, object] | str]] = {
    "no class at all": ({}, [], (None, 0, "PreemptLowerPriority")),
    "a named class": ({"priorityClassName": "high"}, [HIGH, USUAL], ("high", 100, "Never")),
    "the global default": ({}, [HIGH, USUAL], ("usual", 7, "PreemptLowerPriority")),
    "a built-in class": (
        {"priorityClassName": "system-node-critical"},
        [],
        ("system-node-critical", 2000001000, "PreemptLowerPriority"),
    ),
    "an unknown class": ({"priorityClassName": "nope"}, [HIGH], "no PriorityClass with name nope was found"),
    "a number of one's own": (
        {"priority": 5},
        [],
        "the integer value of priority (5) must not be provided in pod spec; "
        "priority admission controller computed 0 from the given PriorityClass name",
    ),
}


@pytest.mark.parametrize(("spec", "classes", "want"), PRIORITY_CASES.values(), ids=PRIORITY_CASES.keys())
def test_pod_priority(spec: Obj, classes: list[Obj], want: tuple[object, object, object] | str) -> None:
    outcome = write(find_kind("Pod"), pod(**spec), others=classes)

    if isinstance(want, str):
        assert outcome.complaints == [want]
    else:
        given = outcome.obj["spec"]
        assert (given.get("priorityClassName"), given["priority"], given["preemptionPolicy"]) == want


POD_UPDATE_CASES: dict[str, tuple[Obj, Obj, list[str]]] = {
    "a new image": ({}, {"containers": [{"name": "c", "image": "i:2"}]}, []),
    "another toleration": ({}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, []),
    "a toleration less": (
        {"tolerations": [{"key": "a", "operator": "Exists"}]},
        {"tolerations": []},
        ["spec.tolerations"],
    ),
    "a gate less": ({"schedulingGates": [{"name": "a.b/c"}]}, {"schedulingGates": []}, []),
    "a gate more": ({}, {"schedulingGates": [{"name": "a.b/c"}]}, ["spec.schedulingGates"]),
    "a node selector while gated": ({"schedulingGates": [{"name": "a.b/c"}]}, {"nodeSelector": {"a": "b"}}, []),
    "a node selector of a free pod": ({}, {"nodeSelector": {"a": "b"}}, ["spec"]),
    "a node, without binding": ({}, {"nodeName": "n"}, ["spec"]),
    "another priority": ({}, {"priority": 9}, ["spec"]),
}


@pytest.mark.parametrize(("spec", "change", "want"), POD_UPDATE_CASES.values(), ids=POD_UPDATE_CASES.keys())
def test_pod_updates(spec: Obj, change: Obj, want: list[str]) -> None:
    old = write(find_kind("Pod"), pod(**spec)).obj
    new = deepcopy(old)
    new["spec"].update(change)

    assert [error.field for error in write(find_kind("Pod"), new, old).errors] == want


def pod_group(version: str, **spec: Any) -> Obj:
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec},
    }


@pytest.mark.parametrize(("version", "mode"), [("v1alpha2", "Pod"), ("v1beta1", {"single": {}})])
def test_a_pod_group_disrupts_single_pods_by_default(version: str, mode: object) -> None:
    created = write(find_kind("PodGroup", version=version), pod_group(version)).obj

    assert created["spec"]["disruptionMode"] == mode
    assert created["spec"]["priority"] == 0


POD_GROUP_CASES: dict[str, tuple[str, Obj, list[str]]] = {
    "both members of the newer mode": (
        "v1beta1",
        {"disruptionMode": {"single": {}, "all": {}}},
        [
            'spec.disruptionMode: Invalid value: "{single, all}": must specify exactly one of: `single`, `all`',
        ],
    ),
    "no member of the newer mode": (
        "v1beta1",
        {"disruptionMode": {}},
        ['spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`'],
    ),
    "basic and whole-group disruption together": (
        "v1beta1",
        {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
        [],
    ),
    "a priority that is not its class's": (
        "v1alpha2",
        {"priority": 7},
        [
            "priority set in the pod group (7) must match the priority computed (0) based on the priority class "
            "set in the spec"
        ],
    ),
}


@pytest.mark.parametrize(("version", "spec", "want"), POD_GROUP_CASES.values(), ids=POD_GROUP_CASES.keys())
def test_pod_groups(version: str, spec: Obj, want: list[str]) -> None:
    assert write(find_kind("PodGroup", version=version), pod_group(version, **spec)).complaints == want


def test_only_the_newer_pod_group_changes_its_size() -> None:
    for version, want in (("v1alpha2", ["spec.schedulingPolicy"]), ("v1beta1", [])):
        kind = find_kind("PodGroup", version=version)
        old = write(kind, pod_group(version)).obj
        new = {**old, "spec": {**old["spec"], "schedulingPolicy": {"gang": {"minCount": 3}}}}
        assert [error.field for error in write(kind, new, old).errors] == want


def test_an_event_reads_the_same_in_both_spellings() -> None:
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"kind": "Workload", "name": "w", "namespace": "default"},
        "note": "opened",
        "reportingController": "example.com/a",
        "reason": "GateOpened",
        "type": "Normal",
    }

    stored = to_core_event(event)

    assert (stored["apiVersion"], stored["message"], stored["involvedObject"]["name"]) == ("v1", "opened", "w")
    assert to_events_event(stored) == event
    selectable = find_kind("Event", group="").selectable_fields or {}
    assert selectable["involvedObject.name"](stored) == "w"
    assert selectable["source"](stored) == "example.com/a"


def test_a_secret_takes_plain_text_and_never_repeats_a_malformed_value() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

    created = write(find_kind("Secret"), {**secret, "stringData": {"token": "abc"}}).obj
    refused = write(find_kind("Secret"), {**secret, "data": {"token": "no base64!"}})

    assert (created["data"], created["type"]) == ({"token": "YWJj"}, "Opaque")
    assert "stringData" not in created
    assert refused.complaints == ["data[token]: illegal base64 data"]


def test_a_namespace_carries_its_name_as_a_label() -> None:
    created = write(find_kind("Namespace"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})

    assert created.obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_a_loose_kind_keeps_every_field() -> None:
    spec = {"replicas": 2, "deep": {"list": [{"a": None}]}}
    ray_job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r"}, "spec": spec}

    outcome = write(find_kind("RayJob"), ray_job)

    assert (outcome.obj["spec"], outcome.complaints) == (spec, [])
