"""Which news of a snapshot this process is to remember, whatever else is decided about the Workload."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from config.api.identifiers import WorkerName
from gates.model.actions import Decision, PatchHubStatus
from gates.model.local_actions import (
    ClaimGateTrial,
    FollowForecast,
    FollowPodForecast,
    HoldPromise,
    LocalAction,
    NoteAbsence,
    NoteGateEvidence,
    NoteListed,
    NoteUnlisted,
    ReleasePromise,
    RequestForecast,
    UnfollowForecast,
    UnfollowPodForecast,
    WorkerNews,
)
from gates.model.settings import Dispatcher, Settings
from gates.model.view import WorkloadView

_ACTIONS: Final[Mapping[WorkerNews, Callable[[WorkerName], LocalAction]]] = {
    WorkerNews.GATE_EVIDENCE: NoteGateEvidence,
    WorkerNews.GATE_TRIAL_OPEN: ClaimGateTrial,
    WorkerNews.LOST: NoteAbsence,
    WorkerNews.UNLISTED: NoteUnlisted,
    WorkerNews.LISTED_AGAIN: NoteListed,
    WorkerNews.FORECAST_REQUESTED: RequestForecast,
    WorkerNews.FORECAST_BEGUN: FollowForecast,
    WorkerNews.FORECAST_ENDED: UnfollowForecast,
    WorkerNews.POD_FORECAST_BEGUN: FollowPodForecast,
    WorkerNews.POD_FORECAST_ENDED: UnfollowPodForecast,
}
"""What follows from news whatever is decided; promises depend on the worker that is chosen."""


def to_remember(view: WorkloadView) -> tuple[LocalAction, ...]:
    """Return what to remember about the workers of a Workload."""
    return tuple(
        _ACTIONS[news](worker.name) for worker in view.workers for news in sorted(worker.news) if news in _ACTIONS
    )


def promises(decision: Decision, view: WorkloadView, settings: Settings) -> Iterator[LocalAction]:
    """Hold quota only on the one worker that the Workload goes to."""
    if settings.dispatcher is not Dispatcher.FORECAST_FIRST:
        return
    nominated = next((a.nominated for a in decision.actions if isinstance(a, PatchHubStatus) and a.nominated), ())
    chosen = nominated or view.workload.nominated
    for worker in view.workers:
        if chosen == (worker.name,) and WorkerNews.PROMISE_OFFERED in worker.news:
            yield HoldPromise(worker.name)
        elif chosen != (worker.name,) and WorkerNews.PROMISE_HELD in worker.news:
            yield ReleasePromise(worker.name)
