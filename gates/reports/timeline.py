"""What happened to one Workload, in order: from the hub's object, and from the recorded decisions where there are any.

Pure. Times of a worker are brought to the hub's clock. Objects keep times in whole seconds, so what falls into the same
second is put in the order in which such things happen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.meta import NANOSECONDS, Condition
from engine.forecasting.forecast import ForecastVerdict
from engine.forecasting.verification import ForecastResult
from gates.decision.opening import candidates
from gates.model.actions import (
    CreateReplica,
    Decision,
    OpenGate,
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    RemoveRemote,
)
from gates.model.forecasts import ForecastRecord
from gates.model.settings import Settings
from gates.model.view import WorkerView, WorkloadView
from gates.wire.records import HubRecord


class TimelineEventKind(StrEnum):
    """What happened; in the order in which such things happen in one second."""

    CREATED = "Created"
    QUOTA = "QuotaReserved"
    NOMINATED = "Nominated"
    REPLICATED = "Replicated"
    SIGNALLED = "Signalled"
    FORECAST = "Forecast"
    OPENED = "GateOpened"
    VICTIM = "Victim"
    RESERVED = "ReservedOnWorker"
    ADMITTED = "AdmittedOnWorker"
    VERIFIED = "Verified"
    WON = "Won"
    REMOVED = "Removed"
    READY = "Ready"
    RETRIED = "Retried"
    REJECTED = "Rejected"
    EVICTED = "Evicted"
    FINISHED = "Finished"


_ORDER: Final = {what: place for place, what in enumerate(TimelineEventKind)}
_HUB_CONDITIONS: Final = {
    "QuotaReserved": TimelineEventKind.QUOTA,
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
    cluster: str = ""
    """The worker where it happened; empty for the hub."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision as the journal keeps it."""

    at_ns: int
    group: WorkloadView
    decision: Decision
    settings: Settings


