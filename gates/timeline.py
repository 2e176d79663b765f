"""What happened to one Workload, in order: from the hub's object, and from the recorded decisions where there are any.

Pure. Times of a worker are brought to the hub's clock. Objects keep times in whole seconds, so what falls into the same
second is put in the order in which such things happen.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.meta import NANOSECONDS, Condition
from engine.forecasting.forecast import Verdict
from engine.forecasting.verification import Result
from gates.actions import (
    CreateReplica,
    Decision,
    OpenGate,
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    RemoveRemote,
)
from gates.forecasts import ForecastRecord
from gates.opening import candidates
from gates.records import HubRecord
from gates.settings import Settings
from gates.view import Group, Worker


class What(StrEnum):
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


_ORDER: Final = {what: place for place, what in enumerate(What)}
_HUB_CONDITIONS: Final = {"QuotaReserved": What.QUOTA, "Evicted": What.EVICTED, "Finished": What.FINISHED}
_WORKER_CONDITIONS: Final = {
    "QuotaReserved": What.RESERVED,
    "Admitted": What.ADMITTED,
    "Evicted": What.EVICTED,
    "Finished": What.FINISHED,
}
_STATES: Final = {"Ready": What.READY, "Retry": What.RETRIED, "Rejected": What.REJECTED}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    at_ns: int
    what: What
    cluster: str = ""
    """The worker where it happened; empty for the hub."""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision as the journal keeps it."""

    at_ns: int
    group: Group
    decision: Decision
    settings: Settings


