"""The message of a pending check: which workers have a replica, asked to preempt, have an open gate, and until when.

It changes only with the state, never with the clock: a deadline is given as a point in time. So writing
it does not trigger another reconcile by itself.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, assert_never

from gates.decision.ledger import known_openings
from gates.decision.opening import Defer, Grace, Hold, Idle, NextGate, Open, Wait
from gates.model.openings import Opening
from gates.model.settings import Settings
from gates.model.texts import MESSAGE_LIMIT, cut, foreign_replica, moment, replica_leaving
from gates.model.view import Reach, WorkerView, WorkloadView
from gates.targets.matching import not_listed, unknown_names

_LACKS: Final = frozenset({"Inadmissible", "Misconfigured", "Suspended"})
"""Reasons of QuotaReserved=False that require a change on the worker."""


def pending_message(
    view: WorkloadView,
    gate: NextGate,
    settings: Settings,
    notes: tuple[str, ...] = (),
    *,
    coming: Collection[str] = (),
    leaving: Collection[str] = (),
) -> str:
    """Describe what a pending Workload waits for, once `coming` replicas are created and `leaving` ones are gone."""
    staying = [w for w in view.holders if w.replica is not None and not w.replica.leaving]
    holders = [worker for worker in staying if worker.name not in leaving]
    holding = [worker.name for worker in view.listed if worker in holders or worker.name in coming]
    parts = [f"Pending on {_names(holding)}" if holding else _no_replica(view)]
    asking = [w.name for w in holders if w.replica is not None and w.replica.signal_ns is not None]
    if asking:
        parts.append(f"asked to preempt: {_names(asking)}")
    opened = known_openings(view)
    if opened:
        parts.append(f"gate open: {_names([_since(opening) for opening in opened])}")
        parts.append(f"the window of {opened[-1].cluster} ends at {moment(opened[-1].opened_ns + settings.timeout_ns)}")
    match gate:
        case Wait(worker=worker):
            parts.append(f"next is {worker.name}")
        case Hold(reserved_on=reserved_on):
            parts.append(f"no gate opens while {reserved_on} has quota reserved")
        case Grace(worker=worker, until_ns=until):
            parts.append(f"the gate of {worker.name} opens at {moment(until)} unless another worker has room")
        case Defer(worker=worker, due_ns=due_ns, why=why):
            parts.append(f"{worker.name} waits until {moment(due_ns)} at the latest: {why}")
        case Open() | Idle():
            pass
        case _:
            assert_never(gate)
    parts += _excluded(view)
    lost = [w.name for w in view.listed if w.reach is not Reach.SYNCED and w.exclusion is None]
    if lost:
        parts.append(f"not reachable: {_names(lost)}")
    held = [w.name for w in view.listed if (w.replica is not None and w.replica.leaving) or w.stale_leaving]
    if held:
        parts.append(replica_leaving(held))
    blocked = [worker.name for worker in view.listed if worker.foreign_replica]
    if blocked:
        parts.append(foreign_replica(blocked))
    lacking = [worker.name for worker in view.listed if not worker.serves_kind]
    if lacking:
        parts.append(f"the kind of the job is not installed on: {_names(lacking)}")
    parts += [complaint for worker in holders if (complaint := _misconfigured(worker))]
    parts += [worker.problem for worker in view.listed if worker.problem]
    parts += notes
    return cut("; ".join(parts), MESSAGE_LIMIT)


def _no_replica(view: WorkloadView) -> str:
    none_left = view.listed and all(worker.exclusion is not None for worker in view.listed)
    return "No worker may be used" if none_left else "No worker has a replica yet"


def _excluded(view: WorkloadView) -> Iterator[str]:
    """Say which workers are ruled out by which rule, and which clusters are named in vain."""
    by_rule: dict[str, list[str]] = {}
    for worker in view.listed:
        if worker.exclusion is not None:
            by_rule.setdefault(worker.exclusion.text, []).append(worker.name)
    yield from (f"ruled out: {_names(names)} ({text})" for text, names in by_rule.items())
    unknown = unknown_names(view.workload.targets, (worker.name for worker in view.listed))
    if unknown:
        yield not_listed(unknown)


def _since(opening: Opening) -> str:
    return f"{opening.cluster} since {moment(opening.opened_ns)}"


def _misconfigured(worker: WorkerView) -> str:
    """Say what a worker's Kueue lacks to admit the Workload, such as its LocalQueue; quota does not count."""
    reserved = worker.replica.conditions.get("QuotaReserved") if worker.replica is not None else None
    if reserved is None or reserved.status == "True" or reserved.reason not in _LACKS:
        return ""
    return f"worker {worker.name} cannot admit it until this is fixed there: {reserved.message}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)
