"""Requests of pods and room on nodes, in the integers that kube-scheduler compares.

Invariant: quantities are summed exactly and rounded up once. Resource names become small indexes, so that a node's
room is a plain list of integers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from config.api.quantity import parse_quantity, request_amount, to_amount
from engine.pods.values.values import Footprint, HostPort
from engine.requests.pod_resources import (
    ContainerResources,
    PodResources,
    is_pod_level,
    pod_requests,
    read_resource_list,
)
from engine.vocabulary.errors import FieldError

CPU: Final = 0
MEMORY: Final = 1
PODS: Final = "pods"

_FIXED: Final = ("cpu", "memory", "ephemeral-storage")
_SCORED_CPU: Final = 100
_SCORED_MEMORY: Final = 200 * 1024 * 1024
_SCORED: Final = {"cpu": f"{_SCORED_CPU}m", "memory": _SCORED_MEMORY}
_PREFIXED_NATIVE: Final = re.compile(r"hugepages-|attachable-volumes-")
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared with, never listened on


class ResourceNames:
    """Resource names and their indexes; cpu, memory and ephemeral storage are always there."""

    __slots__ = ("_index", "names")

    def __init__(self) -> None:
        """Know the resources that every node has."""
        self.names: list[str] = list(_FIXED)
        self._index = {name: index for index, name in enumerate(_FIXED)}

    def index(self, name: str) -> int:
        """Return the index of a resource, a new one if it was never met."""
        known = self._index.get(name)
        if known is None:
            known = self._index[name] = len(self.names)
            self.names.append(name)
        return known

    def copy(self) -> "ResourceNames":
        """Return the same names, to which others may be added."""
        twin = ResourceNames()
        twin.names, twin._index = self.names.copy(), self._index.copy()
        return twin


def is_counted(name: str) -> bool:
    """Return whether the scheduler counts this resource on nodes: not every name that an object may carry is one."""
    return name in _FIXED or "/" in name or _PREFIXED_NATIVE.match(name) is not None


def read_allocatable(status: Mapping[str, Any], names: ResourceNames) -> tuple[tuple[int, ...], int]:
    """Return the amounts by resource index, and how many pods the node takes."""
    room: dict[int, int] = {}
    pod_limit = 0
    for name, value in read_amounts(status.get("allocatable"), "status.allocatable").items():
        if name == PODS:
            pod_limit = request_amount(PODS, value)
        elif is_counted(name):
            room[names.index(name)] = request_amount(name, value)
    return tuple(room.get(index, 0) for index in range(max(room, default=CPU) + 1)), pod_limit


def read_amounts(raw: object, field: str) -> Mapping[str, Any]:
    """Check that a map of resource to quantity can be counted: every quantity parses and none is negative."""
    resources = read_resource_list(raw, field)
    for name, value in resources.items():
        if parse_quantity(value) < 0:
            raise FieldError(f"{field}[{name}]", f'"{value}" is not allowed: must be zero or more')
    return resources


def read_footprint(raw: Mapping[str, Any], names: ResourceNames) -> Footprint:
    """Return what a raw pod takes of its node, with the requests of a resize under way counted at their largest."""
    spec = raw.get("spec") or {}
    pod = _read_resources(spec, _actual_requests(raw))
    plain, scored, arriving = _totals(pod)
    requests = tuple(
        sorted((names.index(name), amount) for name, amount in plain.items() if amount and is_counted(name))
    )
    own = None if arriving == scored else (arriving.get("cpu", 0), arriving.get("memory", 0))
    return Footprint(requests, scored.get("cpu", 0), scored.get("memory", 0), tuple(_host_ports(spec)), own)


def _totals(pod: PodResources) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the amounts that must fit, those that are scored of a pod on its node, and of one that looks for it."""
    if pod.is_single_container:
        requests = pod.containers[0].requests
        plain = {name: request_amount(name, value) for name, value in requests.items()}
        scored = {"cpu": plain.get("cpu", _SCORED_CPU), "memory": plain.get("memory", _SCORED_MEMORY)}
        return plain, scored, scored
    exact = pod_requests(pod)
    if pod.pod_level is None or not any(map(is_pod_level, pod.pod_level.requests)):
        scored = _amounts(pod_requests(_with_scored(pod, _SCORED)))
        return _amounts(exact), scored, scored
    # Of a pod with requests of its own, containers count a little, and only for resources that are not requested.
    unasked = {name: amount for name, amount in _SCORED.items() if name not in exact}
    overlooked = _with_scored(replace(pod, pod_level=None), _SCORED)
    return _amounts(exact), _amounts(pod_requests(_with_scored(pod, unasked))), _amounts(pod_requests(overlooked))


