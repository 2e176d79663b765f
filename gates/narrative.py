"""The sentence on a pending check: who holds a copy, who asked to preempt, whose gate is open, and until when.

It changes only with the state, never with the clock: the time left is told as the moment when it is over. So writing it
does not wake anybody by itself.
"""

from collections.abc import Collection
from typing import Final

from config.api.meta import format_time
from gates.ledger import known_openings
from gates.opening import Defer, Grace, Hold, NextGate, Wait
from gates.settings import SECOND, Settings
from gates.texts import MESSAGE_LIMIT, cut
from gates.view import Group, Opening, Reach, Worker

_LACKS: Final = frozenset({"Inadmissible", "Misconfigured", "Suspended"})
"""Reasons of QuotaReserved=False for which somebody has to change something on the worker."""


def pending_message(
    group: Group,
    gate: NextGate,
    settings: Settings,
    notes: tuple[str, ...] = (),
    *,
    coming: Collection[str] = (),
    leaving: Collection[str] = (),
) -> str:
    """Describe what a pending Workload waits for, once copies that are `coming` and `leaving` have come and left."""
    holders = [worker for worker in group.holders if worker.name not in leaving]
    holding = [worker.name for worker in group.listed if worker in holders or worker.name in coming]
    parts = [f"Pending on {_names(holding)}" if holding else "No worker holds a copy yet"]
    asking = [w.name for w in holders if w.replica is not None and w.replica.signal_ns is not None]
    if asking:
        parts.append(f"asked to preempt: {_names(asking)}")
    opened = known_openings(group)
    if opened:
        parts.append(f"gate open: {_names([_since(opening) for opening in opened])}")
        parts.append(f"the turn of {opened[-1].cluster} ends at {_time(opened[-1].opened_ns + settings.timeout_ns)}")
    match gate:
        case Wait(worker=worker):
            parts.append(f"next is {worker.name}")
        case Hold(reserved_on=reserved_on):
            parts.append(f"no gate opens while {reserved_on} has quota reserved")
        case Grace(worker=worker, until_ns=until):
            parts.append(f"the gate of {worker.name} opens at {_time(until)} unless another worker has room")
        case Defer(worker=worker, due_ns=due_ns, why=why):
            parts.append(f"{worker.name} waits until {_time(due_ns)} at the latest: {why}")
        case _:
            pass
    lost = [worker.name for worker in group.listed if worker.reach is not Reach.SYNCED]
    if lost:
        parts.append(f"not reachable: {_names(lost)}")
    blocked = [worker.name for worker in group.listed if worker.foreign_replica]
    if blocked:
        parts.append(f"a foreign Workload of the same name is on: {_names(blocked)}")
    lacking = [worker.name for worker in group.listed if not worker.serves_kind]
    if lacking:
        parts.append(f"the kind of the job is not served on: {_names(lacking)}")
    parts += [complaint for worker in holders if (complaint := _misconfigured(worker))]
    parts += [worker.problem for worker in group.listed if worker.problem]
    parts += notes
    return cut("; ".join(parts), MESSAGE_LIMIT)


def _since(opening: Opening) -> str:
    return f"{opening.cluster} since {_time(opening.opened_ns)}"


def _time(moment_ns: int) -> str:
    """Write a moment in whole seconds, rounded up, so that what it announces has happened by then."""
    return format_time(-(-moment_ns // SECOND) * SECOND)


def _misconfigured(worker: Worker) -> str:
    """Say what a worker's Kueue lacks to take the Workload, such as its LocalQueue; waiting for quota is no lack."""
    reserved = worker.replica.conditions.get("QuotaReserved") if worker.replica is not None else None
    if reserved is None or reserved.status == "True" or reserved.reason not in _LACKS:
        return ""
    return f"worker {worker.name} cannot take it before somebody mends there: {reserved.message}"


def _names(names: list[str]) -> str:
    return ", ".join(names)
