"""What a decision asks this process to remember. Nothing is written to a cluster by it, and it happens at once.

A snapshot only reads; whatever it finds that is not remembered yet it reports as news, and the decision about the
Workload says what becomes of it.
"""

from dataclasses import dataclass
from enum import StrEnum

from config.api.identifiers import WorkerName


class WorkerNews(StrEnum):
    """What a snapshot found about a worker that this process has not noted yet."""

    GATE_EVIDENCE = "gate-evidence"
    """The replica shows something about preemption gates."""
    GATE_TRIAL_OPEN = "gate-trial-open"
    """The worker was found to ignore gates, and no Workload is trying yet whether it still does."""
    LOST = "lost"
    """The worker cannot be reached."""
    UNLISTED = "unlisted"
    """The Workload's check no longer leads to the worker."""
    LISTED_AGAIN = "listed-again"
    """The Workload's check leads to the worker again."""
    FORECAST_REQUESTED = "forecast-requested"
    """A forecast is missing because it takes long, or because the model of the worker is behind."""
    PROMISE_OFFERED = "promise-offered"
    """The forecast says which quota the Workload would take there."""
    PROMISE_HELD = "promise-held"
    """That quota is held for the Workload."""
    FORECAST_BEGUN = "forecast-begun"
    """A gate was opened on a forecast that is not followed yet."""
    FORECAST_ENDED = "forecast-ended"
    """A forecast is followed whose outcome does not matter any longer."""
    POD_FORECAST_BEGUN = "pod-forecast-begun"
    """The same as `FORECAST_BEGUN`, about the pods."""
    POD_FORECAST_ENDED = "pod-forecast-ended"
    """The same as `FORECAST_ENDED`, about the pods."""


@dataclass(frozen=True, slots=True)
class NoteGateEvidence:
    """Note what the replica shows about the worker's support of preemption gates."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class ClaimGateTrial:
    """Let this Workload, and no other, find out whether the worker still ignores gates."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class NoteAbsence:
    """Note that the worker is missing from now on."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class NoteUnlisted:
    """Note that the Workload's check does not lead to the worker from now on."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class NoteListed:
    """Note that the Workload's check leads to the worker."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class RequestForecast:
    """Have a missing forecast made in the background, or wait for the model to catch up; the Workload is woken then."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class HoldPromise:
    """Hold the quota that the Workload will take on this worker, and on no other, until its replica is there."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class ReleasePromise:
    """Hold no quota on this worker any longer."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class FollowForecast:
    """Follow what the worker does after a gate was opened on a forecast."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class UnfollowForecast:
    """Follow that no longer."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class FollowPodForecast:
    """Follow what becomes of the Workload's pods after a gate was opened on a forecast of them."""

    cluster: WorkerName


@dataclass(frozen=True, slots=True)
class UnfollowPodForecast:
    """Follow that no longer."""

    cluster: WorkerName


LocalAction = (
    NoteGateEvidence
    | ClaimGateTrial
    | NoteAbsence
    | NoteUnlisted
    | NoteListed
    | RequestForecast
    | HoldPromise
    | ReleasePromise
    | FollowForecast
    | UnfollowForecast
    | FollowPodForecast
    | UnfollowPodForecast
)