def _amounts(quantities: Mapping[str, Fraction]) -> dict[str, int]:
    return {name: to_amount(name, quantity) for name, quantity in quantities.items()}


def _with_scored(pod: PodResources, least: Mapping[str, Any]) -> PodResources:
    """Return the pod with containers that ask for these amounts where they ask for nothing."""

    def filled(containers: Iterable[ContainerResources]) -> tuple[ContainerResources, ...]:
        return tuple(
            ContainerResources({**least, **container.requests}, container.limits, container.is_sidecar)
            for container in containers
        )

    return PodResources(filled(pod.init_containers), filled(pod.containers), pod.pod_level, pod.overhead)


def _read_resources(spec: Mapping[str, Any], actual: Mapping[str, Mapping[str, Any]]) -> PodResources:
    pod_level = spec.get("resources")
    return PodResources(
        init_containers=_read_containers(spec, "initContainers", actual),
        containers=_read_containers(spec, "containers", actual),
        pod_level=None if not pod_level else _read_container(pod_level, "spec.resources"),
        overhead=read_amounts(spec.get("overhead"), "spec.overhead"),
    )


def _read_containers(
    spec: Mapping[str, Any], kind: str, actual: Mapping[str, Mapping[str, Any]]
) -> tuple[ContainerResources, ...]:
    read = []
    for index, container in enumerate(spec.get(kind) or ()):
        is_sidecar = container.get("restartPolicy") == "Always"
        resources = _read_container(container.get("resources") or {}, f"spec.{kind}[{index}].resources", is_sidecar)
        held = actual.get(container.get("name") or "") if kind == "containers" or is_sidecar else None
        if held:
            resources = ContainerResources(_largest(resources.requests, held), resources.limits, is_sidecar)
        read.append(resources)
    return tuple(read)


def _read_container(block: Mapping[str, Any], field: str, is_sidecar: bool = False) -> ContainerResources:
    """Read one block of requests; a limit stands in for a missing request, as the API server fills it in."""
    limits = read_amounts(block.get("limits"), f"{field}.limits")
    requests = read_amounts(block.get("requests"), f"{field}.requests")
    return ContainerResources({**limits, **requests} if limits else requests, limits, is_sidecar)


def _actual_requests(raw: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what running containers hold by name, where that differs from the spec while a resize is under way."""
    status = raw.get("status") or {}
    held: dict[str, Mapping[str, Any]] = {}
    for list_name in ("containerStatuses", "initContainerStatuses"):
        for index, entry in enumerate(status.get(list_name) or ()):
            resources = entry.get("resources")
            if not resources:
                continue
            field = f"status.{list_name}[{index}]"
            requests = read_amounts(resources.get("requests"), f"{field}.resources.requests")
            allocated = read_amounts(entry.get("allocatedResources"), f"{field}.allocatedResources")
            held[entry.get("name") or ""] = _largest(requests, allocated)
    return held


def _largest(first: Mapping[str, Any], second: Mapping[str, Any]) -> Mapping[str, Any]:
    if first == second:
        return first
    largest = dict(first)
    for name, value in second.items():
        if name not in largest or parse_quantity(value) > parse_quantity(largest[name]):
            largest[name] = value
    return largest


def _host_ports(spec: Mapping[str, Any]) -> Iterable[HostPort]:
    sidecars = (entry for entry in spec.get("initContainers") or () if entry.get("restartPolicy") == "Always")
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or 0
            if number > 0:
                yield HostPort(port.get("hostIP") or _ANY_ADDRESS, port.get("protocol") or "TCP", number)


def conflicts(wanted: HostPort, taken: HostPort) -> bool:
    """Return whether two pods cannot share a node because of these ports; the address 0.0.0.0 is every address."""
    if (wanted.protocol, wanted.port) != (taken.protocol, taken.port):
        return False
    return _ANY_ADDRESS in (wanted.ip, taken.ip) or wanted.ip == taken.ip
