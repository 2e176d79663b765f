"""What a pending workload asks for: per pod set, in the integers that quota is counted in.

From a raw Workload and the context of its namespace and cluster to `PodSetRequest` values, and to the message with
which Kueue refuses resources that contradict themselves. Usage of an admitted workload is not made here: it comes from
its status. Invariant: `requests == per_pod x count`, saturated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.requests.limit_ranges import NO_LIMIT_RANGES, LimitRangeSummary
from engine.requests.pod_resources import PodResources, ResourceList, pod_requests, read_pod_resources
from engine.requests.resource_checks import outside_limit_ranges, requests_over_limits
from engine.requests.transformations import NO_RULES, ResourceRules
from engine.versions.amounts import EXACT_AMOUNTS, Amounts
from engine.vocabulary.errors import FieldError

_MAX_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What, besides the workload itself, decides how much it asks for."""

    rules: ResourceRules = NO_RULES
    limit_ranges: LimitRangeSummary = NO_LIMIT_RANGES
    runtime_overheads: Mapping[str, ResourceList] = field(default_factory=dict)
    reclaimable_pods: bool = True
    amounts: Amounts = EXACT_AMOUNTS


@dataclass(frozen=True, slots=True)
class PodSetRequest:
    """The demand of one pod set; `count` is what is left after reclaimable pods, `spec_count` what was submitted."""

    name: str
    count: int
    spec_count: int
    min_count: int | None
    per_pod: Mapping[str, int]
    requests: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """The demand of a workload, and why Kueue would refuse it before looking for quota."""

    pod_sets: tuple[PodSetRequest, ...]
    pods: tuple[PodResources, ...]
    inadmissible: str | None = None
    amounts: Amounts = EXACT_AMOUNTS


def workload_request(raw: Mapping[str, Any], context: RequestContext) -> WorkloadRequest:
    """Compute the demand of a raw Workload."""
    pod_sets = (raw.get("spec") or {}).get("podSets") or ()
    reclaimable = reclaimable_counts(raw) if context.reclaimable_pods else {}
    pods = [_read_pod(pod_set, index, context) for index, pod_set in enumerate(pod_sets)]
    return WorkloadRequest(
        pod_sets=tuple(
            _pod_set_request(pod_set, index, pod, reclaimable, context)
            for index, (pod_set, pod) in enumerate(zip(pod_sets, pods, strict=True))
        ),
        pods=tuple(pods),
        inadmissible=requests_over_limits(pods) or outside_limit_ranges(pods, context.limit_ranges),
        amounts=context.amounts,
    )


def reclaimable_counts(raw: Mapping[str, Any]) -> dict[str, int]:
    """Return how many pods of each pod set need their quota no more."""
    entries = (raw.get("status") or {}).get("reclaimablePods") or ()
    return {
        entry["name"]: read_count(entry.get("count"), f"status.reclaimablePods[{index}].count")
        for index, entry in enumerate(entries)
    }


def count_after_reclaim(spec_count: int, reclaimable: int) -> int:
    """Return the pods that still need quota; more can be reclaimable than there are, after a scale-down."""
    return spec_count - min(reclaimable, spec_count)


def scale_to_count(total: Mapping[str, int], old_count: int, new_count: int, amounts: Amounts) -> dict[str, int]:
    """Return a pod set's total at another count, with the truncating division that Kueue uses."""
    if old_count in (0, new_count):
        return dict(total)
    return {name: amounts.multiply(_truncating_divide(value, old_count), new_count) for name, value in total.items()}


def read_count(value: object, path: str, *, default: int | None = None) -> int:
    """Read a number of pods."""
    if value is None and default is not None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_COUNT:
        raise FieldError(path, f"{value!r} is not allowed: must be a whole number from 0 to {_MAX_COUNT}")
    return value


def _read_pod(pod_set: Mapping[str, Any], index: int, context: RequestContext) -> PodResources:
    spec = (pod_set.get("template") or {}).get("spec") or {}
    path = f"spec.podSets[{index}].template.spec"
    return read_pod_resources(spec, path, context.limit_ranges, context.runtime_overheads)


def _pod_set_request(
    pod_set: Mapping[str, Any],
    index: int,
    pod: PodResources,
    reclaimable: Mapping[str, int],
    context: RequestContext,
) -> PodSetRequest:
    path = f"spec.podSets[{index}]"
    name = pod_set.get("name") or "main"
    spec_count = read_count(pod_set.get("count"), f"{path}.count", default=1)
    min_count = pod_set.get("minCount")
    count = count_after_reclaim(spec_count, reclaimable.get(name, 0))
    per_pod = _per_pod(pod, context)
    return PodSetRequest(
        name=name,
        count=count,
        spec_count=spec_count,
        min_count=None if min_count is None else read_count(min_count, f"{path}.minCount"),
        per_pod=per_pod,
        requests={name: context.amounts.multiply(amount, count) for name, amount in per_pod.items()},
    )


def _per_pod(pod: PodResources, context: RequestContext) -> dict[str, int]:
    amounts, rules = context.amounts, context.rules
    if rules.change_nothing and pod.is_single_container:  # nothing to add up: most pods, and much the fastest
        return {name: amounts.request(name, value) for name, value in pod.containers[0].requests.items()}
    return {name: amounts.computed_request(name, value) for name, value in rules.apply(pod_requests(pod)).items()}


def _truncating_divide(value: int, divisor: int) -> int:
    return value // divisor if value >= 0 else -(-value // divisor)
