"""Why an answer is what it is: for each flavor tried, the numbers that decided, and who could have been preempted.

Computed only when asked for, beside the search and not in it: the fast path records nothing. Everything here is data;
sentences are made from it where people read them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.cluster.candidates import EligibilityRule
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.forest import root_of
from engine.objects.specs import PreemptionPolicy
from engine.objects.workloads import AdmittedWorkload
from engine.quota.quota_tree import CohortNode, QuotaNode
from engine.search.flavor_grading import Grade, Possibility
from engine.search.search import Preemptor
from engine.vocabulary.flavor_resource import FlavorResource


class Protection(StrEnum):
    """Why a workload that holds wanted quota cannot be preempted."""

    POLICY_IS_NEVER = "the preemption policy is Never"
    QUEUE_INACTIVE = "its ClusterQueue is inactive"
    QUEUE_WITHIN_NOMINAL = "its ClusterQueue does not borrow"
    COHORT_WITHIN_NOMINAL = "a cohort above its ClusterQueue does not borrow"
    PRIORITY_HIGHER = "its priority is higher"
    PRIORITY_EQUAL = "its priority is equal"
    OLDER_AT_EQUAL_PRIORITY = "its priority is equal and it is not newer"


@dataclass(frozen=True, slots=True)
class QuotaLevel:
    """One ClusterQueue or cohort on the way up, and its quota of one flavor and resource."""

    name: str
    is_cohort: bool
    quota: int
    """With what is lent from below."""
    usage: int
    kept: int
    """The part that is never lent."""
    borrowing_limit: int | None


@dataclass(frozen=True, slots=True)
class QueueTally:
    """The workloads of one ClusterQueue that hold the wanted flavor and resource."""

    cluster_queue: str
    is_own: bool
    considered: int
    eligible: int
    protected: Mapping[Protection, int]
    costs: tuple[int, int] | None = None
    """The lowest and highest preemption cost of those that could be preempted, where costs count."""


@dataclass(frozen=True, slots=True)
class ResourceTrial:
    """How one resource was judged in one flavor."""

    pod_sets: tuple[str, ...]
    flavor: str
    resource: str
    assumed: int
    """Already assigned to earlier pod sets."""
    requested: int
    nominal: int
    available: int
    potential: int
    possibility: Possibility
    borrow_level: int
    levels: tuple[QuotaLevel, ...]
    candidates: tuple[QueueTally, ...]
    """Empty where preemption was not in question."""

    @property
    def missing(self) -> int:
        """How much more would have to be free."""
        return max(0, self.assumed + self.requested - self.available)


@dataclass(frozen=True, slots=True)
class UnsuitableFlavor:
    """A flavor whose nodes do not suit the pods."""

    pod_sets: tuple[str, ...]
    flavor: str
    reason: str


@dataclass(frozen=True, slots=True)
class NominationExplanation:
    """What was tried, in order; with partial admission once for each attempted size."""

    steps: tuple[ResourceTrial | UnsuitableFlavor, ...]


class ExplanationRecorder:
    """Notes what flavor assignment tries."""

    def __init__(self, preemptor: Preemptor) -> None:
        self._preemptor = preemptor
        self._steps: list[ResourceTrial | UnsuitableFlavor] = []

    def unsuitable(self, pod_sets: Sequence[str], flavor: str, reason: str) -> None:
        """Take note of a flavor that does not suit the pods."""
        self._steps.append(UnsuitableFlavor(tuple(pod_sets), flavor, reason))

    def considered(
        self, pod_sets: Sequence[str], fr: FlavorResource, assumed: int, requested: int, grade: Grade
    ) -> None:
        """Take note of how one resource of a flavor was graded."""
        queue = self._preemptor.queue
        cell = queue.cell(fr)
        asks_preemption = grade.possibility not in (Possibility.NO_FIT, Possibility.FIT)
        self._steps.append(
            ResourceTrial(
                pod_sets=tuple(pod_sets),
                flavor=fr.flavor,
                resource=fr.resource,
                assumed=assumed,
                requested=requested,
                nominal=cell.nominal,
                available=max(0, cell.available()),
                potential=cell.potential,
                possibility=grade.possibility,
                borrow_level=grade.borrow_level,
                levels=tuple(_level(node, fr) for node in (queue, *queue.ancestors())),
                candidates=tally_candidates(self._preemptor, fr) if asks_preemption else (),
            )
        )

    def explanation(self) -> NominationExplanation:
        """Return everything noted so far."""
        return NominationExplanation(tuple(self._steps))


def _level(node: QuotaNode, fr: FlavorResource) -> QuotaLevel:
    cell = node.cell(fr)
    return QuotaLevel(
        name=node.name,
        is_cohort=isinstance(node, CohortNode),
        quota=cell.subtree_quota,
        usage=cell.usage,
        kept=cell.local_quota,
        borrowing_limit=cell.borrowing_limit,
    )


def tally_candidates(preemptor: Preemptor, fr: FlavorResource) -> tuple[QueueTally, ...]:
    """Count who holds a flavor and resource in the preemptor's tree, and why most of them are safe."""
    own, spec = preemptor.queue, preemptor.queue.existing_spec
    own_rule = preemptor.rule(spec.preemption.within_cluster_queue, in_own_queue=True)
    has_costs = preemptor.configuration.gates.preemption_cost
    tallies = [_tally(own, own_rule, frozenset((fr,)), None, is_own=True)]
    root = root_of(own)
    if isinstance(root, CohortNode):
        rule = preemptor.rule(spec.preemption.reclaim_within_cohort, in_own_queue=False)
        is_fair = preemptor.configuration.fair_sharing is not None
        tallies.extend(_tally_below(root, own, rule, frozenset((fr,)), looks_at_cohorts=not is_fair))
    considered = (tally for tally in tallies if tally.considered)
    return tuple(tally if has_costs else replace(tally, costs=None) for tally in considered)


