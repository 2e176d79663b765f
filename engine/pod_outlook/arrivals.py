"""The pods that a Workload's job makes once Kueue lets it run.

Kueue puts the node labels of the assigned flavors into the node selector and their tolerations beside the pod's own,
and takes its own scheduling gates away. Priority classes are the worker's. Pods of one pod set differ in their names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from config.api.meta import ObjectKey, Raw, format_time
from config.names import KUEUE_GROUP
from engine.placement.suitability import FlavorPlacement
from engine.pods.reading.object_shapes import check_structure
from engine.pods.reading.read_pods import read_pending_pod
from engine.pods.state.model import PodModel
from engine.pods.values.values import PendingPod
from engine.vocabulary.errors import FieldError, InvalidObjectError

_KUEUES_GATES: Final = (f"{KUEUE_GROUP}/admission", f"{KUEUE_GROUP}/topology")
MOST_PODS: Final = 5000
"""A Workload of more pods gets no forecast: the answer would come too late."""


@dataclass(frozen=True, slots=True)
class AssignedPods:
    """One pod set as it would be admitted: how many pods, on nodes of which flavors."""

    name: str
    count: int
    flavors: tuple[FlavorPlacement, ...] = ()


class NoSuchPodSetError(ValueError):
    """The Workload's spec does not have a pod set that was assigned."""


def arriving_pods(
    model: PodModel, workload: ObjectKey, pod_sets: Sequence[Raw], assigned: Iterable[AssignedPods], now_ns: int
) -> tuple[tuple[PendingPod, ...], ...]:
    """Return the pods of each pod set; raises ValueError for a template that no pod could be made of."""
    templates = {str(raw.get("name") or "main"): raw.get("template") or {} for raw in pod_sets}
    found, sequence = [], 0
    for each in assigned:
        if each.name not in templates:
            raise NoSuchPodSetError(f"there is no pod set {each.name!r}")
        first = _pod(model, ObjectKey(workload.namespace, f"{workload.name}-{each.name}"), templates[each.name], now_ns)
        first = _on_flavors(first, each.flavors)
        found.append(
            tuple(
                replace(
                    first,
                    key=ObjectKey(first.key.namespace, f"{first.key.name}-{number}"),
                    arrival=(now_ns, sequence + number),
                )
                for number in range(each.count)
            )
        )
        sequence += each.count
    return tuple(pods for pods in found if pods)


def _pod(model: PodModel, key: ObjectKey, template: Raw, now_ns: int) -> PendingPod:
    metadata, spec = template.get("metadata") or {}, dict(template.get("spec") or {})
    gates = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") not in _KUEUES_GATES]
    raw = {
        "kind": "Pod",
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "labels": metadata.get("labels") or {},
            "creationTimestamp": format_time(now_ns),
        },
        "spec": {**spec, "schedulingGates": gates},
    }
    check_structure("Pod", raw)
    try:
        return read_pending_pod(raw, model.resources, model.priority_classes, 0)
    except FieldError as error:
        raise InvalidObjectError("Pod", str(key), error) from None


def _on_flavors(pod: PendingPod, flavors: Iterable[FlavorPlacement]) -> PendingPod:
    selector = dict(pod.demands.selector)
    tolerations = list(pod.demands.tolerations)
    for flavor in flavors:
        selector.update(flavor.labels)
        tolerations += [each for each in flavor.tolerations if each not in tolerations]
    demands = replace(pod.demands, selector=tuple(sorted(selector.items())), tolerations=tuple(tolerations))
    return replace(pod, demands=demands)
