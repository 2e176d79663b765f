"""What a pending workload asks for, and what Kueue refuses before looking for quota."""

from typing import Any

import pytest

from config.api.quantity import UNLIMITED
from engine.requests.limit_ranges import LimitRangeSummary
from engine.requests.pod_resources import read_resource_list
from engine.requests.requests import RequestContext, count_after_reclaim, scale_to_count, workload_request
from engine.requests.transformations import ResourceRules
from engine.versions.amounts import EXACT_AMOUNTS
from engine.vocabulary.errors import FieldError, InvalidObjectError

Raw = dict[str, Any]


def container(requests: Raw | None = None, limits: Raw | None = None, **fields: object) -> Raw:
    resources = {"requests": requests, "limits": limits}
    return {"resources": {key: value for key, value in resources.items() if value is not None}, **fields}


def workload(pod_spec: Raw, count: int = 1, **status: object) -> Raw:
    return {
        "metadata": {"namespace": "ns", "name": "w"},
        "spec": {"podSets": [{"name": "main", "count": count, "template": {"spec": pod_spec}}]},
        "status": status,
    }


def limit_range(name: str = "limits", **item: object) -> Raw:
    return {"metadata": {"namespace": "ns", "name": name}, "spec": {"limits": [item]}}


def usage(raw: Raw, context: RequestContext | None = None) -> dict[str, int]:
    return dict(workload_request(raw, context or RequestContext()).pod_sets[0].requests)


@pytest.mark.parametrize(
    ("pod_spec", "want"),
    [
        pytest.param({"containers": [container({"cpu": "1"})]}, {"cpu": 1000}, id="one container"),
        pytest.param(
            {"containers": [container(limits={"cpu": "3"})]}, {"cpu": 3000}, id="25: limits replace missing requests"
        ),
        pytest.param(
            {"initContainers": [container({"cpu": 3})], "containers": [container({"cpu": 1}), container({"cpu": 1})]},
            {"cpu": 3000},
            id="26: init 3, containers 1+1",
        ),
        pytest.param(
            {
                "initContainers": [container({"cpu": 1}, restartPolicy="Always"), container({"cpu": 3})],
                "containers": [container({"cpu": 1}), container({"cpu": 1})],
            },
            {"cpu": 4000},
            id="27: sidecar 1, then init 3, containers 1+1",
        ),
        pytest.param(
            {
                "initContainers": [container({"cpu": 3}), container({"cpu": 2}, restartPolicy="Always")],
                "containers": [container({"cpu": 1})],
            },
            {"cpu": 3000},
            id="a later sidecar does not run beside an earlier init container",
        ),
        pytest.param(
            {"containers": [container({"cpu": "1m", "memory": "1"})] * 2, "resources": {"requests": {"cpu": "2"}}},
            {"cpu": 2000, "memory": 2},
            id="pod-level requests overwrite their keys",
        ),
        pytest.param(
            {"containers": [container({"x.io/y": "1"})], "resources": {"requests": {"x.io/y": "9"}}},
            {"x.io/y": 1},
            id="pod-level requests of other resources are ignored",
        ),
        pytest.param(
            {"containers": [container({"cpu": "1"})], "resources": {"limits": {"cpu": "4", "hugepages-2Mi": "2Mi"}}},
            {"cpu": 4000, "hugepages-2Mi": 2**21},
            id="pod-level limits replace missing pod-level requests",
        ),
        pytest.param({"containers": [container({"cpu": "0.4m"})] * 3}, {"cpu": 2}, id="rounded up once, after the sum"),
        pytest.param({"containers": [container({"cpu": "-1"})]}, {"cpu": 0}, id="negative totals count as nothing"),
        pytest.param({"containers": [container({"memory": "0"})]}, {"memory": 0}, id="17: zero stays a request"),
        pytest.param({}, {}, id="no containers"),
    ],
)
def test_request_of_one_pod(pod_spec: Raw, want: dict[str, int]) -> None:
    assert usage(workload(pod_spec)) == want


def test_28_overhead_is_added_per_pod() -> None:
    pod = {"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m"}}
    assert usage(workload(pod, count=2)) == {"cpu": 2500}


def test_overhead_comes_from_the_runtime_class_only_when_the_pod_has_none() -> None:
    context = RequestContext(runtime_overheads={"kata": read_resource_list({"cpu": "1"}, "overhead.podFixed")})
    pod = {"containers": [container({"cpu": "1"})], "runtimeClassName": "kata"}
    assert usage(workload(pod), context) == {"cpu": 2000}
    assert usage(workload({**pod, "overhead": {"cpu": "1m"}}), context) == {"cpu": 1001}
    assert usage(workload({**pod, "runtimeClassName": "missing"}), context) == {"cpu": 1000}


def test_29_limit_range_fills_missing_requests() -> None:
    summary = LimitRangeSummary.of([limit_range(type="Container", defaultRequest={"cpu": "500m"})])
    pod = {"containers": [container()]}
    assert usage(workload(pod, count=4), RequestContext(limit_ranges=summary)) == {"cpu": 2000}


