"""What an API server says to PodGroups and Workloads (§1.3), and that every spelling of the API is understood."""

from typing import Any

import pytest

from engine.pods.reading.read_groups import read_group
from engine.pods.reading.validation import ObjectSeverity, diagnose, is_examined
from engine.pods.values.priorities import PriorityClass, PriorityClasses
from tests.support.builders import Json
from tests.support.pod_builders import group

CLASSES = PriorityClasses()
CLASSES.add(PriorityClass("high", 1000, never_preempts=True, is_default=False))
GANG: Json = {"gang": {"minCount": 1}}
INVALID = 'PodGroup.scheduling.k8s.io "g" is invalid: '
FORBIDDEN = 'podgroups.scheduling.k8s.io "g" is forbidden: '


def spec(**fields: Any) -> Json:
    return {**group("g", 1), "spec": {"schedulingPolicy": GANG, **fields}}


REFUSED = {
    "an empty gang": (
        spec(schedulingPolicy={"gang": {"minCount": 0}}),
        f"{INVALID}spec.schedulingPolicy.gang.minCount: Required value",
    ),
    "a gang without a count": (
        spec(schedulingPolicy={"gang": {}}),
        f"{INVALID}spec.schedulingPolicy.gang.minCount: Required value",
    ),
    "a negative gang": (
        spec(schedulingPolicy={"gang": {"minCount": -1}}),
        f"{INVALID}spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
    ),
    "two policies": (
        spec(schedulingPolicy={"basic": {}, **GANG}),
        f'{INVALID}spec.schedulingPolicy: Invalid value: "{{basic, gang}}": '
        f"must specify exactly one of: `basic`, `gang`",
    ),
    "no policy": (
        spec(schedulingPolicy={}),
        f'{INVALID}spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`',
    ),
    "an unknown disruption mode": (
        spec(disruptionMode="Node"),
        f'{INVALID}spec.disruptionMode: Unsupported value: "Node": supported values: "Pod", "PodGroup"',
    ),
    "both disruption modes": (
        spec(disruptionMode={"single": {}, "all": {}}),
        f'{INVALID}spec.disruptionMode: Invalid value: "{{single, all}}": must specify exactly one of: `single`, `all`',
    ),
    "neither disruption mode": (
        spec(disruptionMode={}),
        f'{INVALID}spec.disruptionMode: Invalid value: "": must specify one of: `single`, `all`',
    ),
    "an unknown class": (
        spec(priorityClassName="nope"),
        f"{FORBIDDEN}no PriorityClass with name nope was found",
    ),
    "a priority that is not the class's": (
        spec(priorityClassName="high", priority=1),
        f"{FORBIDDEN}priority set in the pod group (1) must match the priority computed (1000) based on the priority "
        f"class set in the spec",
    ),
    "a class of the system": (
        spec(priorityClassName="system-node-critical"),
        f"{INVALID}spec.priority: Invalid value: 2000001000: must be less than or equal to 1000000000",
    ),
    "an unknown preemption policy": (
        spec(preemptionPolicy="Always"),
        f'{INVALID}spec.preemptionPolicy: Unsupported value: "Always": supported values: "Never", '
        f'"PreemptLowerPriority"',
    ),
    "two topologies": (
        spec(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
        f"{INVALID}spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
    ),
    "a priority beyond 32 bits": (
        spec(priority=2**40),
        f"{INVALID}spec.priority: Invalid value: {2**40}: must be a 32-bit integer",
    ),
}


@pytest.mark.parametrize(("raw", "want"), REFUSED.values(), ids=REFUSED)
def test_refused(raw: Json, want: str) -> None:
    (remark,) = diagnose(raw, CLASSES)
    assert remark.is_error
    assert str(remark) == want


SPELLINGS = {
    "v1beta1 single": ({"disruptionMode": {"single": {}}}, False),
    "v1beta1 all": ({"disruptionMode": {"all": {}}}, True),
    "v1alpha2 Pod": ({"disruptionMode": "Pod"}, False),
    "v1alpha2 PodGroup": ({"disruptionMode": "PodGroup"}, True),
    "left out": ({}, False),
    "KEP-5710, inside the policy": ({"schedulingPolicy": {**GANG, "disruptionMode": "PodGroup"}}, True),
}


@pytest.mark.parametrize(("fields", "is_one_unit"), SPELLINGS.values(), ids=SPELLINGS)
def test_every_spelling_of_the_disruption_mode(fields: Json, *, is_one_unit: bool) -> None:
    raw = spec(**fields)
    assert diagnose(raw, CLASSES) == []
    assert read_group(raw, CLASSES).is_one_unit is is_one_unit


def test_a_class_gives_priority_and_policy() -> None:
    read = read_group(spec(priorityClassName="high"), CLASSES)
    assert (read.priority, read.never_preempts) == (1000, True)


def test_the_default_class_is_used_where_none_is_named() -> None:
    classes = PriorityClasses()
    classes.add(PriorityClass("usual", 7, never_preempts=False, is_default=True))
    assert read_group(spec(), classes).priority == 7
    assert read_group(spec(), PriorityClasses()).priority == 0


def workload(*templates: Json) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroupTemplates": list(templates)},
    }


def template(name: str, **fields: Any) -> Json:
    return {"name": name, "schedulingPolicy": GANG, **fields}


WORKLOADS = {
    "no template": (workload(), ["spec.podGroupTemplates: Required value"]),
    "nine templates": (
        workload(*(template(f"t{n}") for n in range(9))),
        ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"],
    ),
    "two of one name": (
        workload(template("t"), template("t")),
        ['spec.podGroupTemplates[1]: Duplicate value: {"name": "t"}'],
    ),
    "no name": (workload(template("")), ["spec.podGroupTemplates[0].name: Required value"]),
    "priorities that differ": (
        workload(template("a", priority=1), template("b", priority=2)),
        ["spec: Invalid value: null: detected multiple priority configurations"],
    ),
    "a template without a policy": (
        workload({"name": "a"}),
        ['spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'],
    ),
}


@pytest.mark.parametrize(("raw", "want"), WORKLOADS.values(), ids=WORKLOADS)
def test_workloads_are_examined_too(raw: Json, want: list[str]) -> None:
    assert [remark.text for remark in diagnose(raw, CLASSES)] == want


def test_a_name_must_be_a_label() -> None:
    (remark,) = diagnose(workload(template("Upper")), CLASSES)
    assert remark.text.startswith('spec.podGroupTemplates[0].name: Invalid value: "Upper": a lowercase RFC 1123 label')
    (long,) = diagnose(workload(template("a" * 64)), CLASSES)
    assert long.text.endswith("must be no more than 63 bytes")


def test_whole_group_disruption_of_a_basic_group_is_remarked_on() -> None:
    (remark,) = diagnose(spec(schedulingPolicy={"basic": {}}, disruptionMode={"all": {}}), CLASSES)
    assert remark.severity is ObjectSeverity.WARNING
    assert not remark.is_error


def test_kueue_workloads_are_not_examined() -> None:
    assert not is_examined({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"})
    assert not is_examined({"apiVersion": 7, "kind": "PodGroup"})
    assert is_examined(spec())