def timeline(hub: HubRecord | None, decisions: Iterable[Recorded]) -> list[Event]:
    """Return what happened, oldest first; `hub` is None for a Workload that is gone."""
    told: dict[tuple[What, str, int], Event] = {}
    looks = _of_one_life(list(decisions), hub)
    found = [event for recorded in looks for event in _of_decision(recorded)]
    for event in (*found, *_victims(looks), *(_of_hub(hub) if hub is not None else ())):
        told.setdefault((event.what, event.cluster, event.at_ns // NANOSECONDS), event)  # decisions know more
    return sorted(told.values(), key=lambda event: (event.at_ns // NANOSECONDS, _ORDER[event.what], event.cluster))


def _of_one_life(decisions: list[Recorded], hub: HubRecord | None) -> list[Recorded]:
    """Leave out what happened to an earlier Workload of the same name."""
    uid = hub.uid if hub is not None else decisions[-1].group.workload.uid if decisions else ""
    return [recorded for recorded in decisions if recorded.group.workload.uid == uid]


def _victims(decisions: Iterable[Recorded]) -> list[Event]:
    """Tell of each victim once, at the look that first saw it evicted."""
    found: dict[tuple[str, int], list[str]] = {}
    told: set[tuple[str, str]] = set()
    for recorded in decisions:
        for worker in recorded.group.workers:
            for evicted in worker.witness.evicted if worker.witness is not None else ():
                if (worker.name, evicted.uid) not in told:
                    told.add((worker.name, evicted.uid))
                    victim = f"{evicted.namespace}/{evicted.name} ({evicted.reason})"
                    found.setdefault((worker.name, recorded.at_ns), []).append(victim)
    return [
        Event(at_ns, What.VICTIM, cluster, f"preempted {', '.join(victims)}")
        for (cluster, at_ns), victims in found.items()
    ]


def _of_hub(hub: HubRecord) -> list[Event]:
    found = [Event(hub.created_ns, What.CREATED, "", _of_owner(hub))] if hub.created_ns else []
    found += _transitions("", hub.conditions.values(), _HUB_CONDITIONS, 0)
    found += [Event(opening.opened_ns, What.OPENED, opening.cluster) for opening in hub.openings]
    if hub.forecast is not None:
        found += _of_forecast(hub.forecast)
    return found


def _of_owner(hub: HubRecord) -> str:
    owner = f"for {hub.owner.kind} {hub.owner.name}" if hub.owner is not None else ""
    queue = f"in LocalQueue {hub.queue}" if hub.queue else ""
    return ", ".join(part for part in (owner, queue) if part)


def _of_decision(recorded: Recorded) -> list[Event]:
    group = recorded.group
    found = _transitions("", group.workload.conditions.values(), _HUB_CONDITIONS, 0)
    for worker in group.workers:
        found += _of_worker(worker)
    for action in recorded.decision.actions:
        match action:
            case CreateReplica(cluster=cluster, gated=gated):
                gate = "gate closed" if gated else "without a gate"
                found.append(Event(recorded.at_ns, What.REPLICATED, cluster, gate))
            case RemoveRemote(cluster=cluster):
                found.append(Event(recorded.at_ns, What.REMOVED, cluster, _why_removed(group, cluster)))
            case OpenGate(cluster=cluster, opened_ns=opened_ns):
                found.append(Event(opened_ns, What.OPENED, cluster, _why_opened(recorded, cluster)))
            case RecordOpenings(forecast=record) if record is not None:
                found += _of_forecast(record)
            case RecordForecast(record=record):
                found += _of_forecast(record)
            case PatchHubStatus():
                found += _of_patch(action, recorded.at_ns)
            case _:
                pass
    return found


def _of_worker(worker: Worker) -> list[Event]:
    replica, skew = worker.replica, worker.clock_skew_ns
    if replica is None:
        return []
    found = _transitions(worker.name, replica.conditions.values(), _WORKER_CONDITIONS, skew)
    if replica.signal_ns is not None:
        found.append(Event(replica.signal_ns - skew, What.SIGNALLED, worker.name, _with_skew("asks to preempt", skew)))
    return found


def _of_patch(patch: PatchHubStatus, at_ns: int) -> list[Event]:
    found = []
    if patch.nominated:
        found.append(Event(at_ns, What.NOMINATED, "", ", ".join(patch.nominated)))
    if patch.cluster_name:
        found.append(Event(at_ns, What.WON, patch.cluster_name))
    if patch.check_state is not None and (what := _STATES.get(patch.check_state)) is not None:
        found.append(Event(at_ns, what, "", patch.check_message or ""))
    return found


def _of_forecast(record: ForecastRecord) -> list[Event]:
    forecast, cluster = record.forecast, record.cluster
    said = f"{forecast.verdict}: {forecast.message}" if forecast.message else str(forecast.verdict)
    if forecast.verdict is Verdict.PREEMPTS:
        victims = ", ".join(f"{victim.namespace}/{victim.name}" for victim in forecast.victims)
        said = f"Preempts {victims}, {forecast.cost.pods} pod(s)"
    found = [Event(record.opened_ns, What.FORECAST, cluster, said)]
    if record.result is not Result.PENDING and record.verified_ns is not None:
        result = f"{record.result}: {record.message}" if record.message else str(record.result)
        found.append(Event(record.verified_ns, What.VERIFIED, cluster, f"the forecast was {result}"))
    return found


def _transitions(cluster: str, conditions: Iterable[Condition], known: dict[str, What], skew_ns: int) -> list[Event]:
    return [
        Event(condition.last_transition_ns - skew_ns, known[condition.type], cluster, _said(condition))
        for condition in conditions
        if condition.type in known and condition.is_true
    ]


def _said(condition: Condition) -> str:
    return condition.message or condition.reason


def _why_opened(recorded: Recorded, cluster: str) -> str:
    """Say why it was this one: who else asked, and whose clock was corrected."""
    asking = candidates(recorded.group, recorded.at_ns)
    chosen = next((worker for worker in asking if worker.name == cluster), None)
    others = [worker.name for worker in asking if worker.name != cluster]
    why = f"{recorded.settings.policy}; "
    why += f"{', '.join(others)} asked too" if others else "nobody else asked"
    return _with_skew(why, chosen.clock_skew_ns if chosen is not None else 0)


def _why_removed(group: Group, cluster: str) -> str:
    workload = group.workload
    if workload.deleted:
        return "the Workload was deleted"
    if workload.is_true("Finished"):
        return "the Workload is over"
    if not workload.is_true("QuotaReserved"):
        return "the hub took its quota back"
    winner = workload.cluster_name or next(
        (w.name for w in group.holders if w.replica is not None and w.replica.is_true("Admitted")), ""
    )
    return f"{winner} won" if winner and winner != cluster else ""


def _with_skew(text: str, skew_ns: int) -> str:
    return f"{text} (its clock is {skew_ns / NANOSECONDS:+.1f} s off)" if skew_ns else text
