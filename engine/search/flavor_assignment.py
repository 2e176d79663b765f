"""Which flavor each resource of a pending workload gets.

The flavors of a resource group are tried in order; for each the worst of its resources decides how good it is, and the
ClusterQueue's fungibility decides whether to look further. Whether preemption could make room is asked of an oracle,
one flavor and resource at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from config.api.quantity import add, sub
from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.configuration import KueueConfiguration
from engine.objects.specs import BorrowWithinCohortPolicy, ClusterQueueSpec, PreemptionPolicy, ResourceGroup
from engine.placement.node_affinity import AffinityError
from engine.placement.suitability import FlavorPlacement, flavor_not_found, why_topology_mismatches
from engine.quota.quota_tree import lowest_fit
from engine.requests.demand import PodSetDemand
from engine.requests.resource_order import hash_order
from engine.search.flavor_grading import BEST_GRADE, FlavorScan, FoundFlavors, Grade, Possibility, is_preferred
from engine.vocabulary.assignment import LAST_FLAVOR_TRIED, Assignment, FlavorChoice, PodSetAssignment, ScanMemory
from engine.vocabulary.effort import Effort
from engine.vocabulary.flavor_resource import FlavorResource, FlavorResourceTable
from engine.vocabulary.messages import exceeds_capacity, exceeds_unused_quota, not_nominated, resource_unavailable

PODS = "pods"
_FEW: Final = 4
"""How many conditions on nodes are looked at in one step."""

PinnedFlavors = Mapping[str, Mapping[str, str]]
"""For each pod set, the only flavor of each resource that may be looked at."""


class PreemptionOracle(Protocol):
    """Says whether preemption could make room."""

    def simulate(self, fr: FlavorResource, amount: int) -> Grade:
        """Return what preempting for one flavor and resource would achieve."""
        ...


class FlavorTrace(Protocol):
    """Wants to know what was looked at on the way."""

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
    trace: FlavorTrace | None = None
    effort: Effort = field(default_factory=Effort)

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        """Return the flavors for the full workload, or for fewer pods."""
        demands = (
            self.demands if counts is None else [d.scaled_to(c) for d, c in zip(self.demands, counts, strict=True)]
        )
        if self._group_of(PODS) is not None:
            demands = [demand.with_pods() for demand in demands]
        state = _State()
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
        """Assign one flavor per resource group to pod sets that must share it; tell whether they got one."""
        requests: dict[str, int] = {}
        for member in members:
            for resource, amount in member.requests.items():
                requests[resource] = add(requests.get(resource, 0), amount)
        found = self._flavors_for(members, requests, state.usage)
        complete = True
        for member in members:
            flavors = {resource: found.choices[resource] for resource in member.requests if resource in found.choices}
            assignment = PodSetAssignment(
                member.name, member.count, flavors, member.requests, tuple(found.reasons), found.error
            )
            state.book(assignment, self.table)
            complete = complete and found.error is None and bool(flavors or not member.requests)
        return complete

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
                return FoundFlavors(reasons=found.reasons, error=found.error)
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
        has_fungibility = self.configuration.gates.flavor_fungibility
        scan = FlavorScan(self.spec.fungibility, has_fungibility)
        covered = hash_order(name for name in requests if name in group.resources)
        steps = len(covered) + sum(_steps_to_place(member) for member in members)
        for index in range(self._first_index(members[0].index, resource), len(group.flavors)):
            self.effort.spend(steps)
            scan.attempted = index
            flavor = group.flavors[index]
            if self.pinned is not None and not self._is_pinned(members, flavor, resource):
                scan.reasons.append(not_nominated(flavor, resource))
                continue
            try:
                reason = self._why_unsuitable(members, flavor)
            except AffinityError as error:
                return FoundFlavors(reasons=scan.reasons, error=str(error))
            if reason is not None:
                scan.reasons.append(reason)
                if self.trace is not None:
                    self.trace.unsuitable([member.name for member in members], flavor, reason)
                continue
            if scan.offer(*self._grade_flavor(members, flavor, covered, requests, booked, scan.reasons)):
                break
        return scan.result(is_last=scan.attempted == len(group.flavors) - 1)

    def _is_pinned(self, members: Sequence[PodSetDemand], flavor: str, resource: str) -> bool:
        pinned = self.pinned or {}
        return any(pinned.get(member.name, {}).get(resource) == flavor for member in members)

    def _first_index(self, pod_set: int, resource: str) -> int:
        if not self.configuration.gates.flavor_fungibility or pod_set >= len(self.memory):
            return 0
        return self.memory[pod_set].get(resource, LAST_FLAVOR_TRIED) + 1

    def _why_unsuitable(self, members: Sequence[PodSetDemand], name: str) -> str | None:
        if self.allowed_flavors is not None and name not in self.allowed_flavors:
            return f"skipping flavor {name} due to WorkloadAllowedResourceFlavorAnnotation annotation"
        flavor = self.flavors.get(name)
        if flavor is None:
            return flavor_not_found(name)
        for member in members:
            if self.configuration.gates.topology_aware_scheduling:
                reason = why_topology_mismatches(flavor, is_queue_topology_only=self._is_topology_only)
                if reason is not None:
                    return reason
            reason = flavor.why_unsuitable(member.placement)
            if reason is not None:
                return reason
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
        choices: dict[str, FlavorChoice] = {}
        for resource in covered:
            fr = self.table.get(flavor, resource)
            assumed = booked.get(fr, 0)
            grade, reason = self._grade_quota(fr, assumed, requests[resource])
            if reason is not None:
                reasons.append(reason)
            if self.trace is not None:
                self.trace.considered([member.name for member in members], fr, assumed, requests[resource], grade)
            if is_preferred(worst, grade, self.spec.fungibility.preference):
                worst = grade
            if worst.possibility is not Possibility.NO_FIT:
                choices[resource] = FlavorChoice(flavor, grade.possibility.mode, grade.borrow_level, 0)
        return worst, choices

    def _grade_quota(self, fr: FlavorResource, assumed: int, requested: int) -> tuple[Grade, str | None]:
        cell = self.queue.cell(fr)
        needed = add(assumed, requested)
        if needed > cell.potential:
            reason = exceeds_capacity(
                fr.resource, fr.flavor, assumed=assumed, request=requested, capacity=cell.potential
            )
            return Grade(Possibility.NO_FIT, 0), reason
        level, may_reclaim = lowest_fit(cell, needed)
        available = max(0, cell.available())
        if needed <= available:
            return Grade(Possibility.FIT, level), None
        reason = exceeds_unused_quota(fr.resource, fr.flavor, sub(needed, available))
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

    pod_sets: list[PodSetAssignment] = field(default_factory=list)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    borrowing: int = 0

    def book(self, assignment: PodSetAssignment, table: FlavorResourceTable) -> None:
        """Count a pod set's requests against its flavors."""
        self.pod_sets.append(assignment)
        for resource, choice in assignment.flavors.items():
            self.borrowing = max(self.borrowing, choice.borrow_level)
            fr = table.get(choice.flavor, resource)
            self.usage[fr] = add(self.usage.get(fr, 0), assignment.requests[resource])


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
