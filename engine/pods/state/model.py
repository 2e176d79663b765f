"""Nodes, pods, PodGroups and PodDisruptionBudgets of one cluster, kept current object by object.

Built once from a list, or kept from watches: `apply` takes any object in any order, `forget` removes one. Memory-lean:
raw objects are not kept, and what many pods have in common is shared. Invariant: the load of a node is the sum of the
pods bound to it, whatever the order of events.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, Final

from config.api.meta import ObjectKey
from engine.pods.reading.object_shapes import check_structure, name_of
from engine.pods.reading.read_groups import read_budget, read_group
from engine.pods.reading.read_nodes import read_node
from engine.pods.reading.read_pods import is_over, node_name, pod_key, read_bound_pod, read_pending_pod
from engine.pods.values.load import NodeLoad
from engine.pods.values.priorities import PriorityClass, PriorityClasses
from engine.pods.values.resources import ResourceNames
from engine.pods.values.sharing import SharedValues
from engine.pods.values.values import BoundPod, DisruptionBudget, Footprint, Node, PendingPod, PodGroup
from engine.vocabulary.errors import FieldError, InvalidObjectError

KINDS: Final = ("PriorityClass", "Node", "PodGroup", "PodDisruptionBudget", "Pod")
"""What the model holds, in the order in which one list is best applied: names before what uses them."""
CLUSTER_WIDE: Final = ("PriorityClass", "Node")


class NodeState:
    """One node, the pods bound to it, and the room they take; `node` is None while only its pods are known."""

    __slots__ = ("load", "node", "pods")

    def __init__(self) -> None:
        """Start without pods."""
        self.node: Node | None = None
        self.pods: dict[ObjectKey, BoundPod] = {}
        self.load = NodeLoad()

    def copy(self) -> "NodeState":
        """Return an independent state."""
        twin = NodeState()
        twin.node, twin.pods, twin.load = self.node, self.pods.copy(), self.load.copy()
        return twin


class PodModel:
    """The live picture that forecasts are made from."""

    __slots__ = (
        "_arrivals",
        "_borrowed",
        "_footprints",
        "_labels",
        "_node_of",
        "_opinionated",
        "_sequence",
        "budgets",
        "groups",
        "members",
        "nodes",
        "pending",
        "priority_classes",
        "resources",
    )

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: dict[str, NodeState] = {}
        self.pending: dict[ObjectKey, PendingPod] = {}
        self.groups: dict[ObjectKey, PodGroup] = {}
        self.budgets: dict[ObjectKey, DisruptionBudget] = {}
        self.members: dict[ObjectKey, dict[ObjectKey, BoundPod]] = {}
        self.priority_classes = PriorityClasses()
        self.resources = ResourceNames()
        self._node_of: dict[ObjectKey, str] = {}
        self._opinionated: dict[ObjectKey, BoundPod] = {}
        self._footprints: SharedValues[Footprint] = SharedValues(lambda footprint: footprint)
        self._labels: SharedValues[Mapping[str, str]] = SharedValues(lambda labels: frozenset(labels.items()))
        self._arrivals: dict[ObjectKey, int] = {}
        self._sequence = count()
        self._borrowed: set[str] = set()

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]]) -> "PodModel":
        """Build a model from raw objects in any order; other kinds are passed over."""
        model = cls()
        by_kind: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in KINDS}
        for raw in objects:
            kind = raw.get("kind")
            if isinstance(kind, str) and kind in by_kind:
                by_kind[kind].append(raw)
        for kind in KINDS:
            for raw in by_kind[kind]:
                model.apply(raw)
        return model

    def fork(self) -> "PodModel":
        """Return a model to try things out in. It borrows nodes until it changes them: meanwhile leave this one as it
        is."""
        twin = PodModel.__new__(PodModel)
        twin._arrivals, twin._sequence = {}, count()
        twin.nodes, twin._borrowed = self.nodes.copy(), set(self.nodes)
        twin.pending, twin.groups, twin.budgets = self.pending.copy(), self.groups.copy(), self.budgets.copy()
        twin.members = {group: pods.copy() for group, pods in self.members.items()}
        twin.priority_classes, twin.resources = self.priority_classes, self.resources
        twin._node_of, twin._opinionated = self._node_of.copy(), self._opinionated.copy()
        twin._footprints, twin._labels = self._footprints.copy(), self._labels.copy()
        return twin

    def detached(self) -> "PodModel":
        """Return a model that stays as it is whatever happens to this one, for another thread: nodes are shared until
        either of the two changes them."""
        twin = self.fork()
        twin.priority_classes, twin.resources = self.priority_classes.copy(), self.resources.copy()
        self._borrowed = set(self.nodes)
        return twin

    def apply(self, raw: Mapping[str, Any]) -> None:
        """Take over an object's present state; an object that cannot be used raises InvalidObjectError."""
        kind, value = raw["kind"], self.read(raw["kind"], raw)
        key = pod_key(raw) if kind not in CLUSTER_WIDE else ObjectKey("", raw["metadata"]["name"])
        if kind == "Pod":
            sequence = self._arrivals.get(key)
            if sequence is None:
                sequence = self._arrivals[key] = next(self._sequence)
            if isinstance(value, PendingPod):
                value = replace(value, arrival=(value.arrival[0], sequence))
        self.put(kind, key, value)

    def read(self, kind: str, raw: Mapping[str, Any]) -> Any:
        """Reduce an object to what `put` takes, None for a pod that is over; raises InvalidObjectError."""
        check_structure(kind, raw)
        try:
            match kind:
                case "Node":
                    return read_node(raw, self.resources)
                case "Pod":
                    return self._read_pod(raw)
                case "PodGroup":
                    return read_group(raw, self.priority_classes)
                case "PodDisruptionBudget":
                    return read_budget(raw)
                case _:
                    return PriorityClass.from_raw(raw)
        except FieldError as error:
            raise InvalidObjectError(kind, name_of(raw), error) from None

    def put(self, kind: str, key: ObjectKey, value: Any) -> None:
        """Take over what `read` made of an object; None when it is gone, or over."""
        match kind:
            case "Pod":
                self.put_pod(key, value)
            case _ if value is None:
                self.forget(kind, key)
            case "Node":
                self._state(key.name).node = value
            case "PodGroup":
                self.groups[key] = value
            case "PodDisruptionBudget":
                self.budgets[key] = value
            case _:
                self.priority_classes.add(value)

    def forget(self, kind: str, key: ObjectKey) -> None:
        """Remove an object that was deleted; the namespace of a cluster-scoped one is empty."""
        match kind:
            case "Node":
                self._forget_node(key.name)
            case "Pod":
                self._forget_pod(key)
                self._arrivals.pop(key, None)
            case "PodGroup":
                self.groups.pop(key, None)
            case "PodDisruptionBudget":
                self.budgets.pop(key, None)
            case "PriorityClass":
                self.priority_classes.remove(key.name)

    def put_pod(self, key: ObjectKey, pod: BoundPod | PendingPod | None) -> None:
        """Take over the value of a pod; None when it is gone or over."""
        self._forget_pod(key)
        if isinstance(pod, BoundPod):
            self._add_bound(pod)
        elif pod is not None:
            self.pending[key] = pod

    def dangling(self) -> Iterator[InvalidObjectError]:
        """Yield an error for every pod that is bound to a node which is not there."""
        for name, state in self.nodes.items():
            if state.node is None:
                for key in state.pods:
                    yield InvalidObjectError("Pod", str(key), FieldError("spec.nodeName", f'there is no Node "{name}"'))

    def pending_members(self, group: ObjectKey) -> list[PendingPod]:
        """Return the pods of a group that wait for a node, in the order of their arrival."""
        return sorted((pod for pod in self.pending.values() if pod.group == group), key=lambda pod: pod.arrival)

    def bound_members(self, group: ObjectKey) -> Mapping[ObjectKey, BoundPod]:
        """Return the pods of a group that have a node."""
        return self.members.get(group, {})

    def opinionated_pods(self) -> Iterable[BoundPod]:
        """Return the bound pods that want others near or far."""
        return self._opinionated.values()

    def bound_count(self) -> int:
        """Return how many pods have a node."""
        return len(self._node_of)

    def bound_pod(self, key: ObjectKey) -> BoundPod | None:
        """Return a bound pod."""
        name = self._node_of.get(key)
        return None if name is None else self.nodes[name].pods[key]

    def _state(self, name: str) -> NodeState:
        state = self.nodes.get(name)
        if state is None:
            state = self.nodes[name] = NodeState()
        elif name in self._borrowed:
            self._borrowed.discard(name)
            state = self.nodes[name] = state.copy()
        return state

    def _read_pod(self, raw: Mapping[str, Any]) -> BoundPod | PendingPod | None:
        if is_over(raw):
            return None
        if not node_name(raw):
            return read_pending_pod(raw, self.resources, self.priority_classes, 0)
        bound = read_bound_pod(raw, self.resources, self.priority_classes)
        footprint, labels = self._footprints.find(bound.footprint), self._labels.find(bound.labels)
        return replace(bound, footprint=footprint, labels=labels)

    def _add_bound(self, pod: BoundPod) -> None:
        footprint, labels = self._footprints.take(pod.footprint), self._labels.take(pod.labels)
        if footprint is not pod.footprint or labels is not pod.labels:
            pod = replace(pod, footprint=footprint, labels=labels)
        state = self._state(pod.node)
        state.pods[pod.key] = pod
        state.load.add(pod.footprint)
        self._node_of[pod.key] = pod.node
        if pod.group is not None:
            self.members.setdefault(pod.group, {})[pod.key] = pod
        if pod.keeps_away or pod.attracts:
            self._opinionated[pod.key] = pod

    def _forget_pod(self, key: ObjectKey) -> None:
        self.pending.pop(key, None)
        name = self._node_of.pop(key, None)
        if name is None:
            return
        state = self._state(name)
        pod = state.pods.pop(key)
        state.load.remove(pod.footprint)
        self._footprints.drop(pod.footprint)
        self._labels.drop(pod.labels)
        self._opinionated.pop(key, None)
        if pod.group is not None:
            siblings = self.members[pod.group]
            del siblings[key]
            if not siblings:
                del self.members[pod.group]
        if state.node is None and not state.pods:
            del self.nodes[name]

    def _forget_node(self, name: str) -> None:
        if name not in self.nodes:
            return
        state = self._state(name)
        state.node = None
        if not state.pods:
            del self.nodes[name]
