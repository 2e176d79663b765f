"""What becomes of one workload, cycle after cycle, until it has quota or nothing changes any more.

One cycle says what Kueue preempts, but not always what comes of it: a cycle that fails goes on with the next flavor,
room that victims leave may be used otherwise than it was made for, and sometimes it is not enough. The workload has the
cycles for itself. Victims are gone before the next one; where it can make a difference which of them goes first, the
other ways are followed too. Invariant: the model is as it was when the `WhatIf` ends.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, QueueRefusal, enter
from engine.cycles.cycle import tree_outcomes
from engine.cycles.pending_queue import QueuedWorkload
from engine.cycles.verdicts import Head, HeadVerdict
from engine.forecasting.returning import first_to_return
from engine.objects.workloads import PendingWorkload
from engine.prediction.predict import MAX_WAYS_FOLLOWED, NOT_EXHAUSTIVE, pod_set_prediction, predict, reduced_counts
from engine.prediction.what_if import WhatIf
from engine.reporting.caveats import Caveats, caveats_of
from engine.requests.requests import workload_request
from engine.search.search import PreemptionTarget
from engine.vocabulary.assignment import AssignmentMode, ScanMemory
from engine.vocabulary.decision import Outcome, Prediction, Victim
from engine.vocabulary.errors import FieldError, InvalidObjectError
from engine.vocabulary.topology import TopologyShortage

_MAX_CYCLES: Final = 64
_FEW: Final = 4
_BY_ORDER: Final = "who else is preempted depends on which of the victims leaves first"
_BY_RETURN: Final = "the victim {} may take its room again before this workload has it"
_BY_CHANCE: Final = "Kueue breaks ties by chance, which decides about this"


@dataclass(slots=True)
class _Course:
    """The way so far."""

    entry: NominatedWorkload
    caveats: Caveats
    victims: dict[ObjectKey, Victim] = field(default_factory=dict)
    message: str = ""
    """Of the first cycle that preempted anything."""
    preempting: HeadVerdict | None = None
    shortages: dict[str, TopologyShortage | None] = field(default_factory=dict)
    """How far free nodes went in that cycle, by pod set."""
    labels: tuple[str, ...] = ()
    leaving: list[tuple[PreemptionTarget, ...]] = field(default_factory=list)
    """Who was preempted together, cycle by cycle."""

    def note(self, verdict: HeadVerdict) -> None:
        """Take note of a cycle that preempts."""
        self.message = self.message or verdict.message
        if self.preempting is None:
            self.shortages = {each.name: each.shortage for each in verdict.assignment.pod_sets}
        self.preempting = verdict
        self.leaving.append(verdict.targets)
        self.victims |= {target.workload.key: target.as_victim() for target in verdict.targets}

    def end(self, last: HeadVerdict) -> Prediction:
        """Say what the last cycle means for all of them."""
        outcome, message, decisive = last.outcome, last.message, last
        if self.preempting is not None:
            outcome, message = Outcome.PREEMPT, self.message
            decisive = last if last.outcome is Outcome.ADMIT else self.preempting
        return self._prediction(Outcome.AMBIGUOUS if self.caveats.is_ambiguous else outcome, message, decisive)

    def end_by_chance(self, first: HeadVerdict) -> Prediction:
        """Say that it cannot be said."""
        return self._prediction(Outcome.AMBIGUOUS, _BY_CHANCE, first)

    def end_by_order(self, found: Prediction) -> Prediction:
        """Say that others are preempted as well if the wrong ones leave first."""
        return replace(found, outcome=Outcome.AMBIGUOUS, message=_BY_ORDER)

    def end_by_return(self, found: Prediction, rival: PreemptionTarget) -> Prediction:
        """Say that a victim may be back before the workload has its room."""
        return replace(found, outcome=Outcome.AMBIGUOUS, message=_BY_RETURN.format(rival.workload.key))

    def _prediction(self, outcome: Outcome, message: str, decisive: HeadVerdict) -> Prediction:
        assignment = decisive.assignment
        return Prediction(
            key=decisive.head.key,
            outcome=outcome,
            message=message,
            cluster_queue=self.entry.queue.name,
            mode=assignment.mode,
            pod_sets=tuple(
                replace(pod_set_prediction(each), shortage=self.shortages.get(each.name, each.shortage))
                for each in assignment.pod_sets
            ),
            reduced_counts=reduced_counts(self.entry, assignment),
            borrowing=None if assignment.mode is AssignmentMode.NO_FIT else assignment.borrowing,
            victims=tuple(sorted(self.victims.values())),
            labels=(*self.labels, *self.caveats.labels),
        )


def follow(model: ClusterModel, what_if: WhatIf, key: ObjectKey, now_ns: int) -> Prediction:
    """Return where the way of a workload ends; `what_if` is a hypothesis about the model."""
    workload = model.workload(key)
    if not isinstance(workload, PendingWorkload):
        return predict(model, key, now_ns)
    try:
        entry = enter(model, workload, now_ns)
        if isinstance(entry, QueueRefusal):
            return Prediction(key, entry.outcome, entry.message, entry.cluster_queue)
        caveats = caveats_of(model, entry)
        if caveats.unsupported is not None:
            return Prediction(key, Outcome.UNSUPPORTED, caveats.unsupported, entry.queue.name, labels=caveats.labels)
        return _follow(model, what_if, _Course(entry, caveats), now_ns)
    except FieldError as error:
        raise InvalidObjectError("Workload", str(key), error) from None


def _follow(model: ClusterModel, what_if: WhatIf, course: _Course, now_ns: int) -> Prediction:
    """Go on until the workload has quota or nothing changes any more."""
    for _ in range(_MAX_CYCLES):
        possible = _next(model, course, now_ns)
        verdict = possible[0]
        if len(possible) > 1:
            return course.end_by_chance(verdict)
        if verdict.outcome is not Outcome.PREEMPT:
            break
        course.note(verdict)
        for target in verdict.targets:
            what_if.remove("Workload", *target.workload.key)
    found = course.end(verdict)
    if verdict.outcome is not Outcome.ADMIT:
        return found
    model.effort.spend(sum(len(targets) for targets in course.leaving))
    rival = first_to_return(model, verdict, (target for targets in course.leaving for target in targets))
    if rival is not None:
        return course.end_by_return(found, rival)
    if not _may_depend_on_order(course):
        return found
    return _with_other_orders(model, what_if, course, found, now_ns)


def _next(model: ClusterModel, course: _Course, now_ns: int) -> tuple[HeadVerdict, ...]:
    """Return what comes of the next cycles, up to one that admits or preempts; several answers where chance decides."""
    item = _queued(model, course.entry)
    tried: list[ScanMemory] = []
    """Where scans ended: one that ends there again would go on for ever."""
    number = 0
    while True:
        number += 1
        outcomes = tree_outcomes(model, (Head(item, course.entry),), number, now_ns, MAX_WAYS_FOLLOWED)
        possible = tuple(verdict for (verdict,) in outcomes.possible)
        if not outcomes.is_exhaustive:
            course.labels = (NOT_EXHAUSTIVE,)
        if len(possible) > 1 or not _goes_on(possible[0], tried):
            return possible
        item = replace(item, memory=possible[0].memory)


def _goes_on(verdict: HeadVerdict, tried: list[ScanMemory]) -> bool:
    """Return whether Kueue tries the workload again by itself, and otherwise than before."""
    if verdict.outcome in (Outcome.ADMIT, Outcome.PREEMPT) or verdict.memory is None or verdict.memory.tried in tried:
        return False
    tried.append(verdict.memory.tried)
    return verdict.outcome is Outcome.SKIPPED or verdict.memory.has_untried_flavors


# --- who leaves first


def _may_depend_on_order(course: _Course) -> bool:
    """Return whether there are several victims, and several flavors that their room could be used for."""
    has_choice = any(len(group.flavors) > 1 for group in course.entry.spec.resource_groups)
    return has_choice and any(len(targets) > 1 for targets in course.leaving)


def _with_other_orders(
    model: ClusterModel, what_if: WhatIf, course: _Course, found: Prediction, now_ns: int
) -> Prediction:
    """Add the other ways it may end if some victims are still there when Kueue tries again."""
    for targets in course.leaving:
        for target in targets:
            what_if.suppose("Workload", target.workload.key, target.workload.on_its_way_out())
    endings = [found]
    for gone in _who_may_be_gone([target.workload.key for targets in course.leaving for target in targets]):
        with WhatIf(model) as meanwhile:
            for key in gone:
                meanwhile.remove("Workload", *key)
            verdict, *others = _next(model, course, now_ns)
        if others or any(target.workload.key not in course.victims for target in verdict.targets):
            return course.end_by_order(found)
        ending = course.end(verdict)
        if verdict.outcome is Outcome.ADMIT and ending not in endings:
            endings.append(ending)
    return found if len(endings) == 1 else replace(found, alternatives=tuple(endings))


def _who_may_be_gone(victims: list[ObjectKey]) -> Iterator[tuple[ObjectKey, ...]]:
    """Yield who may be gone already: everything where there are few victims, else none, one, and all but one."""
    sizes: Iterable[int] = range(len(victims))
    if len(victims) > _FEW:
        sizes = (0, 1, len(victims) - 1)
    for size in sizes:
        yield from combinations(victims, size)


def _queued(model: ClusterModel, entry: NominatedWorkload) -> QueuedWorkload:
    workload = entry.workload
    return QueuedWorkload(workload, workload_request(workload.raw, model.request_context(workload.key.namespace)), None)
