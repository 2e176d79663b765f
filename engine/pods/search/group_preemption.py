"""One scheduling cycle of a PodGroup: place enough of its pods, or make room for them anywhere in the cluster.

Nothing is evicted before the whole group is known to find room.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Final, assert_never

from config.api.meta import ObjectKey
from engine.pods.search.budgets import BudgetLedger, ChargeRules
from engine.pods.search.capacity import Trials
from engine.pods.search.group_strategies import (
    GroupEnd,
    GroupTask,
    evict_by_placing_again,
    evict_from_lowest_priority,
    has_room_below,
)
from engine.pods.search.ordered_eviction import evict_in_every_order
from engine.pods.search.outcomes import Possibilities, evicting, nothing, places_by_pod
from engine.pods.search.placement import Placements, place_group
from engine.pods.search.placement_rules import Placement, PlacementRules
from engine.pods.search.units import Unit, Units, possible_starts
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.answer import (
    PodCycleOutcome,
    PodCycleResult,
    PodExplanation,
    PodForecast,
    Reason,
    ReasonCode,
    UnitKind,
)
from engine.pods.values.values import PendingPod, PodGroup, SchedulerMode

_MOST_ORDERS: Final = 24
_SAMPLED_NODES: Final = "the scheduler looks only at a sample of the nodes that fit"


class GroupCycle:
    """Forecasts one group."""

    def __init__(
        self,
        snapshot: NodeSnapshot,
        group: PodGroup,
        members: Sequence[PendingPod],
        mode: SchedulerMode,
        *,
        limit: int,
        explains: bool,
    ) -> None:
        """`members` are the pods that wait for a node, in the order of their arrival."""
        self._snapshot = snapshot
        self._group = group
        self._mode = mode
        self._limit = limit
        self._explains = explains
        self._bound_count = len(snapshot.model.bound_members(group.key))
        self._members = members
        needed = max((group.min_count or 1) - self._bound_count, 1)
        self._rules = PlacementRules(needed, stops_early=mode is not SchedulerMode.V1_36)
        self._units = Units(snapshot.model, mode, UnitKind.POD_GROUP)
        self._trials = Trials()
        self._approximate: dict[str, None] = {}
        self._warnings: dict[str, None] = {}
        self._explanation: PodExplanation | None = None

    def run(self) -> PodForecast:
        """Return what happens to the group."""
        orders = list(self._orders())
        found = [self._follow(order) for order in (orders if self._mode is SchedulerMode.V1_36 else orders[:1])]
        possibilities = Possibilities()
        for possible in found:
            possibilities.note(is_complete=possible.is_complete)
            for outcome in possible.outcomes:
                possibilities.add(outcome)
        warnings = tuple(self._warnings)
        return PodForecast(
            kind=UnitKind.POD_GROUP,
            key=self._group.key,
            mode=self._mode,
            outcomes=possibilities.outcomes,
            is_complete=possibilities.is_complete,
            approximate=tuple(self._approximate),
            is_order_dependent=self._is_order_dependent(found, orders[len(found) :]),
            warnings=warnings,
            explanation=self._explanation,
        )

    def _orders(self) -> Iterator[list[PendingPod]]:
        """Yield the orders in which members may be tried, the present one first; equal members are not told apart."""
        seen = set()
        for arrived in islice(self._arrivals(), _MOST_ORDERS):
            order = sorted(arrived, key=lambda pod: -pod.priority)
            appearances = tuple(map(_appearance, order))
            if appearances not in seen:
                seen.add(appearances)
                yield order

    def _arrivals(self) -> Iterator[Sequence[PendingPod]]:
        """Yield the orders in which members may enter the queue.

        1.36 keeps the first members out of it until enough are there, then takes the one that completed the group, the
        earlier ones in no fixed order, and the later ones as they come.
        """
        if self._mode is not SchedulerMode.V1_36:
            yield from permutations(self._members)
            return
        completing = min(max((self._group.min_count or 1) - self._bound_count - 1, 0), len(self._members) - 1)
        earlier, later = self._members[:completing], self._members[completing + 1 :]
        for order in permutations(earlier):
            yield [self._members[completing], *order, *later]

    def _is_order_dependent(self, found: Sequence[Possibilities], others: Sequence[Sequence[PendingPod]]) -> bool:
        """Return whether another order of the members' arrival would lead elsewhere."""
        explains, explanation, self._explains = self._explains, self._explanation, False
        answers = [*found, *map(self._follow, others)]
        self._explains, self._explanation = explains, explanation
        return len({frozenset((each.result, each.victims) for each in one.outcomes) for one in answers}) > 1

    def _follow(self, members: Sequence[PendingPod]) -> Possibilities:
        possibilities = Possibilities()
        found = self._place(self._snapshot, members, possibilities)
        enough, short = found.split(self._rules.needed)
        for way in enough:
            bound = places_by_pod(self._snapshot, members, way)
            possibilities.add(PodCycleOutcome(PodCycleResult.SCHEDULED, bound=bound))
        if short:
            refusal = self._refusal(members)
            if refusal is None:
                self._preempt(members, short, possibilities)
            else:
                for way in short:
                    possibilities.add(nothing(refusal, self._kept(members, way, refusal)))
        return possibilities

    def _place(self, snapshot: NodeSnapshot, members: Sequence[PendingPod], possibilities: Possibilities) -> Placements:
        found = place_group(snapshot, members, self._rules, limit=self._limit)
        possibilities.note(is_complete=found.is_complete)
        if found.is_sampled:
            self._approximate[_SAMPLED_NODES] = None
        return found

    def _refusal(self, members: Sequence[PendingPod]) -> Reason | None:
        if self._never_preempts(members):
            return Reason(ReasonCode.POLICY_NEVER, "not eligible due to preemptionPolicy=Never.")
        if self._mode is SchedulerMode.V1_36:
            return None
        for pod in members:
            place = self._snapshot.index.get(pod.nominated_node)
            if place is not None and self._is_being_vacated(place):
                return Reason(ReasonCode.ONGOING_PREEMPTION, "ongoing preemption on nominated nodes")
        return None

    def _never_preempts(self, members: Sequence[PendingPod]) -> bool:
        if self._mode is SchedulerMode.KEP:
            return self._group.never_preempts is True
        return any(pod.never_preempts for pod in members)

    def _is_being_vacated(self, place: int) -> bool:
        return any(
            pod.is_being_preempted and self._units.priority_of(pod) < self._group.priority
            for pod in self._snapshot.pods_on(place)
        )

    def _preempt(self, members: Sequence[PendingPod], short: Sequence[Placement], possibilities: Possibilities) -> None:
        tried: set[frozenset[object]] = set()
        for starts in possible_starts(self._snapshot.model, self._mode, self._limit):
            units = self._candidates(starts)
            if not units:
                reason = Reason(ReasonCode.NO_LOWER_PRIORITY, "No preemption victims found for incoming preemptor")
                self._add_nothing(reason, members, short, possibilities)
                return
            order = frozenset((unit.identity, unit.importance) for unit in units) if starts else frozenset()
            if order not in tried:
                tried.add(order)
                self._evict(members, short, units, possibilities)

    def _candidates(self, starts: Mapping[ObjectKey, int]) -> list[Unit]:
        units = Units(self._snapshot.model, self._mode, UnitKind.POD_GROUP, starts)
        everybody = (pod for place in range(len(self._snapshot.nodes)) for pod in self._snapshot.pods_on(place))
        return [unit for unit in units.of_pods(everybody) if unit.priority < self._group.priority]

    def _evict(
        self,
        members: Sequence[PendingPod],
        short: Sequence[Placement],
        units: Sequence[Unit],
        possibilities: Possibilities,
    ) -> None:
        cleared = self._snapshot.without(pod for unit in units for pod in unit.pods)
        found = self._place(cleared, members, possibilities)
        enough, still_short = found.split(self._rules.needed)
        if still_short:
            text = "the group would not find room even without everything of lower priority"
            self._add_nothing(Reason(ReasonCode.STILL_INFEASIBLE, text), members, short, possibilities)
        if not enough:
            return
        rules = ChargeRules.of(self._mode, UnitKind.POD_GROUP)
        ledger = BudgetLedger(self._snapshot.model.budgets.values(), rules, self._snapshot.effort)
        task = GroupTask(cleared, members, self._rules, units, ledger, self._limit, self._explains, self._trials)
        first: GroupEnd | None = None
        for end in self._ends(task, enough):
            first = first or end
            for way in short if end.way is None else short[:1]:
                nominated = self._nominations(members, way, end)
                possibilities.add(evicting(end.victims, end.violations, nominated))
        possibilities.note(is_complete=task.is_complete and not self._trials.ran_out)
        if first is not None:
            self._explain(task, members, first)

    def _ends(self, task: GroupTask, ways: Sequence[Placement]) -> Iterator[GroupEnd]:
        match self._mode:
            case SchedulerMode.V1_36:
                return evict_by_placing_again(task)
            case SchedulerMode.V1_37:
                return evict_in_every_order(task, ways)
            case SchedulerMode.KEP:
                return evict_from_lowest_priority(task, ways)
            case _:
                assert_never(self._mode)

    def _explain(self, task: GroupTask, members: Sequence[PendingPod], end: GroupEnd) -> None:
        if self._mode is SchedulerMode.V1_37 and end.victims:
            top = max(unit.priority for unit in end.victims)
            if has_room_below(task, task.units, top):
                self._warnings[
                    f"a cheaper placement exists: evicting below priority {top} would be enough, but the scheduler "
                    f"decides first where the group goes, and makes room there"
                ] = None
        if self._explains:
            placement = {} if end.way is None else places_by_pod(self._snapshot, members, end.way)
            self._explanation = PodExplanation(steps=task.steps, placement=placement)

    def _add_nothing(
        self,
        reason: Reason,
        members: Sequence[PendingPod],
        short: Sequence[Placement],
        possibilities: Possibilities,
    ) -> None:
        for way in short:
            possibilities.add(nothing(reason, self._kept(members, way, reason)))

    def _kept(self, members: Sequence[PendingPod], way: Placement, reason: Reason) -> Mapping[ObjectKey, str]:
        """Return the nominations that survive when nothing is evicted: members that found room lose theirs."""
        if reason.code is ReasonCode.ONGOING_PREEMPTION:
            return {pod.key: pod.nominated_node for pod in members if pod.nominated_node}
        return _unplaced_nominations(members, way)

    def _nominations(self, members: Sequence[PendingPod], way: Placement, end: GroupEnd) -> Mapping[ObjectKey, str]:
        """Return where members are expected: by the placement behind the evictions, in 1.36 by the one before them."""
        basis = way if end.way is None else end.way
        return {**_unplaced_nominations(members, basis), **places_by_pod(self._snapshot, members, basis)}


def _appearance(pod: PendingPod) -> tuple[PodKind, str]:
    """Return what makes it matter when a member is tried: one that finds no room keeps the nomination that it has."""
    return kind_of(pod), pod.nominated_node


def _unplaced_nominations(members: Sequence[PendingPod], way: Placement) -> dict[ObjectKey, str]:
    return {
        pod.key: pod.nominated_node
        for pod, place in zip(members, way, strict=True)
        if place is None and pod.nominated_node
    }
