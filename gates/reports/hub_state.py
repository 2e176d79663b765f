"""Where a Workload is, by the hub's own object: what there is to say before anything about workers.

Pure. The daemon, and commands that read the hub without it, use the same function, so both give the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.meta import Condition, Obj, format_time
from gates.model.hub_workload import CheckState
from gates.reports.remedies import after_rejection, for_queue, reactivation, smaller_or_more_quota
from gates.wire.records import CheckEntry, HubRecord


class HubReason(StrEnum):
    """Why a Workload is where it is. The first that holds, in this order, is reported."""

    FINISHED = "Finished"
    TERMINATING = "Terminating"
    CHECK_REJECTED = "CheckRejected"
    DEACTIVATED = "Deactivated"
    BACK_OFF = "BackOff"
    """Evicted, and kept out of the queue until a time."""
    QUEUE_NOT_READY = "QueueNotReady"
    """Its LocalQueue or ClusterQueue is missing, stopped or misconfigured."""
    EXCEEDS_QUOTA = "ExceedsQuota"
    """It asks for more than the hub's ClusterQueue could ever give."""
    WAITS_FOR_QUOTA = "WaitsForQuota"
    EVICTED = "Evicted"
    """The hub is taking its quota back."""
    NO_CHECK = "NoCheck"
    """It has no MultiKueue admission check."""
    WAITS_FOR_CHECKS = "WaitsForChecks"
    """Another admission check is not Ready, and no worker is nominated yet."""
    CHECK_RETRY = "CheckRetry"
    CHECK_READY = "CheckReady"
    ON_WORKERS = "OnWorkers"
    """The hub's part is done: workers are tried."""


_PHASES: Final = {
    HubReason.FINISHED: "Finished",
    HubReason.TERMINATING: "Terminating",
    HubReason.CHECK_REJECTED: "Rejected",
    HubReason.DEACTIVATED: "Deactivated",
    HubReason.BACK_OFF: "BackOff",
    HubReason.QUEUE_NOT_READY: "Inadmissible",
    HubReason.EXCEEDS_QUOTA: "Inadmissible",
    HubReason.WAITS_FOR_QUOTA: "Queued",
    HubReason.EVICTED: "Evicted",
    HubReason.NO_CHECK: "NoCheck",
    HubReason.WAITS_FOR_CHECKS: "Pending",
    HubReason.CHECK_RETRY: "Retry",
    HubReason.CHECK_READY: "Admitted",
    HubReason.ON_WORKERS: "Pending",
}
_UNUSABLE_QUEUE: Final = frozenset({"Inadmissible", "Misconfigured", "Suspended"})
"""Kueue's reasons of QuotaReserved=False for a queue that admits nothing."""


@dataclass(frozen=True, slots=True)
class HubState:
    """Where a Workload is, since when, and what has to be done if nothing happens by itself."""

    reason: HubReason
    message: str = ""
    """What Kueue, or the controller of the check, says about it."""
    since_ns: int | None = None
    check: str = ""
    """The admission check that decided."""
    deactivated_by: str = ""
    requeue_at_ns: int | None = None
    remedy: str = ""

    @property
    def phase(self) -> str:
        """Return it in one word, for lists."""
        return _PHASES[self.reason]

    @property
    def concerns_workers(self) -> bool:
        """Tell whether it matters what workers do or would do: not if they will never get it as it is."""
        return not self.remedy and self.reason not in (HubReason.FINISHED, HubReason.TERMINATING, HubReason.NO_CHECK)

    def document(self) -> Obj:
        """Return the state as documents show it."""
        return {
            "reason": str(self.reason),
            "message": self.message,
            "since": "" if self.since_ns is None else format_time(self.since_ns),
            "check": self.check,
            "deactivatedBy": self.deactivated_by,
            "requeueAt": "" if self.requeue_at_ns is None else format_time(self.requeue_at_ns),
            "remedy": self.remedy,
        }


