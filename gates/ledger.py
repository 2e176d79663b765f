"""The record of gate openings: what keeps "one cluster per timeout" true when a worker cannot be read.

The record stands in an annotation of the hub Workload and is written before the worker is touched. So an opening
that was decided is never forgotten by a restart, a partition, or a status write on the worker that reverts it.
Kueue derives the last opening from the replicas it can read, which is how a second gate opens too early there.
"""

import json
from collections.abc import Iterable

from gates import marks
from gates.view import Group, HubWorkload, Opening, Reach, Worker


class LedgerError(ValueError):
    """The annotation does not hold what we write there."""


def parse_openings(text: str | None) -> tuple[Opening, ...]:
    """Read the annotation; a missing one is an empty ledger."""
    if not text:
        return ()
    try:
        return tuple(
            Opening(str(entry["cluster"]), str(entry["replicaUID"]), int(entry["openedAtUnixNano"]))
            for entry in json.loads(text)
        )
    except (ValueError, TypeError, KeyError) as error:
        message = (
            f"annotation {marks.GATE_OPENINGS}: expected a list of {{cluster, replicaUID, openedAtUnixNano}}: {error}"
        )
        raise LedgerError(message) from error


def format_openings(openings: Iterable[Opening]) -> str:
    """Write the annotation."""
    entries = [
        {"cluster": o.cluster, "replicaUID": o.replica_uid, "openedAtUnixNano": str(o.opened_ns)} for o in openings
    ]
    return json.dumps(entries, separators=(",", ":"))


def standing_openings(group: Group) -> tuple[Opening, ...]:
    """Return the recorded openings that still count, oldest first.

    An opening stops counting only on evidence from the worker itself: the replica was evicted after it, or the hub
    began a new attempt and the worker shows that the old replica is gone. A worker that cannot be read gives no
    evidence.
    """
    kept = (o for o in group.workload.openings if not _is_over(o, group.workload, group.worker(o.cluster)))
    return tuple(sorted(kept, key=_age))


def _is_over(opening: Opening, workload: HubWorkload, worker: Worker | None) -> bool:
    if worker is None or worker.reach is not Reach.SYNCED:
        return False
    replica = worker.replica
    if replica is not None and replica.uid == opening.replica_uid:
        return replica.is_true("Evicted") and replica.since_ns("Evicted") - worker.clock_skew_ns > opening.opened_ns
    reserved = workload.conditions.get("QuotaReserved")
    return reserved is not None and reserved.last_transition_ns > opening.opened_ns


def observed_openings(group: Group) -> tuple[Opening, ...]:
    """Return gates that stand open on readable workers without a record of ours, as an operator may open them."""
    recorded = {(o.cluster, o.replica_uid) for o in standing_openings(group)}
    return tuple(
        Opening(worker.name, worker.replica.uid, worker.replica.gate_opened_ns)
        for worker in group.holders
        if worker.replica is not None
        and worker.replica.gate_open
        and worker.replica.gate_opened_ns is not None
        and (worker.name, worker.replica.uid) not in recorded
    )


def known_openings(group: Group) -> tuple[Opening, ...]:
    """Return every opening that counts, recorded or observed, one for each cluster, oldest first."""
    openings = sorted((*standing_openings(group), *observed_openings(group)), key=_age)
    return tuple(sorted({o.cluster: o for o in openings}.values(), key=_age))


def last_opening(group: Group) -> Opening | None:
    """Return the latest opening that still counts."""
    return max(known_openings(group), key=_age, default=None)


def _age(opening: Opening) -> tuple[int, str]:
    return (opening.opened_ns, opening.cluster)
