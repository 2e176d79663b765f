"""Victims that come back first: a victim queues again as soon as it has left, and may be tried before its preemptor.

Without fair sharing Kueue tries first who borrows least. A victim of another ClusterQueue may need to borrow less now
that others have left with it, and then takes room that was made for its preemptor; nothing keeps Kueue from preempting
it again, or from leaving it there. Who is first depends on how fast each of them leaves. A victim is supposed to go
back to the flavors that it held: what else would suit it is not kept.
"""

from collections.abc import Iterable

from engine.cluster.model import ClusterModel
from engine.cycles.cycle_order import seniority
from engine.cycles.verdicts import HeadVerdict
from engine.objects.workloads import restarts_queueing
from engine.quota.quota_tree import UsageChanges, lowest_fit
from engine.search.nomination import fits_after
from engine.search.search import PreemptionTarget


def first_to_return(
    model: ClusterModel, admitted: HeadVerdict, victims: Iterable[PreemptionTarget]
) -> PreemptionTarget | None:
    """Return a victim that may take the place of the workload it left for; the model is without any of the victims."""
    if model.configuration.fair_sharing is not None or admitted.assignment.borrowing == 0:
        return None
    return next((each for each in victims if _is_first(model, each, admitted) and _is_in_the_way(each, admitted)), None)


def _is_first(model: ClusterModel, victim: PreemptionTarget, admitted: HeadVerdict) -> bool:
    if victim.queue is admitted.head.entry.queue:
        return False  # one workload of a ClusterQueue is tried at a time, and it is the preemptor's turn
    borrowing = max((lowest_fit(victim.queue.cell(fr), amount)[0] for fr, amount in victim.workload.usage), default=0)
    gates = model.configuration.gates
    if borrowing == admitted.assignment.borrowing and restarts_queueing(victim.reason, gates):
        return False
    preemptor = admitted.assignment.borrowing, *seniority(admitted.head.entry.workload, gates)
    return (borrowing, *seniority(victim.workload, gates)) < preemptor


def _is_in_the_way(victim: PreemptionTarget, admitted: HeadVerdict) -> bool:
    """Return whether the victim finds room, and leaves too little."""
    if not fits_after((), victim.queue, dict(victim.workload.usage)):
        return False
    changes = UsageChanges()
    for fr, amount in victim.workload.usage:
        changes.add(victim.queue.cell(fr), amount)
    fits = fits_after((), admitted.head.entry.queue, admitted.assignment.usage)
    changes.undo()
    return not fits