def test_limit_range_default_limit_becomes_the_request_of_a_container_without_one() -> None:
    summary = LimitRangeSummary.of([limit_range(type="Container", default={"cpu": "2"})])
    context = RequestContext(limit_ranges=summary)
    assert usage(workload({"containers": [container()]}), context) == {"cpu": 2000}
    assert usage(workload({"containers": [container({"cpu": "1"})]}), context) == {"cpu": 1000}


def test_limit_range_of_pods_fills_only_an_existing_pod_level_block() -> None:
    summary = LimitRangeSummary.of([limit_range(type="Pod", defaultRequest={"cpu": "4"})])
    context = RequestContext(limit_ranges=summary)
    assert usage(workload({"containers": [container({"cpu": "1"})]}), context) == {"cpu": 1000}
    assert usage(workload({"containers": [container({"cpu": "1"})], "resources": {}}), context) == {"cpu": 4000}


def test_limit_ranges_merge_bounds_and_report_contested_defaults() -> None:
    summary = LimitRangeSummary.of(
        [
            limit_range("b", type="Container", max={"cpu": "4"}, min={"cpu": "1"}, default={"cpu": "2"}),
            limit_range("a", type="Container", max={"cpu": "3"}, min={"cpu": "2"}, default={"cpu": "3", "x/y": "1"}),
            limit_range("c", type="PersistentVolumeClaim", max={"storage": "1"}),
        ]
    )
    assert summary.container is not None
    assert summary.container.maximum == {"cpu": 3}
    assert summary.container.minimum == {"cpu": 2}
    assert summary.container.default_limits == {"cpu": "3", "x/y": "1"}
    assert [str(default) for default in summary.contested] == ["Container default cpu"]
    assert summary.pod is None


def test_malformed_limit_range_is_named() -> None:
    with pytest.raises(
        InvalidObjectError, match=r'LimitRange "limits": spec.limits\[0\].max\[cpu\]: .x. is not a quantity'
    ):
        LimitRangeSummary.of([limit_range(type="Pod", max={"cpu": "x"})])


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        pytest.param(
            {"transformations": [{"input": "nvidia.com/gpu", "strategy": "Replace", "outputs": {"credits": 5}}]},
            {"cpu": 1000, "credits": 10},
            id="30: gpu becomes credits",
        ),
        pytest.param(
            {"transformations": [{"input": "nvidia.com/gpu", "outputs": {"credits": "5"}}]},
            {"cpu": 1000, "credits": 10, "nvidia.com/gpu": 2},
            id="the default strategy keeps the input",
        ),
        pytest.param({"excludeResourcePrefixes": ["nvidia."]}, {"cpu": 1000}, id="31: excluded prefix"),
        pytest.param(
            {"transformations": [{"input": "nvidia.com/gpu", "outputs": {"cpu": "-4"}}]},
            {"cpu": 1000, "nvidia.com/gpu": 2},
            id="a negative output reduces nothing that was asked for",
        ),
        pytest.param(
            {"transformations": [{"input": "nvidia.com/gpu", "multiplyBy": "cpu", "outputs": {"credits": "500m"}}]},
            {"cpu": 1000, "credits": 1, "nvidia.com/gpu": 2},
            id="multiplied by another resource",
        ),
        pytest.param(
            {"transformations": [{"input": "nvidia.com/gpu", "multiplyBy": "memory", "outputs": {"credits": "3"}}]},
            {"cpu": 1000, "credits": 6, "nvidia.com/gpu": 2},
            id="a multiplier that is not requested counts as one",
        ),
        pytest.param(
            {"transformations": [{"input": "memory", "outputs": {"credits": "3"}}]},
            {"cpu": 1000, "nvidia.com/gpu": 2},
            id="no input, no output",
        ),
    ],
)
def test_configured_rules(resources: Raw, want: dict[str, int]) -> None:
    context = RequestContext(rules=ResourceRules.from_raw(resources))
    assert usage(workload({"containers": [container({"cpu": "1", "nvidia.com/gpu": "2"})]}), context) == want


@pytest.mark.parametrize(
    ("transformation", "error"),
    [
        ({"input": "cpu", "strategy": "Keep"}, 'transformations[0].strategy: "Keep" is not allowed: Retain, Replace'),
        ({"outputs": {}}, "transformations[0].input: must name a resource"),
        ({"input": "cpu", "outputs": {"x": "y"}}, "transformations[0].outputs[x]: 'y' is not a quantity"),
        ({"input": "cpu", "outputs": "x"}, "transformations[0].outputs: 'x' is not allowed: must be a map"),
    ],
)
def test_malformed_transformation_is_named(transformation: Raw, error: str) -> None:
    with pytest.raises(FieldError) as caught:
        ResourceRules.from_raw({"transformations": [transformation]})
    assert error in str(caught.value)


def test_two_transformations_of_one_resource_are_refused() -> None:
    with pytest.raises(FieldError, match="transformed already"):
        ResourceRules.from_raw({"transformations": [{"input": "cpu"}, {"input": "cpu"}]})


