"""What the hub's object and each recorded decision say happened to a Workload; times are on the hub's clock.

An event has fields for programs, and a sentence for people.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import NANOSECONDS, Condition, Obj, format_time
from engine.forecasting.forecast import ForecastVerdict
from engine.forecasting.verification import Evicted, ForecastResult
from gates.decision.ledger import known_openings
from gates.decision.opening import candidates
from gates.decision.windows import remaining
from gates.model.actions import (
    Action,
    CreateReplica,
    Decision,
    OpenGate,
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    RemoveRemote,
)
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import CheckState
from gates.model.settings import Settings
from gates.model.view import WorkerView, WorkloadView
from gates.wire.records import HubRecord


class TimelineEventKind(StrEnum):
    """What happened; in the order in which such things happen at one moment."""

    CREATED = "Created"
    QUOTA = "QuotaReserved"
    NOMINATED = "Nominated"
    REPLICATED = "Replicated"
    SIGNALLED = "Signalled"
    WINDOW_ENDED = "WindowEnded"
    FORECAST = "Forecast"
    OPENED = "GateOpened"
    VICTIM = "Victim"
    RESERVED = "ReservedOnWorker"
    ADMITTED = "AdmittedOnWorker"
    VERIFIED = "Verified"
    WON = "Won"
    REMOVED = "Removed"
    READY = "Ready"
    ADMITTED_ON_HUB = "Admitted"
    EVICTED = "Evicted"
    FINISHED = "Finished"
    RETRIED = "Retried"
    REJECTED = "Rejected"


_HUB_CONDITIONS: Final = {
    "QuotaReserved": TimelineEventKind.QUOTA,
    "Admitted": TimelineEventKind.ADMITTED_ON_HUB,
    "Evicted": TimelineEventKind.EVICTED,
    "Finished": TimelineEventKind.FINISHED,
}
_WORKER_CONDITIONS: Final = {
    "QuotaReserved": TimelineEventKind.RESERVED,
    "Admitted": TimelineEventKind.ADMITTED,
    "Evicted": TimelineEventKind.EVICTED,
    "Finished": TimelineEventKind.FINISHED,
}
_STATES: Final = {
    "Ready": TimelineEventKind.READY,
    "Retry": TimelineEventKind.RETRIED,
    "Rejected": TimelineEventKind.REJECTED,
}


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One thing that happened."""

    at_ns: int
    what: TimelineEventKind
    cluster: WorkerName = NO_WORKER
    """The worker where it happened; empty for the hub."""
    message: str = ""
    details: Obj = field(default_factory=dict)
    """The facts of the message, for programs."""
    stamp: str = ""
    """The time as an object states it, in whole seconds: it happened within the second that begins then."""
    subject: str = ""
    """Tells apart what would be the same event otherwise, such as removals of two replicas."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Return what is equal for two accounts of one event."""
        return self.what, self.cluster, self.subject or self.stamp or str(self.at_ns // NANOSECONDS)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision as the journal keeps it."""

    at_ns: int
    group: WorkloadView
    decision: Decision
    settings: Settings


def events_of_hub(hub: HubRecord) -> list[TimelineEvent]:
    """Return what the hub's object itself says happened."""
    found = []
    if hub.created_ns:
        found.append(
            TimelineEvent(
                hub.created_ns, TimelineEventKind.CREATED, NO_WORKER, _of_owner(hub), stamp=format_time(hub.created_ns)
            )
        )
    found += _transitions(NO_WORKER, hub.conditions.values(), _HUB_CONDITIONS, 0)
    found += [TimelineEvent(opening.opened_ns, TimelineEventKind.OPENED, opening.cluster) for opening in hub.openings]
    if hub.forecast is not None:
        found += _of_forecast(hub.forecast)
    return found


def observed_events(recorded: Recorded) -> list[TimelineEvent]:
    """Return what a decision found to have happened before it."""
    view = recorded.group
    found = _transitions(NO_WORKER, view.workload.conditions.values(), _HUB_CONDITIONS, 0)
    for worker in view.workers:
        found += _of_worker(worker)
    return found + _window_ends(recorded)


def decided_events(recorded: Recorded) -> list[TimelineEvent]:
    """Return what a decision does."""
    return [event for action in recorded.decision.actions for event in action_events(recorded, action)]


def victim_event(at_ns: int, cluster: WorkerName, victims: Iterable[Evicted]) -> TimelineEvent:
    """Return that workloads were preempted on a worker."""
    listed = [{"workload": f"{each.namespace}/{each.name}", "reason": each.reason} for each in victims]
    told = ", ".join(f"{each['workload']} ({each['reason']})" for each in listed)
    details: Obj = {"victims": listed}
    return TimelineEvent(at_ns, TimelineEventKind.VICTIM, cluster, f"preempted {told}", details, subject=str(at_ns))


def _of_owner(hub: HubRecord) -> str:
    owner = f"for {hub.owner.kind} {hub.owner.name}" if hub.owner is not None else ""
    queue = f"in LocalQueue {hub.queue}" if hub.queue else ""
    return ", ".join(part for part in (owner, queue) if part)


def action_events(recorded: Recorded, action: Action) -> list[TimelineEvent]:
    """Return what one action of a decision makes happen; empty for actions that a timeline does not show."""
    at_ns = recorded.at_ns
    match action:
        case CreateReplica(cluster=cluster, gated=gated):
            gate = "gate closed" if gated else "without a gate"
            return [TimelineEvent(at_ns, TimelineEventKind.REPLICATED, cluster, gate, {"gated": gated})]
        case RemoveRemote(cluster=cluster, replica_uid=uid):
            told, details = _why_removed(recorded.group, cluster)
            return [TimelineEvent(at_ns, TimelineEventKind.REMOVED, cluster, told, details, subject=uid or "")]
        case OpenGate(cluster=cluster, opened_ns=opened_ns):
            return [TimelineEvent(opened_ns, TimelineEventKind.OPENED, cluster, *_why_opened(recorded, cluster))]
        case RecordOpenings(forecast=record) if record is not None:
            return _of_forecast(record)
        case RecordForecast(record=record):
            return _of_forecast(record)
        case PatchHubStatus():
            return _of_patch(action, at_ns, recorded.group.workload.attempt)
        case _:  # the other actions are no events of a timeline
            return []


def _of_worker(worker: WorkerView) -> list[TimelineEvent]:
    replica, skew = worker.replica, worker.clock_skew_ns
    if replica is None:
        return []
    found = _transitions(worker.name, replica.conditions.values(), _WORKER_CONDITIONS, skew)
    if replica.signal_ns is not None:
        told, details = _with_skew("asks to preempt", skew), {"clockSkewSeconds": round(skew / NANOSECONDS, 3)}
        at_ns, stamp = replica.signal_ns - skew, format_time(replica.signal_ns)
        found.append(TimelineEvent(at_ns, TimelineEventKind.SIGNALLED, worker.name, told, details, stamp))
    return found


def _window_ends(recorded: Recorded) -> list[TimelineEvent]:
    """Return the windows that are over although no worker has admitted the Workload."""
    view, settings = recorded.group, recorded.settings
    check = view.workload.check
    has_quota = any(worker.replica is not None and worker.replica.is_true("QuotaReserved") for worker in view.holders)
    if check is None or check.state is not CheckState.PENDING or has_quota:
        return []
    over = (o for o in known_openings(view) if not remaining(o, view, recorded.at_ns, settings))
    return [
        TimelineEvent(
            min(opening.opened_ns + settings.timeout_ns, recorded.at_ns),
            TimelineEventKind.WINDOW_ENDED,
            opening.cluster,
            "without an admission",
            subject=str(opening.opened_ns // NANOSECONDS),
        )
        for opening in over
    ]


def _of_patch(patch: PatchHubStatus, at_ns: int, attempt: str) -> list[TimelineEvent]:
    """Return what a status patch makes happen; one that was written again after a conflict happened once."""
    found = []
    if patch.nominated:
        names = list(patch.nominated)
        told, subject = ", ".join(names), f"{attempt} {names}"
        details: Obj = {"workers": names}
        found.append(TimelineEvent(at_ns, TimelineEventKind.NOMINATED, NO_WORKER, told, details, subject=subject))
    if patch.cluster_name:
        found.append(TimelineEvent(at_ns, TimelineEventKind.WON, patch.cluster_name, subject=attempt))
    if patch.check_state is not None and (what := _STATES.get(patch.check_state)) is not None:
        told = patch.check_message or ""
        found.append(TimelineEvent(at_ns, what, NO_WORKER, told, subject=f"{attempt} {told}"))
    return found


def _of_forecast(record: ForecastRecord) -> list[TimelineEvent]:
    forecast, cluster = record.forecast, record.cluster
    victims = [f"{victim.namespace}/{victim.name}" for victim in forecast.victims]
    said = f"{forecast.verdict}: {forecast.message}" if forecast.message else str(forecast.verdict)
    if forecast.verdict is ForecastVerdict.PREEMPTS:
        said = f"Preempts {', '.join(victims)}, {forecast.cost.pods} pod(s)"
    details: Obj = {"verdict": str(forecast.verdict), "victims": victims, "pods": forecast.cost.pods}
    found = [TimelineEvent(record.opened_ns, TimelineEventKind.FORECAST, cluster, said, details)]
    if record.result is not ForecastResult.PENDING and record.verified_ns is not None:
        result = f"{record.result}: {record.message}" if record.message else str(record.result)
        told, details = f"the forecast was {result}", {"result": str(record.result)}
        found.append(TimelineEvent(record.verified_ns, TimelineEventKind.VERIFIED, cluster, told, details))
    return found


def _transitions(
    cluster: WorkerName, conditions: Iterable[Condition], known: dict[str, TimelineEventKind], skew_ns: int
) -> list[TimelineEvent]:
    return [
        TimelineEvent(
            condition.last_transition_ns - skew_ns,
            known[condition.type],
            cluster,
            condition.message or condition.reason,
            {"reason": condition.reason},
            format_time(condition.last_transition_ns),
        )
        for condition in conditions
        if condition.type in known and condition.is_true
    ]


def _why_opened(recorded: Recorded, cluster: WorkerName) -> tuple[str, Obj]:
    """Say why it was this one: which others asked, and whose clock was corrected."""
    asking = candidates(recorded.group, recorded.at_ns)
    chosen = next((worker for worker in asking if worker.name == cluster), None)
    others = [worker.name for worker in asking if worker.name != cluster]
    why = f"{recorded.settings.policy}; "
    why += f"{', '.join(others)} asked too" if others else "no other worker asked"
    told = _with_skew(why, chosen.clock_skew_ns if chosen is not None else 0)
    return told, {"policy": str(recorded.settings.policy), "askedToo": others}


def _why_removed(view: WorkloadView, cluster: WorkerName) -> tuple[str, Obj]:
    workload = view.workload
    if workload.deleted:
        return "the Workload was deleted", {"reason": "WorkloadDeleted"}
    if workload.is_true("Finished"):
        return "the Workload is finished", {"reason": "WorkloadFinished"}
    if not workload.is_true("QuotaReserved"):
        return "the hub took its quota back", {"reason": "QuotaReleased"}
    winner = workload.cluster_name or next(
        (w.name for w in view.holders if w.replica is not None and w.replica.is_true("Admitted")), ""
    )
    if winner and winner != cluster:
        return f"{winner} won", {"reason": "Lost", "winner": winner}
    return "", {}


def _with_skew(text: str, skew_ns: int) -> str:
    return f"{text} (its clock is {skew_ns / NANOSECONDS:+.1f}s off)" if skew_ns else text
