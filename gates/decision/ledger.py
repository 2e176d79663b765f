"""The record of gate openings: what keeps "one cluster per timeout" true when a worker cannot be read.

The record is kept in an annotation of the hub Workload and is written before the worker is touched. So an opening
that was decided is never forgotten by a restart, a partition, or a status write on the worker that reverts it.
Kueue derives the last opening from the replicas it can read, which is how a second gate opens too early there.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from config.api.identifiers import ReplicaUID, WorkerName
from gates.model.hub_workload import CheckState, HubWorkload
from gates.model.openings import Opening
from gates.model.settings import SECOND, TIME_LIMIT_NS
from gates.model.view import GateSupport, Reach, WorkerView, WorkloadView

UNKNOWN_CLUSTER: Final = WorkerName("(unreadable record)")
"""Placeholder cluster of an opening that may have happened on any cluster. No cluster has this name."""


def standing_openings(view: WorkloadView) -> tuple[Opening, ...]:
    """Return the openings of the record, or missing from it, that still count, oldest first.

    Within its attempt an opening counts whatever its worker says: a worker that could end its own window could have
    another gate opened inside the timeout. In a later attempt it counts until its worker shows that the replica is
    gone. A worker that cannot be read shows nothing.
    """
    workload = view.workload
    known = (*workload.openings, *workload.lost_openings)
    kept = (o for o in known if not _is_over(o, workload, view.worker(o.cluster)))
    return tuple(sorted(kept, key=_age))


def _is_over(opening: Opening, workload: HubWorkload, worker: WorkerView | None) -> bool:
    if worker is None or worker.reach is not Reach.SYNCED:
        return False
    replica = worker.replica
    if opening.until_shown and replica is not None and replica.has_gate and replica.gate_shown:
        return worker.gates is GateSupport.HONOURED
    if opening.attempt in ("", workload.attempt):
        return False
    if not opening.replica_uid:
        # It is unknown whether the present replica is the one that it created, or whether one is still to be created.
        has_arrived = opening.took_effect or worker.effect_ns is not None
        return replica is None and (has_arrived or worker.tried_ns == 0)
    return replica is None or replica.uid != opening.replica_uid


def observed_openings(view: WorkloadView) -> tuple[Opening, ...]:
    """Return what lets readable workers preempt without an entry in our record.

    That is an open gate, as an operator may open it, a replica that was created without one while its worker was the
    only one, and a closed gate on a worker that may ignore it.
    """
    standing, attempt = standing_openings(view), view.workload.attempt
    found = []
    for worker in view.holders:
        opened_ns = _may_preempt_since(worker, view)
        if worker.replica is None or opened_ns is None:
            continue
        if not _is_ours(worker.name, worker.replica.uid, opened_ns, standing):
            opening = Opening(worker.name, worker.replica.uid, opened_ns, attempt, took_effect=True, entry_ns=opened_ns)
            found.append(replace(opening, until_shown=worker.replica.has_yet_to_show))
    return tuple(found)


def _may_preempt_since(worker: WorkerView, view: WorkloadView) -> int | None:
    """Return the time in an open gate, 0 for a replica without one, None for one that may not preempt."""
    replica, workload = worker.replica, view.workload
    if replica is None:
        return None
    if replica.gate_open and replica.gate_opened_ns is not None:
        # The worker may write any time there; the record must hold one that can be read back.
        return min(max(replica.gate_opened_ns, SECOND), TIME_LIMIT_NS - 1)
    is_placed = workload.component is not None or (workload.elastic and workload.cluster_name)
    if view.steady is None or is_placed or len(view.listed) < 2 or replica.leaving:
        return None
    if replica.made_ungated:
        return None if worker.gates is GateSupport.MISSING and worker.ungated_allowed else 0
    is_held = replica.gate_shown and worker.gates is not GateSupport.MISSING
    return 0 if worker.may_ignore_gates and not is_held else None


def _is_ours(cluster: WorkerName, uid: ReplicaUID, entry_ns: int, standing: Iterable[Opening]) -> bool:
    """Tell whether an opening is one of a record: of that replica, with the time that was written there."""
    uids = (uid,) if entry_ns else (uid, "")
    recorded = (o for o in standing if o.cluster == cluster and o.replica_uid in uids)
    return any(not o.entry_ns or not entry_ns or o.entry_ns // SECOND == entry_ns // SECOND for o in recorded)


def is_between_attempts(workload: HubWorkload) -> bool:
    """Return whether no record of openings is kept now, because no gate is opened."""
    is_pending = workload.check is not None and workload.check.state is CheckState.PENDING
    return not is_pending or workload.is_true("Evicted") or not workload.is_true("QuotaReserved")


def known_openings(view: WorkloadView) -> tuple[Opening, ...]:
    """Return every opening that counts, recorded or observed, one for each cluster, oldest first."""
    openings = sorted((*standing_openings(view), *observed_openings(view)), key=_age)
    return tuple(sorted({o.cluster: o for o in openings}.values(), key=_age))


def last_opening(view: WorkloadView) -> Opening | None:
    """Return the latest opening that still counts."""
    return max(known_openings(view), key=_age, default=None)


def lost(remembered: Iterable[Opening], record: Collection[Opening]) -> tuple[Opening, ...]:
    """Return the openings that were struck out of the record, or dated back there."""
    return tuple(opening for opening in remembered if not _is_in(opening, record))


def _is_in(opening: Opening, record: Iterable[Opening]) -> bool:
    return any(
        (o.cluster, o.replica_uid, o.attempt) == (opening.cluster, opening.replica_uid, opening.attempt)
        and _is_no_earlier(o, opening)
        for o in record
    )


def _is_no_earlier(other: Opening, opening: Opening) -> bool:
    if other.steady is None or opening.steady is None:
        return other.steady is opening.steady and other.opened_ns >= opening.opened_ns
    return other.steady.clock == opening.steady.clock and other.steady.at_ns >= opening.steady.at_ns


def _age(opening: Opening) -> tuple[int, str]:
    """Order by the steady clock where openings have its reading: the wall clock may have been set between them."""
    return (opening.steady.at_ns if opening.steady is not None else opening.opened_ns, opening.cluster)
