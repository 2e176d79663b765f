"""What a Workload may become: nominated, placed, gated, reserved; in Kueue's words."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.meta import Obj
from engine.vocabulary.gate_dialect import GateDialect
from localcluster.catalogue.kueue_kinds.workload import workload_kind
from tests.unit.localcluster.writing import find_kind, write

TIME = "2026-01-01T00:00:00Z"
WORKLOAD: Obj = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w"},
    "spec": {"queueName": "q", "podSets": [{"template": {"spec": {"containers": [{"name": "c"}]}}}]},
}


def condition(kind: str, status: str = "True") -> Obj:
    return {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": TIME}


ADMISSION: Obj = {
    "clusterQueue": "cq",
    "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1"}}],
}
RESERVED: Obj = {"conditions": [condition("QuotaReserved")], "admission": ADMISSION}


def stored(status: Obj, **spec: Any) -> Obj:
    created = write(find_kind("Workload"), {**WORKLOAD, "spec": {**WORKLOAD["spec"], **spec}})
    assert created.complaints == []
    return {**created.obj, "status": status}


def test_a_new_workload_is_active_and_has_one_pod_set_of_one_pod() -> None:
    spec = write(find_kind("Workload"), WORKLOAD).obj["spec"]

    assert spec["active"] is True
    assert (spec["podSets"][0]["name"], spec["podSets"][0]["count"]) == ("main", 1)


NOT_NOMINATED = (
    'admission webhook "vworkload.kb.io" denied the request: status.clusterName: Invalid value: "a": '
    "when setting clusterName it must be one of the nominatedClusterNames"
)
STATUS_CASES: dict[str, tuple[Obj, Obj, list[str]]] = {
    "a cluster must have been nominated": ({}, {"clusterName": "a"}, [NOT_NOMINATED]),
    "nominating and placing take two writes": (
        {},
        {"clusterName": "a", "nominatedClusterNames": ["a"]},
        ["status: Invalid value: clusterName and nominatedClusterNames are mutually exclusive"],
    ),
    "another cluster was nominated": ({"nominatedClusterNames": ["b"]}, {"clusterName": "a"}, [NOT_NOMINATED]),
    "a nominated cluster is chosen, the nominations go": (
        {"nominatedClusterNames": ["a", "b"]},
        {"clusterName": "a", "nominatedClusterNames": []},
        [],
    ),
    "a placed workload does not move": (
        {"clusterName": "a"},
        {"clusterName": "b"},
        ["status: Invalid value: clusterName is immutable once set"],
    ),
    "a placed workload may be taken back": ({"clusterName": "a"}, {}, []),
    "21 nominations": (
        {},
        {"nominatedClusterNames": [str(number) for number in range(21)]},
        [
            "status.nominatedClusterNames: Too many: 21: must have at most 20 items",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation",
        ],
    ),
    "quota is reserved together with an admission": (
        {},
        {"conditions": [condition("QuotaReserved")]},
        [
            'admission webhook "vworkload.kb.io" denied the request: status.admission: Required value: '
            "must be set while the QuotaReserved condition is true"
        ],
    ),
    "an admission does not change": (
        RESERVED,
        {**RESERVED, "admission": {**ADMISSION, "clusterQueue": "other"}},
        [
            'admission webhook "vworkload.kb.io" denied the request: status.admission: Invalid value: '
            '{"clusterQueue":"other","podSetAssignments":[{"count":1,"flavors":{"cpu":"f"},"name":"main",'
            '"resourceUsage":{"cpu":"1"}}]}: field is immutable'
        ],
    ),
    "an admission is taken back as a whole": (RESERVED, {"conditions": [condition("QuotaReserved", "False")]}, []),
    "the topology of an admission follows later": (
        RESERVED,
        {
            **RESERVED,
            "admission": {
                **ADMISSION,
                "podSetAssignments": [{**ADMISSION["podSetAssignments"][0], "delayedTopologyRequest": "Ready"}],
            },
        },
        [],
    ),
}


@pytest.mark.parametrize(("before", "after", "want"), STATUS_CASES.values(), ids=STATUS_CASES.keys())
def test_status_transitions(before: Obj, after: Obj, want: list[str]) -> None:
    old = stored(before)

    outcome = write(find_kind("Workload"), {**old, "status": after}, old, status=True)

    assert outcome.complaints == want


def test_an_elastic_replacement_is_placed_without_nomination() -> None:
    old = stored({})
    old["metadata"]["annotations"] = {"kueue.x-k8s.io/workload-slice-replacement-for": "default/w0"}

    outcome = write(find_kind("Workload"), {**old, "status": {"clusterName": "a"}}, old, status=True)

    assert outcome.complaints == []


POD_SET = stored({})["spec"]["podSets"][0]
SPEC_CASES: dict[str, tuple[Obj, Obj, list[str]]] = {
    "pod sets change while the workload waits": ({}, {"podSets": [{**POD_SET, "count": 5}]}, []),
    "a reserved workload does not grow": (
        RESERVED,
        {"podSets": [{**POD_SET, "count": 5}]},
        [
            'admission webhook "vworkload.kb.io" denied the request: spec.podSets.0: Invalid value: '
            '{"count":5,"name":"main","template":{"spec":{"containers":[{"name":"c"}]}}}: field is immutable'
        ],
    ),
    "a reserved workload may shrink": (RESERVED, {"podSets": [{**POD_SET, "count": 0}]}, []),
    "an empty object is no change": (
        RESERVED,
        {"podSets": [{**POD_SET, "template": {**POD_SET["template"], "metadata": {}}}]},
        [],
    ),
    "a reserved workload stays in its queue": (
        RESERVED,
        {"queueName": "other"},
        ["<nil>: Invalid value: queueName is immutable while workload quota reserved"],
    ),
    "a reserved workload may be stopped": (RESERVED, {"active": False}, []),
}


@pytest.mark.parametrize(("status", "change", "want"), SPEC_CASES.values(), ids=SPEC_CASES.keys())
def test_spec_updates(status: Obj, change: Obj, want: list[str]) -> None:
    old = stored(status)

    outcome = write(find_kind("Workload"), {**old, "spec": {**old["spec"], **change}}, old)

    assert outcome.complaints == want


def gated(**gate: str) -> Obj:
    workload = deepcopy(stored({}))
    workload["spec"]["preemptionGates"] = [{"name": "kueue.x-k8s.io/multikueue"}]
    workload["status"] = {
        "preemptionGates": [{"name": "kueue.x-k8s.io/multikueue", "lastTransitionTime": TIME, **gate}]
    }
    return workload


def test_kueue_says_position_and_drops_state() -> None:
    outcome = write(workload_kind(), gated(state="Open"), gated(), status=True)

    assert outcome.dropped == ["status.preemptionGates[0].state"]
    assert [error.field for error in outcome.errors] == ["status.preemptionGates[0].position", "<nil>"]
    assert write(workload_kind(), gated(position="Open"), gated(), status=True).complaints == []


def test_the_kep_says_state_and_drops_position() -> None:
    outcome = write(workload_kind(gate_dialect=GateDialect.KEP), gated(position="Open"), gated(), status=True)

    assert outcome.dropped == ["status.preemptionGates[0].position"]
    assert (
        write(workload_kind(gate_dialect=GateDialect.KEP), gated(state="Closed"), gated(), status=True).complaints == []
    )


def test_a_gate_is_open_or_closed() -> None:
    for dialect in GateDialect:
        ajar = gated(**{dialect.state_field: "Ajar"})
        outcome = write(workload_kind(gate_dialect=dialect), ajar, gated(), status=True)
        assert outcome.errors[0].message == 'Unsupported value: "Ajar": supported values: "Closed", "Open"'


def test_an_older_kueue_drops_gates_silently() -> None:
    outcome = write(workload_kind(preemption_gates=False), gated(position="Open"), gated(), status=True)

    assert outcome.dropped == ["spec.preemptionGates", "status.preemptionGates"]
    assert outcome.complaints == []


GATED_BY = "kueue.x-k8s.io/admission-gated-by"
GATE_CASES: dict[str, tuple[str | None, str, list[str]]] = {
    "two gates at birth": (None, "a.io/x, b.io/y", []),
    "a gate opens": ("a.io/x,b.io/y", "b.io/y", []),
    "the last gate opens": ("a.io/x", "", []),
    "no gate is added to an ungated workload": ("", "a.io/x", ["Forbidden: cannot add admission gate after creation"]),
    "no gate is added to a gated one": (
        "a.io/x",
        "a.io/x,b.io/y",
        ["Forbidden: can only remove gates, not add new ones"],
    ),
    "an empty name": (None, "a.io/x,", ['Invalid value: "a.io/x,": cannot contain empty gate names']),
    "a name twice": (None, "a.io/x,a.io/x", ['Invalid value: "a.io/x,a.io/x": duplicate gate name: a.io/x']),
    "a name without a domain": (
        None,
        "x",
        ['Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
    ),
}


@pytest.mark.parametrize(("before", "after", "want"), GATE_CASES.values(), ids=GATE_CASES.keys())
def test_admission_gates(before: str | None, after: str, want: list[str]) -> None:
    old = None if before is None else stored({})
    new = deepcopy(WORKLOAD if old is None else old)
    if old is not None:
        old["metadata"]["annotations"] = {GATED_BY: before}
    new["metadata"]["annotations"] = {GATED_BY: after}

    outcome = write(find_kind("Workload"), new, old)

    prefix = f'admission webhook "vworkload.kb.io" denied the request: metadata.annotations[{GATED_BY}]: '
    assert outcome.complaints == [f"{prefix}{complaint}" for complaint in want]