def hub_state(record: HubRecord, entry: CheckEntry | None) -> HubState:
    """Return where a Workload is; `entry` is its MultiKueue admission check."""
    for row in _ROWS:
        found = row(record, entry)
        if found is not None:
            return found
    return _by_check(entry)


def _finished(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    return _by_condition(HubReason.FINISHED, record, "Finished") if record.is_true("Finished") else None


def _terminating(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    return HubState(HubReason.TERMINATING) if record.deleted else None


def _rejected(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    found = next((each for each in record.checks if each.state is CheckState.REJECTED), None)
    if found is None:
        return None
    remedy = after_rejection(record, found.message)
    return HubState(HubReason.CHECK_REJECTED, found.message, check=found.name, remedy=remedy)


def _deactivated(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    if record.eligibility.active:
        return None
    evicted = record.conditions.get("Evicted")
    is_told = evicted is not None and evicted.reason.startswith("Deactivated")
    return HubState(
        HubReason.DEACTIVATED,
        evicted.message if evicted is not None and is_told else "",
        evicted.last_transition_ns if evicted is not None and is_told else None,
        deactivated_by=record.eligibility.deactivated_by,
        remedy=reactivation(record),
    )


def _without_quota(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    if record.is_true("QuotaReserved"):
        return None
    if (requeue_at_ns := record.eligibility.requeue_at_ns) is not None:
        told = _by_condition(HubReason.BACK_OFF, record, "Evicted")
        return HubState(HubReason.BACK_OFF, told.message, told.since_ns, requeue_at_ns=requeue_at_ns)
    reserved = record.conditions.get("QuotaReserved")
    reason, remedy = _lack(record, reserved)
    told = _by_condition(reason, record, "QuotaReserved")
    return HubState(reason, told.message, told.since_ns, remedy=remedy)


def _lack(record: HubRecord, reserved: Condition | None) -> tuple[HubReason, str]:
    """Tell a Workload that only has to wait from one that waits in vain; Kueue has an own reason for some."""
    if reserved is None:
        return HubReason.WAITS_FOR_QUOTA, ""
    if reserved.reason == "ExceedsMaxQuota" or "> maximum capacity (" in reserved.message:
        return HubReason.EXCEEDS_QUOTA, smaller_or_more_quota(record)
    if reserved.reason in _UNUSABLE_QUEUE:
        return HubReason.QUEUE_NOT_READY, for_queue(record, reserved.message)
    return HubReason.WAITS_FOR_QUOTA, ""


def _evicted(record: HubRecord, _entry: CheckEntry | None) -> HubState | None:
    return _by_condition(HubReason.EVICTED, record, "Evicted") if record.is_true("Evicted") else None


def _waits_for_checks(record: HubRecord, entry: CheckEntry | None) -> HubState | None:
    if entry is None or entry.state is not CheckState.PENDING or record.nominated:
        return None
    others = [each for each in record.checks if each.name != entry.name and each.state is not CheckState.READY]
    if not others:
        return None
    message = "; ".join(f"{each.name} is {each.state}{each.message and f': {each.message}'}" for each in others)
    return HubState(HubReason.WAITS_FOR_CHECKS, message, check=others[0].name)


def _by_check(entry: CheckEntry | None) -> HubState:
    if entry is None:
        return HubState(HubReason.NO_CHECK)
    reasons = {CheckState.RETRY: HubReason.CHECK_RETRY, CheckState.READY: HubReason.CHECK_READY}
    return HubState(reasons.get(entry.state, HubReason.ON_WORKERS), entry.message, check=entry.name)


def _by_condition(reason: HubReason, record: HubRecord, condition: str) -> HubState:
    found = record.conditions.get(condition)
    return HubState(reason) if found is None else HubState(reason, found.message, found.last_transition_ns)


_ROWS: Final[tuple[Callable[[HubRecord, CheckEntry | None], HubState | None], ...]] = (
    _finished,
    _terminating,
    _rejected,
    _deactivated,
    _without_quota,
    _evicted,
    _waits_for_checks,
)
