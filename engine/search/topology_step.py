"""The part of a nomination that topology plays: after quota has chosen the flavors, do the pods find nodes?

Quota never looks at topology. What is missing on nodes turns a fit into a preemption, and a preemption that would not
help even on empty nodes into no fit at all; the search for victims then asks after every removal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from config.names import MULTIKUEUE_NAME
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload
from engine.objects.activity import PROVISIONING_CONTROLLER
from engine.objects.specs import ClusterQueueSpec
from engine.requests.demand import PodSetDemand
from engine.search.search import PreemptionTarget
from engine.search.simulated_leaves import ReleasedLeaves, TopologyTest
from engine.topology.counts import pods_that_fit
from engine.topology.matching import NodeConstraints, merged_updates
from engine.topology.node_inventory import per_pod_amounts
from engine.topology.placement import PlacementQuestion, PlacementUnit, PodSetToPlace
from engine.topology.request import TopologyRequest
from engine.vocabulary.assignment import Assignment, AssignmentMode, FlavorChoice, PodSetAssignment, flavors_of
from engine.vocabulary.topology import DelayedTopology, TopologyShortage

_NO_CACHE: Final = "workload requires Topology, but there is no TAS cache information"
_NO_FLAVOR: Final = "no TAS flavor assigned"


def is_topology_only(model: ClusterModel, spec: ClusterQueueSpec) -> bool:
    """Return whether every flavor of a ClusterQueue has a topology; one without flavors counts as such."""
    flavors = (model.flavor(name) for name in spec.flavors)
    return all(flavor is not None and flavor.topology_name is not None for flavor in flavors)


def topology_step(model: ClusterModel, entry: NominatedWorkload) -> "TopologyStep | None":
    """Return what topology says about a nominated workload; None where nothing is known of topologies."""
    if not model.follows_topology:
        return None
    return TopologyStep(model, entry.spec, entry.demands, entry.workload.raw, entry.holds_quota)


@dataclass(slots=True)
class TopologyStep:
    """What topology says about one pending workload in one ClusterQueue."""

    model: ClusterModel
    spec: ClusterQueueSpec
    demands: Sequence[PodSetDemand]
    raw: Mapping[str, Any]
    holds_quota: bool = False
    """The workload has its quota already and is in its second pass."""
    _singles: dict[int, Mapping[str, int]] = field(default_factory=dict)

    def evaluate(self, assignment: Assignment) -> Assignment:
        """Return the assignment with the places of its pods, and with its mode as topology leaves it."""
        if assignment.mode is AssignmentMode.NO_FIT:
            return assignment
        assignment, units = self._requested(assignment)
        if assignment.topology_mode is AssignmentMode.NO_FIT or not units:
            return assignment
        question = self._question(units)
        if assignment.mode is AssignmentMode.FIT:
            result = question.place()
            if not result.failures:
                return _with_places(assignment, result.assignments)
            failing, text = next(iter(result.failures.items()))
            assignment = _with_failure(assignment, failing, text, AssignmentMode.PREEMPT, self._groups())
            assignment = _with_shortage(assignment, failing, question.shortage(failing))
        failures = question.place(on_empty=True).failures
        if failures:
            failing = next(iter(failures))
            return _with_failure(assignment, failing, None, AssignmentMode.NO_FIT, self._groups())
        named = {member.name for unit in units for member in _members(unit)}
        pod_sets = tuple(
            _with_modes(pod_set, AssignmentMode.PREEMPT) if pod_set.name in named else pod_set
            for pod_set in assignment.pod_sets
        )
        return replace(assignment, pod_sets=pod_sets, topology_mode=AssignmentMode.PREEMPT)

    def test(self, assignment: Assignment) -> TopologyTest | None:
        """Return the test that a search for victims makes after every removal; None if topology plays no part."""
        units = self._requested(assignment)[1]
        return TopologyTest(self.model, self._question(units)) if units else None

    def settle(self, assignment: Assignment, targets: Sequence[PreemptionTarget]) -> Assignment:
        """Return the places that a preemption would leave: once the targets are gone, or on empty nodes."""
        units = self._requested(assignment)[1]
        if assignment.mode is not AssignmentMode.PREEMPT or not units:
            return assignment
        question = self._question(units)
        if not targets:
            return _with_places(assignment, question.place(on_empty=True).assignments)
        gone = ReleasedLeaves(self.model)
        try:
            for target in targets:
                gone.remove(target.workload, target.queue)
            return _with_places(assignment, question.place().assignments)
        finally:
            gone.undo()

    def fits(self, assignment: Assignment, targets: Iterable[PreemptionTarget]) -> bool:
        """Return whether every leaf still has the room, once the targets are gone: the check within a cycle.

        Leaf by leaf and pod set by pod set, without slots for pods: two pod sets on one leaf are not added up.
        """
        gone = ReleasedLeaves(self.model)
        try:
            for target in targets:
                gone.remove(target.workload, target.queue)
            return all(
                self._holds(demand, pod_set) for demand, pod_set in zip(self.demands, assignment.pod_sets, strict=False)
            )
        finally:
            gone.undo()

    def _holds(self, demand: PodSetDemand, pod_set: PodSetAssignment) -> bool:
        if pod_set.topology is None:
            return True
        single = tuple(sorted(self._single(demand).items()))
        for flavor in self._topology_flavors(flavors_of(pod_set)):
            keeper = self.model.topology.keeper(flavor)
            for values, count in pod_set.topology.domains:
                leaf = None if keeper is None else keeper.tree.by_key.get(values)
                if leaf is None:
                    return False
                left = {name: amount - leaf.used.get(name, 0) for name, amount in leaf.free.items()}
                if pods_that_fit(single, left) < count:
                    return False
        return True

    def _requested(self, assignment: Assignment) -> tuple[Assignment, list[PlacementUnit]]:
        """Return what is to be placed; the assignment says which pod sets wait, or why there is nothing to place."""
        implied = is_topology_only(self.model, self.spec)
        pod_sets = list(assignment.pod_sets)
        wanted: dict[tuple[str, str], list[PodSetToPlace]] = {}
        for index, (demand, pod_set) in enumerate(zip(self.demands, assignment.pod_sets, strict=False)):
            request = self._request(demand)
            if not (request.is_explicit or implied) or pod_set.count == 0 or self._is_placed(demand.name):
                continue
            error, flavor = self._flavor(pod_set)
            if error is not None:
                pod_sets[index] = replace(pod_set, error=error)
                return replace(assignment, pod_sets=tuple(pod_sets), topology_mode=AssignmentMode.NO_FIT), []
            if self._is_delayed(flavor):
                pod_sets[index] = replace(pod_set, delayed_topology=DelayedTopology.PENDING)
                continue
            if self.holds_quota:
                pod_sets[index] = replace(pod_set, delayed_topology=DelayedTopology.READY)
            wanted.setdefault((flavor, demand.group), []).append(
                self._to_place(demand, pod_set.count, request, is_implied=not request.is_explicit)
            )
        units = [_unit(flavor, members) for (flavor, _), members in wanted.items()]
        return replace(assignment, pod_sets=tuple(pod_sets)), units

    def _flavor(self, pod_set: PodSetAssignment) -> tuple[str | None, str]:
        """Return the one TAS flavor of a pod set, or why there is none."""
        if not self._topology_flavors(self.spec.flavors):
            return _NO_CACHE, ""
        found = self._topology_flavors(flavors_of(pod_set))
        if not found:
            return _NO_FLAVOR, ""
        if len(found) > 1:
            return f"more than one TAS flavor assigned: {', '.join(found)}", ""
        return None, found[0]

    def _topology_flavors(self, names: Iterable[str]) -> list[str]:
        return sorted({name for name in names if self.model.topology.levels(name) is not None})

    def _is_placed(self, pod_set: str) -> bool:
        """Return whether the pod set has its places already."""
        return any(each.get("topologyAssignment") for each in self._admitted(pod_set))

    def _admitted(self, pod_set: str) -> list[Mapping[str, Any]]:
        admission = (self.raw.get("status") or {}).get("admission") or {}
        assignments = admission.get("podSetAssignments") or ()
        return [each for each in assignments if (each.get("name") or "main") == pod_set] if self.holds_quota else []

    def _is_delayed(self, flavor: str) -> bool:
        """Return whether nodes are chosen later: on a worker, or once they are provisioned."""
        controllers = self.model.check_controllers()
        for name, on_flavors in self.spec.admission_checks.items():
            if controllers.get(name) == MULTIKUEUE_NAME:
                return True
            is_for_flavor = not on_flavors or flavor in on_flavors
            if controllers.get(name) == PROVISIONING_CONTROLLER and is_for_flavor and not self.holds_quota:
                return True
        return False

    def _request(self, demand: PodSetDemand) -> TopologyRequest:
        return TopologyRequest.from_raw(
            demand.raw.get("topologyRequest"), f"spec.podSets[{demand.index}].topologyRequest"
        )

    def _to_place(
        self, demand: PodSetDemand, count: int, request: TopologyRequest, *, is_implied: bool
    ) -> PodSetToPlace:
        constraints = NodeConstraints.from_raw((demand.raw.get("template") or {}).get("spec") or {})
        error = None
        updates = self._updates(demand.name)
        if updates:
            tolerations, selector, conflict = merged_updates(updates)
            own = dict(constraints.selector)
            clash = next((key for key, value in selector.items() if own.get(key, value) != value), None)
            if conflict is None and clash is not None:
                conflict = f"conflict for key={clash}, value1={own[clash]}, value2={selector[clash]}"
            if conflict is not None:
                error = f"invalid podSetUpdate for PodSet {demand.name}, error: {conflict}"
            constraints = constraints.updated(tolerations, selector)
        return PodSetToPlace(demand.name, count, self._single(demand), request, is_implied, constraints, error)

    def _updates(self, pod_set: str) -> list[Mapping[str, Any]]:
        """Return what admission checks that are ready change about a pod set."""
        checks = (self.raw.get("status") or {}).get("admissionChecks") or ()
        return [
            update
            for check in checks
            if check.get("state") == "Ready"
            for update in check.get("podSetUpdates") or ()
            if update.get("name") == pod_set
        ]

    def _single(self, demand: PodSetDemand) -> Mapping[str, int]:
        known = self._singles.get(demand.index)
        if known is None:
            known = self._singles[demand.index] = per_pod_amounts(demand.pod)
        return known

    def _question(self, units: Sequence[PlacementUnit]) -> PlacementQuestion:
        topology = self.model.topology
        keepers = {unit.flavor: keeper for unit in units if (keeper := topology.keeper(unit.flavor)) is not None}
        return PlacementQuestion(keepers, units, topology.rules)

    def _groups(self) -> dict[str, str]:
        return {demand.name: demand.group for demand in self.demands}


def _unit(flavor: str, members: Sequence[PodSetToPlace]) -> PlacementUnit:
    """Tell the leader from the workers: the second pod set leads, unless it has more pods."""
    if len(members) == 1:
        return PlacementUnit(flavor, members[0])
    workers, leader = members[0], members[1]
    if leader.count > workers.count:
        workers, leader = leader, workers
    return PlacementUnit(flavor, workers, leader)


def _members(unit: PlacementUnit) -> list[PodSetToPlace]:
    return [unit.workers] if unit.leader is None else [unit.workers, unit.leader]


def _with_places(assignment: Assignment, places: Mapping[str, Any]) -> Assignment:
    pod_sets = tuple(
        replace(pod_set, topology=places[pod_set.name]) if pod_set.name in places else pod_set
        for pod_set in assignment.pod_sets
    )
    return replace(assignment, pod_sets=pod_sets)


def _with_modes(pod_set: PodSetAssignment, mode: AssignmentMode) -> PodSetAssignment:
    flavors = {
        resource: FlavorChoice(choice.flavor, mode, choice.borrow_level, choice.tried_index)
        for resource, choice in pod_set.flavors.items()
    }
    return replace(pod_set, flavors=flavors)


def _with_shortage(assignment: Assignment, failing: str, shortage: TopologyShortage | None) -> Assignment:
    pod_sets = tuple(
        replace(pod_set, shortage=shortage) if pod_set.name == failing else pod_set for pod_set in assignment.pod_sets
    )
    return replace(assignment, pod_sets=pod_sets)


def _with_failure(
    assignment: Assignment, failing: str, text: str | None, mode: AssignmentMode, groups: Mapping[str, str]
) -> Assignment:
    """Note that a pod set finds no place; the members of its group share the modes of their resources with it."""
    resources = next(set(each.flavors) for each in assignment.pod_sets if each.name == failing)
    pod_sets = []
    for pod_set in assignment.pod_sets:
        changed = pod_set
        if groups[pod_set.name] == groups[failing]:
            flavors = {
                resource: FlavorChoice(choice.flavor, mode, choice.borrow_level, choice.tried_index)
                if resource in resources
                else choice
                for resource, choice in pod_set.flavors.items()
            }
            changed = replace(pod_set, flavors=flavors)
        if pod_set.name == failing and text is not None:
            changed = replace(changed, reasons=(*changed.reasons, text))
        pod_sets.append(changed)
    return replace(assignment, pod_sets=tuple(pod_sets), topology_mode=mode)