class Chronicle:
    """Puts together what happened from decisions that come newest first; of each it keeps only what is told."""

    def __init__(self, uid: str = "") -> None:
        """Cover the Workload with this UID; without it, the one that the newest decision is about."""
        self.uid = uid
        self._told: dict[tuple[TimelineEventKind, str, int], TimelineEvent] = {}
        self._victims: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, recorded: Recorded) -> None:
        """Take the next older decision; one about an earlier Workload of the same name is left out."""
        uid = recorded.group.workload.uid
        self.uid = self.uid or uid
        if uid != self.uid:
            return
        for event in reversed(_of_decision(recorded)):
            self._told[event.what, event.cluster, event.at_ns // NANOSECONDS] = event
        for worker in recorded.group.workers:
            for evicted in worker.witness.evicted if worker.witness is not None else ():
                victim = f"{evicted.namespace}/{evicted.name} ({evicted.reason})"
                self._victims[worker.name, evicted.uid] = (recorded.at_ns, victim)

    def events(self, hub: HubRecord | None) -> list[TimelineEvent]:
        """Return what happened, oldest first; decisions know more than the hub's object, None if that is gone."""
        told = dict(self._told)
        for event in (*self._victim_events(), *(_of_hub(hub) if hub is not None else ())):
            told.setdefault((event.what, event.cluster, event.at_ns // NANOSECONDS), event)
        return sorted(told.values(), key=lambda event: (event.at_ns // NANOSECONDS, _ORDER[event.what], event.cluster))

    def _victim_events(self) -> list[TimelineEvent]:
        """Report each victim once, at the decision that first saw it evicted."""
        found: dict[tuple[str, int], list[str]] = {}
        for (cluster, _), (at_ns, victim) in self._victims.items():
            found.setdefault((cluster, at_ns), []).append(victim)
        return [
            TimelineEvent(at_ns, TimelineEventKind.VICTIM, cluster, f"preempted {', '.join(victims)}")
            for (cluster, at_ns), victims in sorted(found.items(), key=lambda entry: entry[0][1])
        ]


def timeline(hub: HubRecord | None, decisions: Iterable[Recorded]) -> list[TimelineEvent]:
    """Return what happened, oldest first, from decisions that come newest first; `hub` is None for one that is gone."""
    chronicle = Chronicle(hub.uid if hub is not None else "")
    for recorded in decisions:
        chronicle.add(recorded)
    return chronicle.events(hub)


def _of_hub(hub: HubRecord) -> list[TimelineEvent]:
    found = [TimelineEvent(hub.created_ns, TimelineEventKind.CREATED, "", _of_owner(hub))] if hub.created_ns else []
    found += _transitions("", hub.conditions.values(), _HUB_CONDITIONS, 0)
    found += [TimelineEvent(opening.opened_ns, TimelineEventKind.OPENED, opening.cluster) for opening in hub.openings]
    if hub.forecast is not None:
        found += _of_forecast(hub.forecast)
    return found


def _of_owner(hub: HubRecord) -> str:
    owner = f"for {hub.owner.kind} {hub.owner.name}" if hub.owner is not None else ""
    queue = f"in LocalQueue {hub.queue}" if hub.queue else ""
    return ", ".join(part for part in (owner, queue) if part)


def _of_decision(recorded: Recorded) -> list[TimelineEvent]:
    group = recorded.group
    found = _transitions("", group.workload.conditions.values(), _HUB_CONDITIONS, 0)
    for worker in group.workers:
        found += _of_worker(worker)
    for action in recorded.decision.actions:
        match action:
            case CreateReplica(cluster=cluster, gated=gated):
                gate = "gate closed" if gated else "without a gate"
                found.append(TimelineEvent(recorded.at_ns, TimelineEventKind.REPLICATED, cluster, gate))
            case RemoveRemote(cluster=cluster):
                found.append(
                    TimelineEvent(recorded.at_ns, TimelineEventKind.REMOVED, cluster, _why_removed(group, cluster))
                )
            case OpenGate(cluster=cluster, opened_ns=opened_ns):
                found.append(
                    TimelineEvent(opened_ns, TimelineEventKind.OPENED, cluster, _why_opened(recorded, cluster))
                )
            case RecordOpenings(forecast=record) if record is not None:
                found += _of_forecast(record)
            case RecordForecast(record=record):
                found += _of_forecast(record)
            case PatchHubStatus():
                found += _of_patch(action, recorded.at_ns)
            case _:  # the other actions are no events of a timeline
                pass
    return found


def _of_worker(worker: WorkerView) -> list[TimelineEvent]:
    replica, skew = worker.replica, worker.clock_skew_ns
    if replica is None:
        return []
    found = _transitions(worker.name, replica.conditions.values(), _WORKER_CONDITIONS, skew)
    if replica.signal_ns is not None:
        found.append(
            TimelineEvent(
                replica.signal_ns - skew, TimelineEventKind.SIGNALLED, worker.name, _with_skew("asks to preempt", skew)
            )
        )
    return found


def _of_patch(patch: PatchHubStatus, at_ns: int) -> list[TimelineEvent]:
    found = []
    if patch.nominated:
        found.append(TimelineEvent(at_ns, TimelineEventKind.NOMINATED, "", ", ".join(patch.nominated)))
    if patch.cluster_name:
        found.append(TimelineEvent(at_ns, TimelineEventKind.WON, patch.cluster_name))
    if patch.check_state is not None and (what := _STATES.get(patch.check_state)) is not None:
        found.append(TimelineEvent(at_ns, what, "", patch.check_message or ""))
    return found


def _of_forecast(record: ForecastRecord) -> list[TimelineEvent]:
    forecast, cluster = record.forecast, record.cluster
    said = f"{forecast.verdict}: {forecast.message}" if forecast.message else str(forecast.verdict)
    if forecast.verdict is ForecastVerdict.PREEMPTS:
        victims = ", ".join(f"{victim.namespace}/{victim.name}" for victim in forecast.victims)
        said = f"Preempts {victims}, {forecast.cost.pods} pod(s)"
    found = [TimelineEvent(record.opened_ns, TimelineEventKind.FORECAST, cluster, said)]
    if record.result is not ForecastResult.PENDING and record.verified_ns is not None:
        result = f"{record.result}: {record.message}" if record.message else str(record.result)
        found.append(
            TimelineEvent(record.verified_ns, TimelineEventKind.VERIFIED, cluster, f"the forecast was {result}")
        )
    return found


def _transitions(
    cluster: str, conditions: Iterable[Condition], known: dict[str, TimelineEventKind], skew_ns: int
) -> list[TimelineEvent]:
    return [
        TimelineEvent(condition.last_transition_ns - skew_ns, known[condition.type], cluster, _said(condition))
        for condition in conditions
        if condition.type in known and condition.is_true
    ]


def _said(condition: Condition) -> str:
    return condition.message or condition.reason


def _why_opened(recorded: Recorded, cluster: str) -> str:
    """Say why it was this one: which others asked, and whose clock was corrected."""
    asking = candidates(recorded.group, recorded.at_ns)
    chosen = next((worker for worker in asking if worker.name == cluster), None)
    others = [worker.name for worker in asking if worker.name != cluster]
    why = f"{recorded.settings.policy}; "
    why += f"{', '.join(others)} asked too" if others else "no other worker asked"
    return _with_skew(why, chosen.clock_skew_ns if chosen is not None else 0)


def _why_removed(view: WorkloadView, cluster: str) -> str:
    workload = view.workload
    if workload.deleted:
        return "the Workload was deleted"
    if workload.is_true("Finished"):
        return "the Workload is over"
    if not workload.is_true("QuotaReserved"):
        return "the hub took its quota back"
    winner = workload.cluster_name or next(
        (w.name for w in view.holders if w.replica is not None and w.replica.is_true("Admitted")), ""
    )
    return f"{winner} won" if winner and winner != cluster else ""


def _with_skew(text: str, skew_ns: int) -> str:
    return f"{text} (its clock is {skew_ns / NANOSECONDS:+.1f} s off)" if skew_ns else text
