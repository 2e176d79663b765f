"""What a decision has this process remember of the news in a snapshot."""

from dataclasses import replace

import pytest

from gates.decision.decide import decide
from gates.model.local_actions import (
    ClaimGateTrial,
    HoldPromise,
    LocalAction,
    NoteAbsence,
    NoteListed,
    ReleasePromise,
    RequestForecast,
    WorkerNews,
)
from gates.model.settings import Dispatcher
from gates.model.view import Reach, WorkerView, WorkloadView
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW, SETTINGS, group, hub, worker

FORECAST_FIRST = replace(SETTINGS, dispatcher=Dispatcher.FORECAST_FIRST)


def having(each: WorkerView, *news: WorkerNews) -> WorkerView:
    return replace(each, news=frozenset(news))


CASES: dict[str, tuple[WorkloadView, tuple[LocalAction, ...]]] = {
    "no news": (group(hub(), worker("w1")), ()),
    "a worker is lost": (group(hub(), having(worker("w1", reach=Reach.LOST), WorkerNews.LOST)), (NoteAbsence(W1),)),
    "listed again": (group(hub(), having(worker("w1"), WorkerNews.LISTED_AGAIN)), (NoteListed(W1),)),
    "several, in one order": (
        group(hub(), having(worker("w1"), WorkerNews.GATE_TRIAL_OPEN, WorkerNews.FORECAST_REQUESTED)),
        (RequestForecast(W1), ClaimGateTrial(W1)),
    ),
    "quota is held where the Workload goes": (
        group(hub(nominated=("w1",)), having(worker("w1"), WorkerNews.PROMISE_OFFERED)),
        (HoldPromise(W1),),
    ),
    "and nowhere if it goes to several": (
        group(
            hub(nominated=("w1",)),
            having(worker("w1"), WorkerNews.PROMISE_HELD),
            having(worker("w2"), WorkerNews.PROMISE_HELD, WorkerNews.PROMISE_OFFERED),
        ),
        (ReleasePromise(W1), ReleasePromise(W2)),
    ),
}


@pytest.mark.parametrize(("view", "want"), CASES.values(), ids=CASES)
def test_news_become_local_actions(view: WorkloadView, want: tuple[LocalAction, ...]) -> None:
    assert decide(view, NOW, FORECAST_FIRST, {}).local_actions == want


def test_quota_is_promised_to_forecast_first_alone() -> None:
    view = group(hub(nominated=("w1",)), having(worker("w1"), WorkerNews.PROMISE_OFFERED))
    assert decide(view, NOW, SETTINGS, {}).local_actions == ()
