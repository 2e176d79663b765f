"""The cluster model: what one Kueue knows, kept up to date object by object.

Raw objects come in one at a time, in any order, as a watch delivers them; each is reduced to a small value once, and
only what the change touches is recomputed. Invariant: the model depends on the objects it holds, not on the order or
history in which they came (generations excepted, which count history on purpose).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from config.api.meta import ObjectKey, object_key
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.forest import CohortForest
from engine.objects.activity import Inactivity, KnownChecks, why_inactive
from engine.objects.configuration import KueueConfiguration
from engine.objects.convert import to_v1beta2
from engine.objects.specs import ClusterQueueSpec, StopPolicy, read_choice, read_cluster_queue, read_cohort
from engine.objects.workloads import AdmittedWorkload, PendingWorkload, Workload, WorkloadReader
from engine.placement.suitability import FlavorPlacement
from engine.quota.quota_tree import CohortNode
from engine.requests.limit_ranges import LimitRangeSummary
from engine.requests.pod_resources import read_pod_resources, read_resource_list
from engine.requests.requests import RequestContext
from engine.topology.node_inventory import (
    NodeAmounts,
    NodePodReader,
    per_pod_amounts,
    read_levels,
    read_topology_node,
    with_pod_slot,
)
from engine.topology.rules import TopologyRules
from engine.topology.state import TopologyState
from engine.topology.usage import TopologyUse
from engine.vocabulary.effort import Effort
from engine.vocabulary.errors import FieldError, InvalidObjectError
from engine.vocabulary.flavor_resource import FlavorResourceTable


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """The part of a LocalQueue that decides where its workloads queue."""

    cluster_queue: str
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """The part of an AdmissionCheck that decides whether a ClusterQueue is active."""

    controller: str
    is_active: bool


class ClusterModel:
    """Everything in one cluster that decides what Kueue does with a workload."""

    def __init__(
        self,
        configuration: KueueConfiguration | None = None,
        table: FlavorResourceTable | None = None,
        *,
        sees_topology: bool = False,
    ) -> None:
        """Start without objects; `sees_topology` if Topologies, Nodes and Pods are among those that come."""
        self.configuration: Final = configuration or KueueConfiguration()
        self.table: Final = table or FlavorResourceTable()
        self.forest: Final = CohortForest(self._why_inactive, self.configuration.profile.amounts)
        pods = NodePodReader()
        self._readers: dict[str, Callable[[ObjectKey, Mapping[str, Any]], object]] = {
            "Workload": WorkloadReader(self.configuration, self.table).read,
            "ClusterQueue": lambda _, raw: read_cluster_queue(raw, self.table, self.configuration.profile.amounts),
            "Cohort": lambda _, raw: read_cohort(raw, self.table, self.configuration.profile.amounts),
            "ResourceFlavor": lambda _, raw: FlavorPlacement.from_raw(raw),
            "LocalQueue": lambda _, raw: _read_local_queue(raw),
            "Namespace": lambda _, raw: raw["metadata"].get("labels") or {},
            "LimitRange": lambda _, raw: raw,
            "RuntimeClass": lambda _, raw: _read_overhead(raw),
            "AdmissionCheck": lambda _, raw: _read_admission_check(raw),
            "Topology": lambda _, raw: read_levels(raw),
            "Node": lambda _, raw: read_topology_node(raw),
            "Pod": lambda _, raw: pods.read(raw),
        }
        self._objects: dict[str, dict[ObjectKey, Any]] = {kind: {} for kind in self._readers}
        self._limit_ranges: dict[str, LimitRangeSummary] = {}
        self.topology: Final = TopologyState(
            TopologyRules.of(self.configuration.gates),
            self._single,
            self._topology_uses,
            self._spend,
            is_observed=sees_topology,
        )
        self.on_search: Callable[[], None] = _go_on
        """Called before each search for victims, the most expensive part of a prediction. What it raises ends the
        prediction and leaves the model as it was."""
        self.effort = Effort()
        """What predictions take their steps from."""

    @classmethod
    def of(
        cls,
        objects: Iterable[Mapping[str, Any]],
        configuration: KueueConfiguration | None = None,
        *,
        sees_topology: bool = False,
    ) -> "ClusterModel":
        """Build a model from a list of objects."""
        model = cls(configuration, sees_topology=sees_topology)
        for raw in objects:
            model.apply(raw)
        return model

    @contextmanager
    def within(self, effort: Effort) -> Iterator[None]:
        """Let what is asked meanwhile take no more steps than these; one too many raises `TooMuchEffortError`."""
        before, self.effort = self.effort, effort
        try:
            yield
        finally:
            self.effort = before

    def apply(self, raw: Mapping[str, Any]) -> bool:
        """Take an added or changed object; return whether it is of a kind that matters here."""
        reduced = self.reduce(raw)
        if reduced is None:
            return False
        self.put(*reduced)
        return True

    def reduce(self, raw: Mapping[str, Any]) -> tuple[str, ObjectKey, Any] | None:
        """Return kind, key and the small value that is kept of an object; None for a kind that does not matter."""
        kind = raw.get("kind") or ""
        reader = self._readers.get(kind)
        if reader is None:
            return None
        key = object_key(raw)
        try:
            return kind, key, reader(key, to_v1beta2(raw))
        except FieldError as error:
            raise InvalidObjectError(kind, str(key), error) from None

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Forget an object."""
        if kind in self._objects:
            self.put(kind, ObjectKey(namespace, name), None)

    def put(self, kind: str, key: ObjectKey, value: Any) -> Any:
        """Replace what is known of an object by an already reduced value (None: it is gone); return what was known."""
        known = self._objects[kind]
        before = known.get(key)
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
        if kind == "Workload":
            self._workload_changed(before, value)
        elif kind == "ClusterQueue":
            self.forest.set_queue(key.name, value)
        elif kind == "Cohort":
            self.forest.set_cohort(key.name, value)
        elif kind in ("ResourceFlavor", "AdmissionCheck"):
            self._prerequisite_changed(kind, key.name, before, value)
        elif kind == "LimitRange":
            self._limit_ranges.pop(key.namespace, None)
        self._topology_changed(kind, key, before, value)
        return before

    def objects(self) -> dict[str, dict[ObjectKey, Any]]:
        """Return the reduced value of every object by kind, as it is now."""
        return {kind: known.copy() for kind, known in self._objects.items()}

    def observe_topology(self, why_not: str) -> bool:
        """Take whether Topologies, Nodes and Pods are known from now on, or why they are not; return if it is news."""
        topology = self.topology
        if topology.is_observed == (not why_not) and topology.why_unobserved == why_not:
            return False
        topology.is_observed, topology.why_unobserved = not why_not, why_not
        for queue in self.forest.declared_queues():
            self.forest.activity_changed(queue)
        return True

    def get(self, kind: str, key: ObjectKey) -> Any:
        """Return the reduced value of an object, None if there is none."""
        return self._objects[kind].get(key)

    def workload(self, key: ObjectKey) -> Workload | None:
        """Return what is known of a workload."""
        workload: Workload | None = self._objects["Workload"].get(key)
        return workload

    def workloads(self) -> Iterable[Workload]:
        """Return all workloads."""
        return self._objects["Workload"].values()

    def pending(self) -> list[PendingWorkload]:
        """Return the workloads that wait, ordered by key."""
        found = [workload for workload in self.workloads() if isinstance(workload, PendingWorkload)]
        return sorted(found, key=lambda workload: workload.key)

    def local_queue(self, namespace: str, name: str) -> LocalQueue | None:
        """Return a LocalQueue."""
        queue: LocalQueue | None = self._objects["LocalQueue"].get(ObjectKey(namespace, name))
        return queue

    def cluster_queue(self, name: str) -> ClusterQueue | None:
        """Return a ClusterQueue that exists."""
        return self.forest.find_queue(name)

    def cohorts(self) -> list[CohortNode]:
        """Return the cohorts, also those that are only referred to."""
        return self.forest.cohorts()

    def flavor(self, name: str) -> FlavorPlacement | None:
        """Return a ResourceFlavor."""
        flavor: FlavorPlacement | None = self._objects["ResourceFlavor"].get(ObjectKey("", name))
        return flavor

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace, None if it does not exist.

        Where no namespaces were given at all, each is taken to exist with the one label that every API server sets.
        """
        known = self._objects["Namespace"]
        labels: Mapping[str, str] | None = known.get(ObjectKey("", namespace))
        return labels if labels is not None or known else {"kubernetes.io/metadata.name": namespace}

    def request_context(self, namespace: str) -> RequestContext:
        """Return what, in a namespace, decides how much a workload asks for."""
        limits = self._limit_ranges.get(namespace)
        if limits is None:
            ranges = (raw for key, raw in self._objects["LimitRange"].items() if key.namespace == namespace)
            limits = self._limit_ranges[namespace] = LimitRangeSummary.of(ranges)
        overheads = {key.name: overhead for key, overhead in self._objects["RuntimeClass"].items()}
        return RequestContext(
            rules=self.configuration.resource_rules,
            limit_ranges=limits,
            runtime_overheads=overheads,
            reclaimable_pods=self.configuration.gates.reclaimable_pods,
            amounts=self.configuration.profile.amounts,
        )

    def check_controllers(self) -> dict[str, str]:
        """Return the controller of each AdmissionCheck."""
        return {key.name: check.controller for key, check in self._objects["AdmissionCheck"].items()}

    def _workload_changed(self, before: Workload | None, after: Workload | None) -> None:
        for workload, sign in ((before, -1), (after, 1)):
            if isinstance(workload, AdmittedWorkload) and workload.topology and self._counts_for_topology(workload):
                self.topology.workload_changed(workload.key.namespace, workload.topology, sign)
        if isinstance(before, AdmittedWorkload):
            queue = self.forest.queue(before.cluster_queue)
            queue.remove_workload(before)
            if self.forest.counts_generations:
                queue.generation += 1
        if isinstance(after, AdmittedWorkload):
            self.forest.queue(after.cluster_queue).add_workload(after)

    def _topology_changed(self, kind: str, key: ObjectKey, before: Any, after: Any) -> None:
        topology = self.topology
        match kind:
            case "Pod":
                topology.pod_changed(before, after)
            case "Node":
                topology.set_node(key.name, after)
            case "ResourceFlavor":
                topology.set_flavor(key.name, after)
            case "Topology":
                topology.set_topology(key.name, after)
                if (before is None) != (after is None):
                    for queue in self.forest.declared_queues():
                        self.forest.activity_changed(queue)
            case "LimitRange" | "RuntimeClass":
                topology.forget_usage()
            case "ClusterQueue" if (before is None) != (after is None):
                topology.forget_usage()

    def _spend(self, steps: int) -> None:
        self.effort.spend(steps)

    def _single(self, namespace: str, use: TopologyUse) -> NodeAmounts:
        """Return what one pod of an admitted workload takes on its node."""
        context = self.request_context(namespace)
        path = f"spec.podSets[{use.pod_set}].template.spec"
        pod = read_pod_resources(use.pod_spec, path, context.limit_ranges, context.runtime_overheads)
        return with_pod_slot(per_pod_amounts(pod))

    def _topology_uses(self) -> Iterator[tuple[str, tuple[TopologyUse, ...]]]:
        for workload in self.workloads():
            if isinstance(workload, AdmittedWorkload) and workload.topology and self._counts_for_topology(workload):
                yield workload.key.namespace, workload.topology

    def _counts_for_topology(self, workload: AdmittedWorkload) -> bool:
        """Return whether the workload's ClusterQueue exists: without it, Kueue does not know of the workload."""
        return ObjectKey("", workload.cluster_queue) in self._objects["ClusterQueue"]

    def _prerequisite_changed(self, kind: str, name: str, before: object, after: object) -> None:
        """Update the ClusterQueues that cannot work without this flavor or check."""
        if before == after:
            return
        for queue in self.forest.declared_queues():
            spec = queue.spec
            if spec is not None and name in (spec.flavors if kind == "ResourceFlavor" else spec.admission_checks):
                self.forest.activity_changed(queue)

    def _why_inactive(self, spec: ClusterQueueSpec, in_cohort_cycle: bool) -> Inactivity | None:
        flavors = {key.name for key in self._objects["ResourceFlavor"]}
        missing = self.topology.missing_topologies(spec.flavors) if self.follows_topology else ()
        return why_inactive(
            spec.raw, flavors, self._known_checks(), in_cohort_cycle=in_cohort_cycle, missing_topologies=missing
        )

    @property
    def follows_topology(self) -> bool:
        """Return whether predictions say where pods go: Kueue places them, and what it places them on is known."""
        return self.topology.is_observed and self.configuration.gates.topology_aware_scheduling

    def _known_checks(self) -> KnownChecks:
        checks = {key.name: check for key, check in self._objects["AdmissionCheck"].items()}
        return KnownChecks(
            controllers=self.check_controllers(),
            inactive={name for name, check in checks.items() if not check.is_active},
        )


def _go_on() -> None:
    """Let a prediction go on."""


def _read_local_queue(raw: Mapping[str, Any]) -> LocalQueue:
    spec = raw.get("spec") or {}
    stop = read_choice(spec, "stopPolicy", "spec", StopPolicy.NONE, tuple(StopPolicy))
    return LocalQueue(spec.get("clusterQueue") or "", stop is not StopPolicy.NONE)


def _read_overhead(raw: Mapping[str, Any]) -> Mapping[str, Fraction]:
    overhead = raw.get("overhead") or {}
    return read_resource_list(overhead.get("podFixed"), "overhead.podFixed")


def _read_admission_check(raw: Mapping[str, Any]) -> AdmissionCheck:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    is_active = any(entry.get("type") == "Active" and entry.get("status") == "True" for entry in conditions)
    return AdmissionCheck((raw.get("spec") or {}).get("controllerName") or "", is_active)