def _tally_below(
    cohort: CohortNode,
    own: ClusterQueue,
    rule: EligibilityRule,
    frs: frozenset[FlavorResource],
    *,
    looks_at_cohorts: bool,
) -> list[QueueTally]:
    tallies = []
    ancestors = own.ancestors()
    for queue in sorted(cohort.child_queues, key=lambda child: child.name):
        if queue is own:
            continue
        protection: Protection | None = None
        if not queue.is_active:
            protection = Protection.QUEUE_INACTIVE
        elif queue.is_within_nominal(frs):
            protection = Protection.QUEUE_WITHIN_NOMINAL
        elif looks_at_cohorts and _is_behind_cohort_within_nominal(queue, ancestors, frs):
            protection = Protection.COHORT_WITHIN_NOMINAL
        tallies.append(_tally(queue, rule, frs, protection, is_own=False))
    for child in sorted(cohort.child_cohorts, key=lambda child: child.name):
        tallies.extend(_tally_below(child, own, rule, frs, looks_at_cohorts=looks_at_cohorts))
    return tallies


def _is_behind_cohort_within_nominal(
    queue: ClusterQueue, ancestors: Sequence[CohortNode], frs: frozenset[FlavorResource]
) -> bool:
    for cohort in queue.ancestors():
        if cohort in ancestors:
            return False
        if cohort.is_within_nominal(frs):
            return True
    return False


def _tally(
    queue: ClusterQueue,
    rule: EligibilityRule,
    frs: frozenset[FlavorResource],
    protection: Protection | None,
    *,
    is_own: bool,
) -> QueueTally:
    candidates = queue.candidates.using(frs)
    protected: Counter[Protection] = Counter()
    costs = []
    for workload in (*candidates.evicted, *candidates.running):
        reason = protection or _why_protected(rule, workload)
        if reason is None:
            costs.append(workload.preemption_cost)
        else:
            protected[reason] += 1
    span = (min(costs), max(costs)) if costs else None
    return QueueTally(queue.name, is_own, len(costs) + protected.total(), len(costs), dict(protected), span)


def _why_protected(rule: EligibilityRule, workload: AdmittedWorkload) -> Protection | None:
    if rule.policy is PreemptionPolicy.NEVER:
        return Protection.POLICY_IS_NEVER
    if rule.allows(workload):
        return None
    if workload.priority > rule.priority:
        return Protection.PRIORITY_HIGHER
    if rule.policy is PreemptionPolicy.LOWER_PRIORITY:
        return Protection.PRIORITY_EQUAL
    return Protection.OLDER_AT_EQUAL_PRIORITY
