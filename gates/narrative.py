"""The sentence on a pending check: who holds a copy, who asked to preempt, whose gate is open.

It changes only with the state, never with the clock, so that writing it does not wake anybody by itself.
"""

from typing import Final

from config.api.meta import format_time
from gates.ledger import last_opening
from gates.opening import Defer, Hold, NextGate, Wait
from gates.texts import MESSAGE_LIMIT, cut
from gates.view import Group, Reach, Worker

_LACKS: Final = frozenset({"Inadmissible", "Misconfigured", "Suspended"})
"""Reasons of QuotaReserved=False for which somebody has to change something on the worker."""


def pending_message(group: Group, gate: NextGate) -> str:
    """Describe what a pending Workload waits for."""
    holders = [worker.name for worker in group.holders]
    parts = [f"Pending on {_names(holders)}" if holders else "No worker holds a copy yet"]
    asking = [w.name for w in group.holders if w.replica is not None and w.replica.signal_ns is not None]
    if asking:
        parts.append(f"asked to preempt: {_names(asking)}")
    opened = last_opening(group)
    if opened is not None:
        parts.append(f"gate opened on {opened.cluster} at {format_time(opened.opened_ns)}")
    match gate:
        case Wait(worker=worker, holder=holder):
            parts.append(f"next is {worker.name}, when the timeout of {holder.cluster} has passed")
        case Hold(reserved_on=reserved_on):
            parts.append(f"no gate opens while {reserved_on} has quota reserved")
        case Defer(worker=worker, due_ns=due_ns, why=why):
            parts.append(f"{worker.name} waits until {format_time(due_ns)} at the latest: {why}")
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
    parts += [complaint for worker in group.holders if (complaint := _misconfigured(worker))]
    parts += [worker.problem for worker in group.listed if worker.problem]
    return cut("; ".join(parts), MESSAGE_LIMIT)


def _misconfigured(worker: Worker) -> str:
    """Say what a worker's Kueue lacks to take the Workload, such as its LocalQueue; waiting for quota is no lack."""
    reserved = worker.replica.conditions.get("QuotaReserved") if worker.replica is not None else None
    if reserved is None or reserved.status == "True" or reserved.reason not in _LACKS:
        return ""
    return f"worker {worker.name} cannot take it before somebody mends there: {reserved.message}"


def _names(names: list[str]) -> str:
    return ", ".join(names)
