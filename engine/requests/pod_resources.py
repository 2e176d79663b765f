"""What one pod of a pod set asks for, before any policy of Kueue's configuration.

A raw pod spec becomes `PodResources` once: the pod's overhead and the namespace's LimitRange defaults are filled in,
and limits stand in for missing requests; the raw spec is never changed. Invariant: every quantity inside has been
parsed once already, so that nothing downstream can fail. Quantities stay as they were written, because Kueue's
equivalence classes tell `1Gi` from `1073741824`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from config.api.quantity import QuantityError, parse_quantity
from engine.requests.limit_ranges import ItemSummary, LimitRangeSummary
from engine.vocabulary.errors import FieldError

ResourceList = Mapping[str, Any]
"""Resource name to quantity as written; read it only through `read_resource_list`."""

_NOTHING: Final[ResourceList] = {}
_POD_LEVEL_RESOURCES: Final = frozenset({"cpu", "memory"})
_POD_LEVEL_PREFIX: Final = "hugepages-"


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """Requests and limits of a container, or of the pod as a whole."""

    requests: ResourceList
    limits: ResourceList
    is_sidecar: bool = False


@dataclass(frozen=True, slots=True)
class PodResources:
    """Everything in a pod spec that decides how much the pod asks for."""

    init_containers: tuple[ContainerResources, ...]
    containers: tuple[ContainerResources, ...]
    pod_level: ContainerResources | None
    overhead: ResourceList

    @property
    def is_single_container(self) -> bool:
        """Return whether the pod asks for exactly what its one container asks for."""
        return len(self.containers) == 1 and not self.init_containers and self.pod_level is None and not self.overhead


def read_pod_resources(
    pod_spec: Mapping[str, Any],
    field: str,
    limit_ranges: LimitRangeSummary,
    runtime_overheads: Mapping[str, ResourceList],
) -> PodResources:
    """Read a raw pod spec found at `field`, and adjust it as Kueue does before it counts."""
    return PodResources(
        init_containers=_read_containers(pod_spec, "initContainers", field, limit_ranges.container),
        containers=_read_containers(pod_spec, "containers", field, limit_ranges.container),
        pod_level=_read_pod_level(pod_spec, field, limit_ranges.pod),
        overhead=_read_overhead(pod_spec, field, runtime_overheads),
    )


def pod_requests(pod: PodResources) -> dict[str, Fraction]:
    """Return what the pod asks of a node, as kube-scheduler counts it.

    Sidecars run beside the containers and beside every later init container; other init containers run alone.
    """
    running: dict[str, Fraction] = {}
    for container in pod.containers:
        _add(running, container.requests)
    sidecars: dict[str, Fraction] = {}
    initializing: dict[str, Fraction] = {}
    for container in pod.init_containers:
        peak = dict(sidecars)
        _add(peak, container.requests)
        if container.is_sidecar:
            _add(running, container.requests)
            sidecars = peak
        _raise_to(initializing, peak)
    _raise_to(running, initializing)
    if pod.pod_level is not None:
        running.update(
            (name, parse_quantity(value)) for name, value in pod.pod_level.requests.items() if is_pod_level(name)
        )
    _add(running, pod.overhead)
    return running


def is_pod_level(resource: str) -> bool:
    """Return whether Kubernetes honours this resource in the pod-level block."""
    return resource in _POD_LEVEL_RESOURCES or resource.startswith(_POD_LEVEL_PREFIX)


def read_resource_list(raw: object, field: str) -> ResourceList:
    """Check that every entry of a raw map of resource to quantity can be parsed; an error names the entry."""
    if raw is None:
        return _NOTHING
    if not isinstance(raw, Mapping):
        raise FieldError(field, f"{raw!r} is not allowed: must be a map of resource name to quantity")
    for name, value in raw.items():
        try:
            parse_quantity(value)
        except QuantityError as error:
            raise FieldError(f"{field}[{name}]", str(error)) from None
    return raw


def quantities(resources: ResourceList) -> dict[str, Fraction]:
    """Return the exact values of a list that was read already."""
    return {name: parse_quantity(value) for name, value in resources.items()}


def _read_containers(
    pod_spec: Mapping[str, Any], kind: str, field: str, defaults: ItemSummary | None
) -> tuple[ContainerResources, ...]:
    return tuple(
        _read_container(container, f"{field}.{kind}[{index}].resources", defaults)
        for index, container in enumerate(pod_spec.get(kind) or ())
    )


def _read_container(container: Mapping[str, Any], field: str, defaults: ItemSummary | None) -> ContainerResources:
    return _with_defaults(
        container.get("resources") or {}, field, defaults, is_sidecar=container.get("restartPolicy") == "Always"
    )


def _read_pod_level(pod_spec: Mapping[str, Any], field: str, defaults: ItemSummary | None) -> ContainerResources | None:
    block = pod_spec.get("resources")
    return None if block is None else _with_defaults(block, f"{field}.resources", defaults)


def _with_defaults(
    block: Mapping[str, Any], field: str, defaults: ItemSummary | None, *, is_sidecar: bool = False
) -> ContainerResources:
    limits = read_resource_list(block.get("limits"), f"{field}.limits")
    requests = read_resource_list(block.get("requests"), f"{field}.requests")
    if defaults is not None:
        limits = {**defaults.default_limits, **limits}
        requests = {**defaults.default_requests, **requests}
    return ContainerResources({**limits, **requests} if limits else requests, limits, is_sidecar)


def _read_overhead(
    pod_spec: Mapping[str, Any], field: str, runtime_overheads: Mapping[str, ResourceList]
) -> ResourceList:
    own = read_resource_list(pod_spec.get("overhead"), f"{field}.overhead")
    runtime_class = pod_spec.get("runtimeClassName")
    if own or runtime_class is None:
        return own
    return runtime_overheads.get(runtime_class, _NOTHING)  # Kueue ignores a RuntimeClass that does not exist


def _add(total: dict[str, Fraction], more: ResourceList) -> None:
    for name, written in more.items():
        value = parse_quantity(written)
        total[name] = total[name] + value if name in total else value


def _raise_to(total: dict[str, Fraction], floor: Mapping[str, Fraction]) -> None:
    for name, value in floor.items():
        if name not in total or value > total[name]:
            total[name] = value
