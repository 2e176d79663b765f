"""Which flavor each resource of a pending workload gets.

The flavors of a resource group are tried in order; for each the worst of its resources decides how good it is, and the
ClusterQueue's fungibility decides whether to go on. Whether preemption could make room is asked of an oracle,
one flavor and resource at a time.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, Protocol

from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.configuration import KueueConfiguration
from engine.objects.specs import BorrowWithinCohortPolicy, ClusterQueueSpec, PreemptionPolicy, ResourceGroup
from engine.placement.node_affinity import AffinityError
from engine.placement.suitability import FlavorPlacement, flavor_not_found, why_topology_mismatches
from engine.quota.quota_tree import lowest_fit
from engine.requests.demand import PodSetDemand
from engine.requests.resource_order import hash_order
from engine.search.flavor_grading import BEST_GRADE, FlavorScan, FoundFlavors, Grade, Possibility, is_preferred
from engine.topology.node_inventory import per_pod_amounts
from engine.topology.request import TopologyRequest
from engine.topology.state import TopologyState
from engine.versions.amounts import Amounts
from engine.vocabulary.assignment import LAST_FLAVOR_TRIED, Assignment, FlavorChoice, PodSetAssignment, ScanMemory
from engine.vocabulary.effort import Effort
from engine.vocabulary.flavor_resource import FlavorResource, FlavorResourceTable
from engine.vocabulary.messages import exceeds_capacity, exceeds_unused_quota, not_nominated, resource_unavailable

PODS = "pods"
_FEW: Final = 4
"""How many conditions on nodes are checked in one step."""

PinnedFlavors = Mapping[str, Mapping[str, str]]
"""For each pod set, the only flavor of each resource that may be tried."""


class PreemptionOracle(Protocol):
    """Says whether preemption could make room."""

    def simulate(self, fr: FlavorResource, amount: int) -> Grade:
        """Return what preempting for one flavor and resource would achieve."""
        ...


class FlavorTrace(Protocol):
    """Is informed of what was tried on the way."""

    def unsuitable(self, pod_sets: Sequence[str], flavor: str, reason: str) -> None:
        """Take note of a flavor that does not suit the pods."""
        ...

    def considered(
        self, pod_sets: Sequence[str], fr: FlavorResource, assumed: int, requested: int, grade: Grade
    ) -> None:
        """Take note of how one resource of a flavor was graded."""
        ...


@dataclass(frozen=True, slots=True)
class FlavorAssigner:
    """Assigns flavors to the pod sets of one workload."""

    queue: ClusterQueue
    spec: ClusterQueueSpec
    demands: Sequence[PodSetDemand]
    flavors: Mapping[str, FlavorPlacement]
    table: FlavorResourceTable
    configuration: KueueConfiguration
    oracle: PreemptionOracle
    memory: ScanMemory = ()
    allowed_flavors: frozenset[str] | None = None
    pinned: PinnedFlavors | None = None
    topology: TopologyState | None = None
    trace: FlavorTrace | None = None
    effort: Effort = field(default_factory=Effort)

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        """Return the flavors for the full workload, or for fewer pods."""
        demands = (
            self.demands if counts is None else [d.scaled_to(c) for d, c in zip(self.demands, counts, strict=True)]
        )
        if self._group_of(PODS) is not None:
            demands = [demand.with_pods() for demand in demands]
        state = _State(self.configuration.profile.amounts)
        for members in _grouped(demands):
            if not self._assign_group(members, state):
                break
        return Assignment(tuple(state.pod_sets), state.usage, state.borrowing)

    def _group_of(self, resource: str) -> ResourceGroup | None:
        for group in self.spec.resource_groups:
            if resource in group.resources:
                return group
        return None

    def _assign_group(self, members: Sequence[PodSetDemand], state: "_State") -> bool:
        """Assign one flavor per resource group to pod sets that must share it; return whether they got one."""
        requests: dict[str, int] = {}
        add_requests = self.configuration.profile.amounts.add_requests
        for member in members:
            for resource, amount in member.requests.items():
                requests[resource] = add_requests(requests.get(resource, 0), amount)
        found = self._flavors_for(members, requests, state.usage)
        complete = True
        for member in members:
            flavors = {resource: found.choices[resource] for resource in member.requests if resource in found.choices}
            if not member.requests and len(members) > 1:
                flavors = self._topology_choices(found.choices)
            assignment = PodSetAssignment(
                member.name,
                member.count,
                flavors,
                member.requests,
                tuple(found.reasons),
                found.error,
                found.may_be_worded_otherwise,
            )
            state.book(assignment, self.table)
            complete = complete and found.error is None and bool(flavors or not member.requests)
        return complete

    def _topology_choices(self, choices: Mapping[str, FlavorChoice]) -> dict[str, FlavorChoice]:
        """Return what a member that requests nothing takes over from its group: where its pods have to go."""
        if self.topology is None:
            return {}
        levels = self.topology.levels
        return {resource: choice for resource, choice in choices.items() if levels(choice.flavor) is not None}

    def _flavors_for(
        self, members: Sequence[PodSetDemand], requests: Mapping[str, int], booked: Mapping[FlavorResource, int]
    ) -> "FoundFlavors":
        result = FoundFlavors()
        for resource in hash_order(requests):
            group = self._group_of(resource)
            if group is None:
                if requests[resource] == 0 or self.configuration.skips_undeclared_resources:
                    continue
                return FoundFlavors(reasons=[resource_unavailable(resource)])
            if resource in result.choices:
                continue
            found = self._find_flavor(members, group, resource, requests, booked)
            if found.error is not None or not found.choices:
                others = requests.keys() - group.resources
                is_one_of_several = found.may_be_worded_otherwise or bool(others)
                return FoundFlavors({}, found.reasons, found.error, is_one_of_several)
            result.may_be_worded_otherwise |= found.may_be_worded_otherwise
            result.choices.update(found.choices)
            result.reasons.extend(found.reasons)
        return result

    def _find_flavor(
        self,
        members: Sequence[PodSetDemand],
        group: ResourceGroup,
        resource: str,
        requests: Mapping[str, int],
        booked: Mapping[FlavorResource, int],
    ) -> "FoundFlavors":
        """Scan the flavors of a resource group, from where the last scan stopped."""
        switches = self.configuration.profile.switches
        scan = FlavorScan(self.spec.fungibility, switches, has_fungibility=self.configuration.gates.flavor_fungibility)
        covered = hash_order(name for name in requests if name in group.resources)
        label_keys = self._group_label_keys(group) if switches.matches_group_label_keys else None
        steps = len(covered) + sum(_steps_to_place(member) for member in members)
        for index in range(self._first_index(members[0].index, resource), len(group.flavors)):
            self.effort.spend(steps)
            scan.attempted = index
            flavor = group.flavors[index]
            if self.pinned is not None and not self._is_pinned(members, flavor, resource):
                scan.reasons.append(not_nominated(flavor, resource))
                continue
            try:
                reason = self._why_unsuitable(members, flavor, group, label_keys)
            except AffinityError as error:
                return FoundFlavors(reasons=scan.reasons, error=str(error))
            if reason is not None:
                scan.reasons.append(reason)
                if self.trace is not None:
                    self.trace.unsuitable([member.name for member in members], flavor, reason)
                continue
            known = len(scan.reasons)
            grade, choices = self._grade_flavor(members, flavor, covered, requests, booked, scan.reasons)
            scan.count_reasons(grade.possibility, len(scan.reasons) - known)
            if scan.offer(grade, choices):
                break
        return scan.result(is_last=scan.attempted == len(group.flavors) - 1)

    def _is_pinned(self, members: Sequence[PodSetDemand], flavor: str, resource: str) -> bool:
        pinned = self.pinned or {}
        return any(pinned.get(member.name, {}).get(resource) == flavor for member in members)

    def _first_index(self, pod_set: int, resource: str) -> int:
        if not self.configuration.gates.flavor_fungibility or pod_set >= len(self.memory):
            return 0
        return self.memory[pod_set].get(resource, LAST_FLAVOR_TRIED) + 1

    def _why_unsuitable(
        self, members: Sequence[PodSetDemand], name: str, group: ResourceGroup, label_keys: AbstractSet[str] | None
    ) -> str | None:
        if self.allowed_flavors is not None and name not in self.allowed_flavors:
            return f"skipping flavor {name} due to WorkloadAllowedResourceFlavorAnnotation annotation"
        flavor = self.flavors.get(name)
        if flavor is None:
            return flavor_not_found(name)
        for member in members:
            if self.configuration.gates.topology_aware_scheduling:
                reason = self._why_topology_mismatches(member, flavor, group)
                if reason is not None:
                    return reason
            reason = flavor.why_unsuitable(member.placement, label_keys)
            if reason is not None:
                return reason
        return None

    def _group_label_keys(self, group: ResourceGroup) -> frozenset[str]:
        known = (self.flavors[name] for name in group.flavors if name in self.flavors)
        return frozenset(key for flavor in known for key in flavor.labels)

    def _why_topology_mismatches(
        self, member: PodSetDemand, flavor: FlavorPlacement, group: ResourceGroup
    ) -> str | None:
        """Return Kueue's reason against a flavor whose topology is not what the pod set asks for."""
        path = f"spec.podSets[{member.index}].topologyRequest"
        request = TopologyRequest.from_raw(member.raw.get("topologyRequest"), path)
        if self.topology is None or not request.is_explicit:
            return why_topology_mismatches(flavor, is_queue_topology_only=self._is_topology_only)
        if flavor.topology_name is None:
            if group.resources.isdisjoint(per_pod_amounts(member.pod)):
                return None  # a group that only grants quota, for resources that no node has
            return f'Flavor "{flavor.name}" does not support TopologyAwareScheduling'
        levels = self.topology.levels(flavor.name)
        if levels is None:
            return f'Flavor "{flavor.name}" information missing in TAS cache'
        if not request.is_served_by(levels):
            return f'Flavor "{flavor.name}" does not contain the requested level'
        return None

    @property
    def _is_topology_only(self) -> bool:
        known = [self.flavors[name] for name in self.spec.flavors if name in self.flavors]
        return bool(known) and all(flavor.topology_name is not None for flavor in known)

    def _grade_flavor(
        self,
        members: Sequence[PodSetDemand],
        flavor: str,
        covered: Sequence[str],
        requests: Mapping[str, int],
        booked: Mapping[FlavorResource, int],
        reasons: list[str],
    ) -> tuple[Grade, dict[str, FlavorChoice]]:
        """Grade a flavor by the worst of the group's resources, and note what each would get."""
        worst = BEST_GRADE
        switches = self.configuration.profile.switches
        choices: dict[str, FlavorChoice] = {}
        for resource in covered:
            fr = self.table.get(flavor, resource)
            assumed = booked.get(fr, 0)
            grade, reason = self._grade_quota(fr, assumed, requests[resource])
            if reason is not None:
                reasons.append(reason)
            if self.trace is not None:
                self.trace.considered([member.name for member in members], fr, assumed, requests[resource], grade)
            if is_preferred(worst, grade, self.spec.fungibility.preference, switches):
                worst = grade
            if worst.possibility is not Possibility.NO_FIT:
                choices[resource] = FlavorChoice(flavor, grade.possibility.mode, grade.borrow_level, 0)
        return worst, choices

    def _grade_quota(self, fr: FlavorResource, assumed: int, requested: int) -> tuple[Grade, str | None]:
        cell = self.queue.cell(fr)
        needed = cell.add(assumed, requested)
        if needed > cell.potential:
            reason = exceeds_capacity(
                fr.resource, fr.flavor, assumed=assumed, request=requested, capacity=cell.potential
            )
            return Grade(Possibility.NO_FIT, 0), reason
        level, may_reclaim = lowest_fit(cell, needed)
        available = max(0, cell.available())
        if needed <= available:
            return Grade(Possibility.FIT, level), None
        reason = exceeds_unused_quota(fr.resource, fr.flavor, cell.sub(needed, available))
        if cell.nominal >= needed or may_reclaim or self._can_preempt_while_borrowing:
            return self.oracle.simulate(fr, needed), reason
        return Grade(Possibility.NO_FIT, level), reason

    @property
    def _can_preempt_while_borrowing(self) -> bool:
        preemption = self.spec.preemption
        if preemption.borrow_within_cohort is not BorrowWithinCohortPolicy.NEVER:
            return True
        is_fair = self.configuration.fair_sharing is not None
        return is_fair and preemption.reclaim_within_cohort is not PreemptionPolicy.NEVER


@dataclass(slots=True)
class _State:
    """What has been assigned so far."""

    amounts: Amounts
    pod_sets: list[PodSetAssignment] = field(default_factory=list)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    borrowing: int = 0

    def book(self, assignment: PodSetAssignment, table: FlavorResourceTable) -> None:
        """Count a pod set's requests against its flavors."""
        self.pod_sets.append(assignment)
        for resource, choice in assignment.flavors.items():
            self.borrowing = max(self.borrowing, choice.borrow_level)
            fr = table.get(choice.flavor, resource)
            self.usage[fr] = self.amounts.add(self.usage.get(fr, 0), assignment.requests.get(resource, 0))


def _steps_to_place(member: PodSetDemand) -> int:
    """Return what it takes to see whether a flavor suits a pod set."""
    placement = member.placement
    return 1 + (len(placement.tolerations) + len(placement.node_selector) + len(placement.required_terms)) // _FEW


def _grouped(demands: Sequence[PodSetDemand]) -> list[list[PodSetDemand]]:
    """Put pod sets that must share their flavors together, in the order of the first of each group."""
    groups: dict[str, list[PodSetDemand]] = {}
    for demand in demands:
        groups.setdefault(demand.group, []).append(demand)
    return list(groups.values())
