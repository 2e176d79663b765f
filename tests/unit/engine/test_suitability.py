"""Does a flavor suit a pod set?"""

from typing import Any

import pytest

from engine.placement.node_affinity import AffinityError
from engine.placement.suitability import FlavorPlacement, PodPlacement, flavor_not_found, why_topology_mismatches

Raw = dict[str, Any]


def flavor(labels: Raw | None = None, name: str = "f", **spec: object) -> FlavorPlacement:
    return FlavorPlacement.from_raw({"metadata": {"name": name}, "spec": {"nodeLabels": labels or {}, **spec}})


def affinity(*terms: list[Raw]) -> Raw:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def expression(key: str, operator: str, *values: str) -> Raw:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def reason(placement: FlavorPlacement, pod_spec: Raw) -> str | None:
    return placement.why_unsuitable(PodPlacement.from_raw(pod_spec))


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "pod_spec", "want"),
    [
        pytest.param(
            {"nodeTaints": [TAINT]},
            {},
            "untolerated taint {k v NoSchedule <nil>} in flavor f",
            id="18: untolerated taint",
        ),
        pytest.param(
            {"nodeTaints": [{"key": "k", "effect": "NoExecute"}]},
            {},
            "untolerated taint {k  NoExecute <nil>} in flavor f",
            id="a taint without value",
        ),
        pytest.param(
            {"nodeTaints": [{**TAINT, "timeAdded": "2026-01-02T03:04:05Z"}]},
            {},
            "untolerated taint {k v NoSchedule 2026-01-02 03:04:05 +0000 UTC} in flavor f",
            id="a taint with its time",
        ),
        pytest.param({"nodeTaints": [{**TAINT, "effect": "PreferNoSchedule"}]}, {}, None, id="21: PreferNoSchedule"),
        pytest.param(
            {"nodeTaints": [TAINT], "tolerations": [{"key": "k", "operator": "Exists"}]},
            {},
            None,
            id="24: the flavor tolerates its own taint",
        ),
        pytest.param(
            {"nodeTaints": [TAINT]}, {"tolerations": [{"operator": "Exists"}]}, None, id="tolerates everything"
        ),
        pytest.param(
            {"nodeTaints": [TAINT]}, {"tolerations": [{"key": "k", "value": "v"}]}, None, id="Equal by default"
        ),
        pytest.param(
            {"nodeTaints": [TAINT]},
            {"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            "untolerated taint {k v NoSchedule <nil>} in flavor f",
            id="another effect",
        ),
        pytest.param(
            {"nodeTaints": [{**TAINT, "value": "5"}]},
            {"tolerations": [{"key": "k", "operator": "Lt", "value": "7"}]},
            None,
            id="numeric Lt",
        ),
        pytest.param(
            {"nodeTaints": [{**TAINT, "value": "5"}]},
            {"tolerations": [{"key": "k", "operator": "Gt", "value": "07"}]},
            "untolerated taint {k 5 NoSchedule <nil>} in flavor f",
            id="numbers with leading zeros compare to nothing",
        ),
        pytest.param(
            {"nodeTaints": [{**TAINT, "value": "5"}]},
            {"tolerations": [{"key": "k", "operator": "Lt", "value": "9223372036854775808"}]},
            "untolerated taint {k 5 NoSchedule <nil>} in flavor f",
            id="numbers beyond 64 bits compare to nothing",
        ),
        pytest.param(
            {"nodeTaints": [TAINT, {**TAINT, "key": "other"}]},
            {"tolerations": [{"key": "k", "operator": "Exists"}]},
            "untolerated taint {other v NoSchedule <nil>} in flavor f",
            id="the first offender is named",
        ),
    ],
)
def test_taints(spec: Raw, pod_spec: Raw, want: str | None) -> None:
    assert reason(flavor(**spec), pod_spec) == want


MISMATCH = "flavor f doesn't match node affinity"


@pytest.mark.parametrize(
    ("labels", "pod_spec", "want"),
    [
        pytest.param({"t": "x"}, {"nodeSelector": {"t": "x", "other": "z"}}, None, id="19: a foreign key is ignored"),
        pytest.param({"t": "x"}, {"nodeSelector": {"t": "q"}}, MISMATCH, id="20: another value"),
        pytest.param(
            {"t": "x"},
            affinity([expression("t", "In", "y")], [expression("zone", "In", "a")]),
            None,
            id="22: a term on foreign keys matches anything",
        ),
        pytest.param({"t": "x"}, affinity([expression("t", "In", "y")]), MISMATCH, id="23: a single term"),
        pytest.param(
            {"t": "x"}, affinity([expression("t", "In", "y")], [expression("t", "Exists")]), None, id="terms are ORed"
        ),
        pytest.param(
            {"t": "x", "u": "1"},
            affinity([expression("t", "In", "x"), expression("u", "NotIn", "1")]),
            MISMATCH,
            id="expressions are ANDed",
        ),
        pytest.param({"n": "5"}, affinity([expression("n", "Gt", "4")]), None, id="greater than"),
        pytest.param({"n": "5"}, affinity([expression("n", "Lt", "5")]), MISMATCH, id="less than"),
        pytest.param({"n": "five"}, affinity([expression("n", "Lt", "5")]), MISMATCH, id="a label that is no number"),
        pytest.param({"t": "x"}, affinity([expression("t", "DoesNotExist")]), MISMATCH, id="must not exist"),
        pytest.param({}, affinity([expression("t", "DoesNotExist")]), None, id="a flavor without labels matches"),
        pytest.param({"t": "x"}, {"affinity": {"podAffinity": {}}}, None, id="other affinities play no role"),
    ],
)
def test_affinity(labels: Raw, pod_spec: Raw, want: str | None) -> None:
    assert reason(flavor(labels), pod_spec) == want


def test_taints_come_before_affinity() -> None:
    assert reason(flavor({"t": "x"}, nodeTaints=[TAINT]), {"nodeSelector": {"t": "y"}}) == (
        "untolerated taint {k v NoSchedule <nil>} in flavor f"
    )


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        (
            expression("t", "Foo"),
            'operator: Unsupported value: "Foo": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (expression("t", "In"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            expression("t", "Exists", "q"),
            'values: Invalid value: ["q"]: values set must be empty for exists and does not exist',
        ),
        (
            expression("t", "Gt", "x"),
            "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_malformed_expression_is_an_error_with_kubernetes_text(bad: Raw, want: str) -> None:
    with pytest.raises(AffinityError) as caught:
        reason(flavor({"t": "x"}), affinity([bad]))
    assert str(caught.value) == f"nodeSelectorTerms[0].matchExpressions[0].{want}"


def test_malformed_expression_does_not_matter_when_another_term_matches_or_the_key_is_foreign() -> None:
    assert reason(flavor({"t": "x"}), affinity([expression("t", "Foo")], [expression("t", "Exists")])) is None
    assert reason(flavor({"t": "x"}), affinity([expression("zone", "Foo")])) is None


def test_topology_flavor_is_for_topology_requests_only() -> None:
    with_topology = flavor({"t": "x"}, topologyName="rack")
    want = 'Flavor "f" supports only TopologyAwareScheduling'
    assert why_topology_mismatches(with_topology, is_queue_topology_only=False) == want
    assert why_topology_mismatches(with_topology, is_queue_topology_only=True) is None
    assert why_topology_mismatches(flavor(), is_queue_topology_only=False) is None


def test_missing_flavor() -> None:
    assert flavor_not_found("gone") == "flavor gone not found"