def test_34_reclaimable_pods_ask_for_nothing() -> None:
    raw = workload({"containers": [container({"cpu": "1"})]}, 4, reclaimablePods=[{"name": "main", "count": 3}])
    assert usage(raw) == {"cpu": 1000}
    assert usage(raw, RequestContext(reclaimable_pods=False)) == {"cpu": 4000}
    request = workload_request(raw, RequestContext()).pod_sets[0]
    assert (request.count, request.spec_count) == (1, 4)
    assert count_after_reclaim(2, 5) == 0


def test_a_million_replicas_and_more_saturate() -> None:
    assert usage(workload({"containers": [container({"cpu": "1"})]}, 10**6)) == {"cpu": 10**9}
    assert usage(workload({"containers": [container({"cpu": "1E"})]}, 2**31 - 1)) == {"cpu": UNLIMITED}


def test_11_each_pod_is_rounded_up_before_it_is_multiplied() -> None:
    assert usage(workload({"containers": [container({"cpu": "333333u"})]}, 3)) == {"cpu": 1002}


@pytest.mark.parametrize(
    ("total", "old", "new", "want"), [(1000, 3, 2, 666), (1000, 0, 2, 1000), (1000, 3, 3, 1000), (-5, 2, 1, -2)]
)
def test_scaling_to_another_count_truncates(total: int, old: int, new: int, want: int) -> None:
    assert scale_to_count({"cpu": total}, old, new, EXACT_AMOUNTS) == {"cpu": want}


@pytest.mark.parametrize("count", [-1, 2**31, "3", 1.5, True])
def test_count_that_is_no_number_of_pods_is_refused(count: object) -> None:
    raw = workload({}, count=1)
    raw["spec"]["podSets"][0]["count"] = count
    with pytest.raises(FieldError, match=r"spec.podSets\[0\].count: .* must be a whole number from 0"):
        workload_request(raw, RequestContext())


def test_absent_count_is_one_and_absent_configuration_has_no_rules() -> None:
    raw = workload({"containers": [container({"cpu": "1"})]})
    del raw["spec"]["podSets"][0]["count"]
    assert usage(raw, RequestContext(rules=ResourceRules.from_raw(None))) == {"cpu": 1000}


def test_unparseable_quantity_is_named() -> None:
    with pytest.raises(FieldError) as caught:
        workload_request(workload({"containers": [container({}), container(limits={"cpu": "lots"})]}), RequestContext())
    assert caught.value.field == "spec.podSets[0].template.spec.containers[1].resources.limits[cpu]"


def test_40_request_above_its_limit_is_inadmissible() -> None:
    raw = workload({"containers": [container({"cpu": "2"}, {"cpu": "1"})]})
    assert workload_request(raw, RequestContext()).inadmissible == (
        "resources validation failed: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not exceed its limits'
    )


def test_several_violations_are_listed() -> None:
    over = container({"memory": "2", "cpu": "2"}, {"cpu": "1", "memory": "1"})
    raw = workload({"initContainers": [over], "containers": [container()], "resources": over["resources"]})
    assert workload_request(raw, RequestContext()).inadmissible == (
        "resources validation failed: [spec.podSets[0].template.spec.initContainers[0]: "
        'Invalid value: ["cpu","memory"]: requests must not exceed its limits, '
        'spec.podSets[0].template.spec.resources: Invalid value: ["cpu","memory"]: requests must not exceed its limits]'
    )


@pytest.mark.parametrize(
    ("item", "want"),
    [
        pytest.param(
            {"type": "Container", "max": {"cpu": "1"}},
            'spec.containers[0]: Invalid value: ["cpu"]: requests must not be above the limitRange max',
            id="container above max",
        ),
        pytest.param(
            {"type": "Container", "min": {"cpu": "3"}},
            'spec.containers[0]: Invalid value: ["cpu"]: requests must not be below the limitRange min',
            id="container below min",
        ),
        pytest.param(
            {"type": "Pod", "max": {"cpu": "2"}},
            'template.spec: Invalid value: ["cpu"]: requests must not be above the limitRange max',
            id="pod above max, overhead included",
        ),
        pytest.param(
            {"type": "Pod", "min": {"cpu": "4"}},
            'template.spec: Invalid value: ["cpu"]: requests must not be below the limitRange min',
            id="pod below min",
        ),
        pytest.param({"type": "Pod", "min": {"memory": "4"}}, None, id="a bound on what is not requested"),
        pytest.param({"type": "Container", "max": {"cpu": "2"}}, None, id="equal to the bound"),
    ],
)
def test_limit_range_bounds(item: Raw, want: str | None) -> None:
    context = RequestContext(limit_ranges=LimitRangeSummary.of([limit_range(**item)]))
    pod = {"containers": [container({"cpu": "2"})], "overhead": {"cpu": "1"}}
    message = workload_request(workload(pod), context).inadmissible
    if want is None:
        assert message is None
    else:
        assert message is not None
        assert message.startswith("resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec")
        assert message.endswith(want)
