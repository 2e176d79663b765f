"""The checks of a workload's resources that Kueue makes before it looks for quota.

Each check returns the message that Kueue writes when the workload is inadmissible, or None. The pods are the adjusted
ones, so defaults of LimitRanges count as if the user had written them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from config.api.quantity import to_amount
from engine.requests.limit_ranges import LimitRangeSummary
from engine.requests.pod_resources import ContainerResources, PodResources, pod_requests, quantities

_OVER_LIMIT: Final = "requests must not exceed its limits"
_ABOVE_MAX: Final = "requests must not be above the limitRange max"
_BELOW_MIN: Final = "requests must not be below the limitRange min"


def requests_over_limits(pods: Sequence[PodResources]) -> str | None:
    """Return why the pod sets are refused because a request exceeds its own limit."""
    return _message("resources validation failed", _over_limits(pods))


def outside_limit_ranges(pods: Sequence[PodResources], limit_ranges: LimitRangeSummary) -> str | None:
    """Return why the pod sets are refused by the LimitRanges of their namespace."""
    if limit_ranges.container is None and limit_ranges.pod is None:
        return None
    return _message("resources didn't satisfy LimitRange constraints", _outside_bounds(pods, limit_ranges))


def _over_limits(pods: Sequence[PodResources]) -> Iterator[str]:
    for path, container in _blocks(pods):
        if not container.limits:
            continue
        yield from _invalid(path, _greater(quantities(container.requests), quantities(container.limits)), _OVER_LIMIT)


def _blocks(pods: Sequence[PodResources]) -> Iterator[tuple[str, ContainerResources]]:
    for index, pod in enumerate(pods):
        yield from _container_blocks(_pod_path(index), pod)
        if pod.pod_level is not None:
            yield f"{_pod_path(index)}.resources", pod.pod_level


def _container_blocks(path: str, pod: PodResources) -> Iterator[tuple[str, ContainerResources]]:
    for kind, containers in (("initContainers", pod.init_containers), ("containers", pod.containers)):
        for position, container in enumerate(containers):
            yield f"{path}.{kind}[{position}]", container


def _outside_bounds(pods: Sequence[PodResources], limit_ranges: LimitRangeSummary) -> Iterator[str]:
    for index, pod in enumerate(pods):
        path = _pod_path(index)
        if limit_ranges.container is not None:
            for container_path, container in _container_blocks(path, pod):
                largest = _merge(container, max)
                yield from _invalid(container_path, _greater(largest, limit_ranges.container.maximum), _ABOVE_MAX)
                smallest = _merge(container, min)
                yield from _invalid(container_path, _greater(limit_ranges.container.minimum, smallest), _BELOW_MIN)
        if limit_ranges.pod is not None:
            total = pod_requests(pod)
            yield from _invalid(path, _greater(total, limit_ranges.pod.maximum), _ABOVE_MAX)
            yield from _invalid(path, _greater(limit_ranges.pod.minimum, total), _BELOW_MIN)


def _merge(container: ContainerResources, choose: Callable[[Fraction, Fraction], Fraction]) -> dict[str, Fraction]:
    merged = quantities(container.requests)
    for name, limit in quantities(container.limits).items():
        merged[name] = choose(merged[name], limit) if name in merged else limit
    return merged


def _greater(values: Mapping[str, Fraction], bounds: Mapping[str, Fraction]) -> list[str]:
    return sorted(
        name
        for name, value in values.items()
        if name in bounds and to_amount(name, value) > to_amount(name, bounds[name])
    )


def _invalid(path: str, resources: list[str], rule: str) -> Iterator[str]:
    if resources:
        yield f"{path}: Invalid value: {json.dumps(resources, separators=(',', ':'))}: {rule}"


def _message(headline: str, errors: Iterable[str]) -> str | None:
    distinct = list(dict.fromkeys(errors))
    if not distinct:
        return None
    return f"{headline}: {distinct[0] if len(distinct) == 1 else '[' + ', '.join(distinct) + ']'}"


def _pod_path(pod_set_index: int) -> str:
    return f"spec.podSets[{pod_set_index}].template.spec"
