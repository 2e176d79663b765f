"""Builders of the frozen views that the deciders look at."""

from dataclasses import replace
from typing import Any

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import Condition
from gates.model.hub_workload import Check, CheckState, HubWorkload
from gates.model.settings import MINUTE, SECOND, Settings
from gates.model.view import Replica, WorkerView, WorkloadView

NOW = 1_800_000_000 * SECOND
SETTINGS = Settings()
T = SETTINGS.timeout_ns
L = SETTINGS.worker_lost_ns


def condition(type_: str, *, at: int = NOW, status: str = "True", reason: str = "", message: str = "") -> Condition:
    return Condition(type_, status, reason, message, at)


def conditions(*given: Condition) -> dict[str, Condition]:
    return {c.type: c for c in given}


def hub(*given: Condition, check: CheckState | None = CheckState.PENDING, **fields: Any) -> HubWorkload:
    """Make a hub Workload with quota reserved an hour ago and our check Pending, unless said otherwise."""
    reserved = condition("QuotaReserved", at=NOW - 60 * MINUTE)
    base = HubWorkload("ns", "wl", "hub-uid", "7", conditions(reserved, *given))
    if check is not None:
        base = replace(base, check=Check("mk", check))
    return replace(base, **fields)


ATTEMPT = f"{NOW - 60 * MINUTE}/0"
"""The attempt of `hub()`."""


def without_quota(workload: HubWorkload) -> HubWorkload:
    kept = {name: c for name, c in workload.conditions.items() if name != "QuotaReserved"}
    return replace(workload, conditions=kept)


def replica(name: str, *given: Condition, **fields: Any) -> Replica:
    return replace(Replica(ReplicaUID(f"{name}-uid"), "3", conditions(*given), has_gate=True), **fields)


def signalled(name: str, *, at: int, **fields: Any) -> Replica:
    return replica(name, signal_ns=at, **fields)


def opened(name: str, *, at: int, **fields: Any) -> Replica:
    """Make a replica whose gate is open; its signal stays True, as Kueue leaves it."""
    return replica(name, gate_open=True, gate_opened_ns=at, **{"signal_ns": at - SECOND, **fields})


def worker(name: str, copy: Replica | None = None, **fields: Any) -> WorkerView:
    """Make a worker whose place in the configuration is its number: w1 before w2."""
    return replace(WorkerView(WorkerName(name), int(name.removeprefix("w")), replica=copy), **fields)


def group(workload: HubWorkload, *workers: WorkerView) -> WorkloadView:
    return WorkloadView(workload, workers)
