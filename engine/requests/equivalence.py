"""Scheduling equivalence: workloads whose fate in one ClusterQueue must be the same.

Kueue hashes the shape of a workload and parks every workload of a shape that just failed. Only equality of the hashes
is observable, so the shape itself is the key here. Invariant: neither names, times nor uids are part of it.
"""

import json
from collections.abc import Hashable, Mapping
from typing import Any

from config.api.quantity import canonical_text
from engine.requests.pod_resources import ContainerResources, PodResources, ResourceList
from engine.requests.requests import PodSetRequest, WorkloadRequest
from engine.vocabulary.features import FeatureGates

ALLOWED_FLAVORS_ANNOTATION = "kueue.x-k8s.io/workload-allowed-resource-flavors"

_PLACEMENT_FIELDS = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "resourceClaims",
)


def equivalence_key(
    workload: Mapping[str, Any],
    request: WorkloadRequest,
    effective_priority: int,
    gates: FeatureGates,
    *,
    is_as_written: bool = False,
) -> Hashable:
    """Return a key that is equal for two pending workloads exactly when Kueue's hashes are.

    `is_as_written` leaves out what the pods come to request by transformations and exclusions.
    """
    pod_sets = (workload.get("spec") or {}).get("podSets") or ()
    shapes = tuple(
        _pod_set_shape(raw, pod_set, pod, is_as_written=is_as_written)
        for raw, pod_set, pod in zip(pod_sets, request.pod_sets, request.pods, strict=True)
    )
    allowed_flavors = None
    if gates.concurrent_admission:
        annotations = (workload.get("metadata") or {}).get("annotations") or {}
        allowed_flavors = annotations.get(ALLOWED_FLAVORS_ANNOTATION)
    return effective_priority, shapes, allowed_flavors


def _pod_set_shape(
    raw: Mapping[str, Any], pod_set: PodSetRequest, pod: PodResources, *, is_as_written: bool
) -> Hashable:
    spec = (raw.get("template") or {}).get("spec") or {}
    return (
        pod_set.name,
        pod_set.count,
        pod_set.min_count,
        None if is_as_written else tuple(sorted(pod_set.requests.items())),
        _document(raw.get("topologyRequest")),
        _document([spec.get(name) for name in _PLACEMENT_FIELDS]),
        _containers_shape(spec.get("initContainers") or (), pod.init_containers),
        _containers_shape(spec.get("containers") or (), pod.containers),
        None if pod.pod_level is None else _written(pod.pod_level.requests),
        _written(pod.overhead),
    )


def _containers_shape(raw: Any, containers: tuple[ContainerResources, ...]) -> Hashable:
    return tuple(
        (_written(container.requests), _document(entry.get("ports")))
        for entry, container in zip(raw, containers, strict=True)
    )


def _written(resources: ResourceList) -> Hashable:
    return tuple(sorted((name, canonical_text(value)) for name, value in resources.items()))


def _document(value: object) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True)
