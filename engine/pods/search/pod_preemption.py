"""One scheduling cycle of a pod on its own: place it, or make room on one node.

Each node is judged alone. In 1.37 and the KEP a unit that has pods elsewhere too is evicted as a whole, but only its
pods on this node make room for the pod.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from engine.pods.search.budgets import BudgetLedger, ChargeRules
from engine.pods.search.node_candidates import NodeOption, NodeTrial, NodeTrials, best_options
from engine.pods.search.outcomes import Possibilities, evicting, nothing
from engine.pods.search.placement import place_group
from engine.pods.search.placement_rules import PlacementRules
from engine.pods.search.units import Unit, Units
from engine.pods.state.snapshot import SMALLEST_SAMPLE, NodeSnapshot, kind_of
from engine.pods.state.suitability import is_too_small
from engine.pods.values.answer import (
    PodCycleOutcome,
    PodCycleResult,
    PodExplanation,
    PodForecast,
    Reason,
    ReasonCode,
    UnitKind,
)
from engine.pods.values.explanation import NodeAnswer, NodeVerdict
from engine.pods.values.values import PendingPod, SchedulerMode

_CANDIDATE_PERCENTAGE: Final = 10
_SAMPLED_NODES: Final = "the scheduler looks only at a sample of the nodes that fit"
_SAMPLED_CANDIDATES: Final = "the scheduler looks only at a sample of the nodes where it could evict"


class PodCycle:
    """Forecasts one pod."""

    def __init__(
        self, snapshot: NodeSnapshot, pod: PendingPod, mode: SchedulerMode, *, limit: int, explains: bool
    ) -> None:
        """Follow at most `limit` free choices at a time."""
        self._snapshot = snapshot
        self._pod = pod
        self._kind = kind_of(pod)
        self._mode = mode
        self._limit = limit
        self._explains = explains
        self._units = Units(snapshot.model, mode, UnitKind.POD)
        self._possibilities = Possibilities()
        self._verdicts: list[NodeVerdict] = []
        self._approximate: list[str] = []

    def run(self) -> PodForecast:
        """Return what happens to the pod."""
        if not self._place():
            self._preempt()
        return PodForecast(
            kind=UnitKind.POD,
            key=self._pod.key,
            mode=self._mode,
            outcomes=self._possibilities.outcomes,
            is_complete=self._possibilities.is_complete,
            approximate=tuple(self._approximate),
            explanation=PodExplanation(nodes=tuple(self._verdicts)) if self._explains else None,
        )

    def _place(self) -> bool:
        rules = PlacementRules(needed=1, stops_early=False)
        found = place_group(self._snapshot, [self._pod], rules, limit=self._limit)
        self._possibilities.note(is_complete=found.is_complete)
        if found.is_sampled:
            self._approximate.append(_SAMPLED_NODES)
        for (place,) in found.ways:
            if place is not None:
                bound = {self._pod.key: self._snapshot.nodes[place].name}
                self._possibilities.add(PodCycleOutcome(PodCycleResult.SCHEDULED, bound=bound))
        if self._possibilities.outcomes and self._explains:
            self._verdicts = [self._verdict(place) for place in range(len(self._snapshot.nodes))]
        return bool(self._possibilities.outcomes)

    def _preempt(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            own = self._pod.nominated_node
            self._possibilities.add(nothing(refusal, {self._pod.key: own} if own else None))
            return
        has_options = False
        for options in self._options():
            has_options |= bool(options)
            for option in best_options(options):
                nominated = {self._pod.key: self._snapshot.nodes[option.place].name}
                self._possibilities.add(evicting(option.reprieved.victims, option.reprieved.violations, nominated))
        if not has_options:
            self._possibilities.add(nothing(self._why_nothing()))
        self._mark_chosen()

    def _refusal(self) -> Reason | None:
        """Return why the pod may not evict anybody at all."""
        if self._pod.never_preempts:
            return Reason(ReasonCode.POLICY_NEVER, "not eligible due to preemptionPolicy=Never.")
        place = self._snapshot.index.get(self._pod.nominated_node)
        if place is None or self._is_hopeless(place):
            return None
        for bound in self._snapshot.pods_on(place):
            if bound.is_being_preempted and self._units.priority_of(bound) < self._pod.priority:
                return Reason(
                    ReasonCode.ONGOING_PREEMPTION, "not eligible due to a terminating pod on the nominated node."
                )
        return None

    def _options(self) -> Iterator[list[NodeOption]]:
        """Yield what can be done on all nodes, for each order in which the budgets may be charged on every one."""
        nodes = {place: self._evictable(place) for place in self._curable()}
        rules = ChargeRules.of(self._mode, UnitKind.POD)
        ledger = BudgetLedger(self._snapshot.model.budgets.values(), rules, self._snapshot.effort)
        trials = NodeTrials(self._snapshot, self._kind, ledger, explains=self._explains)
        orders, is_complete = ledger.orders([unit for units in nodes.values() for unit in units], self._limit)
        self._possibilities.note(is_complete=is_complete)
        for order in orders:
            tried = {place: trials.try_node(place, units, order, self._limit) for place, units in nodes.items()}
            self._note(tried)
            yield [option for trial in tried.values() for option in trial.options]

    def _curable(self) -> list[int]:
        return [place for place in range(len(self._snapshot.nodes)) if not self._is_hopeless(place)]

    def _evictable(self, place: int) -> list[Unit]:
        units = self._units.of_pods(self._snapshot.pods_on(place))
        return [unit for unit in units if unit.priority < self._pod.priority]

    def _note(self, tried: Mapping[int, NodeTrial]) -> None:
        """Keep what an explanation contains, of the first order, and whether everything was followed."""
        self._possibilities.note(is_complete=all(trial.is_complete for trial in tried.values()))
        if self._verdicts:
            return
        places = range(len(self._snapshot.nodes))
        self._verdicts = [tried[place].verdict if place in tried else self._verdict(place) for place in places]
        sample = max(len(tried) * _CANDIDATE_PERCENTAGE // 100, SMALLEST_SAMPLE)
        if sum(bool(trial.options) for trial in tried.values()) >= sample and len(tried) > sample:
            self._approximate.append(_SAMPLED_CANDIDATES)

    def _is_hopeless(self, place: int) -> bool:
        """Return whether evicting cannot help: the node is out of the question or too small for the pod when empty.

        Ports are checked first, and one that is taken may become free: then the size of the node is not checked.
        """
        if self._snapshot.suitability(self._kind.demands).obstacles[place] is not None:
            return True
        if not is_too_small(self._snapshot.nodes[place], self._kind.footprint):
            return False
        with self._snapshot.reserved(place, self._kind.priority) as load:
            return not load.has_conflict(self._kind.footprint.ports)

    def _verdict(self, place: int) -> NodeVerdict:
        name = self._snapshot.nodes[place].name
        obstacle = self._snapshot.suitability(self._kind.demands).obstacles[place]
        if obstacle is not None:
            return NodeVerdict(name, obstacle)
        shortages = tuple(self._snapshot.shortages(place, self._kind))
        if not shortages:
            return NodeVerdict(name, NodeAnswer.FITS)
        return NodeVerdict(name, NodeAnswer.TOO_SMALL if self._is_hopeless(place) else NodeAnswer.NO_ROOM, shortages)

    def _why_nothing(self) -> Reason:
        answers = {verdict.answer for verdict in self._verdicts}
        if NodeAnswer.STILL_INFEASIBLE in answers:
            text = "the pod would not fit on any node even without the pods of lower priority"
            return Reason(ReasonCode.STILL_INFEASIBLE, text)
        if NodeAnswer.NO_VICTIMS in answers:
            return Reason(ReasonCode.NO_LOWER_PRIORITY, "No preemption victims found for incoming pod")
        return Reason(ReasonCode.NODE_INCURABLE, "Preemption is not helpful for scheduling")

    def _mark_chosen(self) -> None:
        chosen = self._possibilities.outcomes[0].nominated.get(self._pod.key)
        self._verdicts = [
            NodeVerdict(
                verdict.node,
                verdict.answer,
                verdict.shortages,
                verdict.steps,
                verdict.score,
                is_chosen=verdict.node == chosen,
            )
            for verdict in self._verdicts
        ]
