"""What becomes of one workload, cycle after cycle, until it has quota or nothing changes any more.

One cycle says whom Kueue preempts, but not always what comes of it: a cycle that fails goes on with the next flavor,
room that victims leave may be used otherwise than it was made for, and sometimes it is not enough. The workload has the
cycles for itself, and victims are gone before the next one. Invariant: the model is as it was when the `WhatIf` ends.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from config.api.meta import ObjectKey
from engine.cycles.cycle import Head, Verdict, tree_outcomes
from engine.cycles.pending_queue import QueuedWorkload
from engine.decision import Outcome, Prediction, Victim
from engine.errors import FieldError, InvalidObjectError
from engine.flavors.assignment import Mode, ScanMemory
from engine.model import ClusterModel
from engine.objects.workloads import PendingWorkload
from engine.predict import MAX_TIES_FOLLOWED, NOT_EXHAUSTIVE, pod_set_prediction, predict, reduced_counts
from engine.queueing import Entry, Refusal, enter
from engine.reporting.caveats import Caveats, caveats_of
from engine.requests.requests import workload_request
from engine.what_if import WhatIf

_MAX_CYCLES: Final = 64
_BY_CHANCE: Final = "Kueue breaks ties by chance, which decides about this"


@dataclass(slots=True)
class _Course:
    """The way so far."""

    entry: Entry
    caveats: Caveats
    victims: dict[ObjectKey, Victim] = field(default_factory=dict)
    message: str = ""
    """Of the first cycle that preempted somebody."""
    preempting: Verdict | None = None
    labels: tuple[str, ...] = ()

    def note(self, verdict: Verdict) -> None:
        """Take note of a cycle that preempts."""
        self.message = self.message or verdict.message
        self.preempting = verdict
        self.victims |= {target.workload.key: target.as_victim() for target in verdict.targets}

    def end(self, last: Verdict) -> Prediction:
        """Say what the last cycle means for all of them."""
        outcome, message, decisive = last.outcome, last.message, last
        if self.preempting is not None:
            outcome, message = Outcome.PREEMPT, self.message
            decisive = last if last.outcome is Outcome.ADMIT else self.preempting
        return self._prediction(Outcome.AMBIGUOUS if self.caveats.is_ambiguous else outcome, message, decisive)

    def end_by_chance(self, first: Verdict) -> Prediction:
        """Say that it cannot be said."""
        return self._prediction(Outcome.AMBIGUOUS, _BY_CHANCE, first)

    def _prediction(self, outcome: Outcome, message: str, decisive: Verdict) -> Prediction:
        assignment = decisive.assignment
        return Prediction(
            key=decisive.head.key,
            outcome=outcome,
            message=message,
            cluster_queue=self.entry.queue.name,
            mode=assignment.mode,
            pod_sets=tuple(map(pod_set_prediction, assignment.pod_sets)),
            reduced_counts=reduced_counts(self.entry, assignment),
            borrowing=None if assignment.mode is Mode.NO_FIT else assignment.borrowing,
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
        if isinstance(entry, Refusal):
            return Prediction(key, entry.outcome, entry.message, entry.cluster_queue)
        caveats = caveats_of(model, entry)
        if caveats.unsupported is not None:
            return Prediction(key, Outcome.UNSUPPORTED, caveats.unsupported, entry.queue.name, labels=caveats.labels)
        return _follow(model, what_if, _Course(entry, caveats), now_ns)
    except FieldError as error:
        raise InvalidObjectError("Workload", str(key), error) from None


def _follow(model: ClusterModel, what_if: WhatIf, course: _Course, now_ns: int) -> Prediction:
    item = _queued(model, course.entry)
    tried: list[ScanMemory] = []
    """Where scans ended since the last preemption: one that ends there again would go on for ever."""
    for number in range(1, _MAX_CYCLES + 1):
        outcomes = tree_outcomes(model, (Head(item, course.entry),), number, now_ns, MAX_TIES_FOLLOWED)
        ((verdict,), *others) = outcomes.possible
        if others:
            return course.end_by_chance(verdict)
        if not outcomes.is_exhaustive:
            course.labels = (NOT_EXHAUSTIVE,)
        if verdict.outcome is Outcome.PREEMPT:
            course.note(verdict)
            for target in verdict.targets:
                what_if.remove("Workload", *target.workload.key)
            item, tried = replace(item, memory=None), []
            continue
        item = replace(item, memory=verdict.memory)
        if not _goes_on(verdict, tried):
            break
    return course.end(verdict)


def _goes_on(verdict: Verdict, tried: list[ScanMemory]) -> bool:
    """Tell whether Kueue tries the workload again by itself, and otherwise than before."""
    if verdict.outcome is Outcome.ADMIT or verdict.memory is None or verdict.memory.tried in tried:
        return False
    tried.append(verdict.memory.tried)
    return verdict.outcome is Outcome.SKIPPED or verdict.memory.has_untried_flavors


def _queued(model: ClusterModel, entry: Entry) -> QueuedWorkload:
    workload = entry.workload
    return QueuedWorkload(workload, workload_request(workload.raw, model.request_context(workload.key.namespace)), None)
