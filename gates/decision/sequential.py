"""Workers that may ignore gates: each gets its replica in a window of its own, because its replica is its opening."""

from dataclasses import replace

from gates.decision.dispatch import Nomination
from gates.decision.ledger import known_openings
from gates.decision.opening import last_opening_on, opening_on_its_way
from gates.decision.windows import elapsed, holding, last_call, opening_of
from gates.model.actions import CreateReplica, ProbeWorker, RecordOpenings, Step
from gates.model.hub_workload import Component, Ownership
from gates.model.openings import Opening
from gates.model.settings import SECOND, Settings
from gates.model.view import GateSupport, Reach, Replica, WorkerView, WorkloadView

Steps = tuple[Step, ...]


def next_sequential(
    view: WorkloadView, nomination: Nomination, now_ns: int, settings: Settings
) -> tuple[Steps, int | None]:
    """Give the next worker that may ignore gates its replica, if no window is running; else say how long it waits.

    Where it is only not known whether gates are honoured, the replica gets one: showing it ends the window at once.
    """
    waiting = (w for w in view.listed if w.name in nomination.clusters and w.reach is Reach.SYNCED)
    free = [w for w in waiting if _may_be_next(w, view)]
    if not free:
        return (), None
    if opening_on_its_way(view, now_ns, settings) is not None:
        return (), SECOND
    known = known_openings(view)
    if (begun := _begun(free, known, view, now_ns, settings)) is not None:
        return (Step((begun,)),), settings.timeout_ns
    had = {o.cluster: place for place, o in enumerate(known, start=1)}
    chosen = min(free, key=lambda w: (bool(w.problem), had.get(w.name, 0), w.gates is GateSupport.MISSING, w.order))
    _, left = holding(known, view, now_ns, settings)
    if left > 0:
        return (), left
    if not chosen.answers:
        return (Step((ProbeWorker(chosen.name),)),), settings.timeout_ns
    gated = chosen.gates is GateSupport.UNKNOWN
    opening = opening_of(chosen.name, None, view, now_ns, settings, last_opening_on(chosen.name, view))
    opening = replace(opening, until_shown=gated)
    action = CreateReplica(chosen.name, gated=gated, opened_ns=now_ns, not_after_ns=last_call(opening, settings))
    return (Step((RecordOpenings(with_opening(known, opening)),)), Step((action,))), settings.timeout_ns


def _begun(
    free: list[WorkerView], known: tuple[Opening, ...], view: WorkloadView, now_ns: int, settings: Settings
) -> CreateReplica | None:
    """Return the creation that an earlier process recorded and may not have sent: it belongs to the same window."""
    names = {worker.name for worker in free if worker.gates is GateSupport.UNKNOWN and not worker.problem}
    for opening in known:
        is_ours = opening.until_shown and not opening.replica_uid and opening.attempt == view.workload.attempt
        if is_ours and opening.cluster in names and elapsed(opening, view, now_ns) < settings.timeout_ns // 2:
            not_after = last_call(opening, settings)
            return CreateReplica(opening.cluster, opened_ns=opening.opened_ns, not_after_ns=not_after)
    return None


def untried(view: WorkloadView, now_ns: int, settings: Settings) -> WorkerView | None:
    """Return a worker that is to get its replica before any gate opens, because it may have room.

    Where it is not known whether gates are honoured, a replica waits for windows; the first one would keep it waiting.
    """
    workload, known = view.workload, known_openings(view)
    is_dispatched = workload.other_checks_ready and workload.ownership is not Ownership.UNKNOWN
    if not is_dispatched or not leads(workload.component) or holding(known, view, now_ns, settings)[1] > 0:
        return None
    tried = {opening.cluster for opening in known if opening.attempt == workload.attempt}
    eligible = (w for w in view.listed if w.exclusion is None and not w.problem)
    nominated = (w for w in eligible if w.name in workload.nominated and w.name not in tried)
    waiting = (w for w in nominated if w.gates is GateSupport.UNKNOWN and w.reach is Reach.SYNCED)
    return next((w for w in waiting if _may_be_next(replace(w, busy=False), view)), None)


def _may_be_next(worker: WorkerView, view: WorkloadView) -> bool:
    is_silent = worker.is_silent and worker.gates is GateSupport.UNKNOWN
    return is_sequential(worker, view) and may_get_replica(worker) and not is_silent


def leads(component: Component | None) -> bool:
    """Return whether a Workload chooses its worker; of a job's component Workloads one does, until one is placed."""
    return component is None or (component.complete and component.is_primary and not component.sibling_clusters)


def struck(view: WorkloadView) -> Steps:
    """Take openings out of the record that were none, because the gate of the replica has shown."""
    ledger = ledger_without_shown(view)
    return (Step((RecordOpenings(ledger),)),) if ledger is not None else ()


def ledger_without_shown(view: WorkloadView) -> tuple[Opening, ...] | None:
    """Return the ledger without openings that were none, because the gate of the replica has shown; None if all are."""
    recorded, known = view.workload.openings, known_openings(view)
    is_shown = any(opening.until_shown and opening not in known for opening in recorded)
    return tuple(opening for opening in recorded if opening in known) if is_shown else None


def unheld(view: WorkloadView) -> set[str]:
    """Return the workers whose replica is taken back: of several that no gate is known to hold, one may stay.

    They were sent while their workers were believed to honour gates, and then none of these showed its own.
    """
    waiting = [w for w in view.holders if w.may_ignore_gates]
    unheld = [w.name for w in waiting if w.replica is not None and _may_be_taken_back(w.replica)]
    had_windows = {opening.cluster for opening in known_openings(view) if not opening.replica_uid}
    surplus = [name for name in unheld if name not in had_windows]
    if not has_choice(view):
        return set()
    return set(surplus if len(surplus) < len(unheld) else surplus[1:])


def _may_be_taken_back(replica: Replica) -> bool:
    return (replica.has_yet_to_show or replica.lost_gate) and not replica.is_true("QuotaReserved")


def may_get_replica(worker: WorkerView) -> bool:
    """Return whether nothing is in the way of a replica."""
    is_taken = worker.replica is not None or worker.foreign_replica or bool(worker.stale_uid)
    return not is_taken and not worker.busy


def is_sequential(worker: WorkerView, view: WorkloadView) -> bool:
    """A worker that ignores gates may preempt as soon as it has a replica, so its replica is its opening."""
    return worker.may_ignore_gates and has_choice(view)


def has_choice(view: WorkloadView) -> bool:
    """Return whether more than one worker is nominated or may yet be, as a lost one that comes back may."""
    workload = view.workload
    return not (workload.elastic and workload.cluster_name) and len(view.listed) > 1


def with_opening(openings: tuple[Opening, ...], new: Opening) -> tuple[Opening, ...]:
    """Return the openings with another one, in place of that on the same cluster."""
    return (*(o for o in openings if o.cluster != new.cluster), new)
