"""Who was preempted for whom, put together from decisions that come newest first."""

from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from engine.forecasting.forecast import Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.model.actions import Decision, RecordForecast, Step
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.rules import Rule
from gates.model.settings import SECOND, Settings
from gates.reports.recording import dumps
from gates.reports.timeline_events import Recorded
from gates.reports.victims import VictimFilter, VictimHistory
from tests.unit.gates.groups import NOW, group, hub, replica, worker

LOW = Evicted("team", "low", "low-uid", "InClusterQueue")
SURPRISE = Evicted("other", "surprise", "x-uid", "InCohortReclamation")
PROMISE = Forecast(ForecastVerdict.PREEMPTS, NOW, victims=(ForecastVictim("team", "low", "low-uid", "cq", "r"),))
RECORD = ForecastRecord(WorkerName("w1"), ReplicaUID("w1-uid"), NOW, PROMISE)


def seen(at_ns: int, *evicted: Evicted, record: ForecastRecord | None = RECORD, judged: bool = False) -> Recorded:
    """Return a decision that saw these victims on w1, and judges the forecast if told so."""
    view = group(hub(forecast=record), worker("w1", replica("w1"), witness=Witness(evicted=evicted)), worker("w2"))
    result = (RecordForecast(replace(RECORD, result=ForecastResult.WRONG)),) if judged else ()
    return Recorded(at_ns, view, Decision(Rule.DISPATCHED, (Step(result),)), Settings())


def told(*decisions: Recorded, wanted: VictimFilter | None = None) -> list[tuple[int, str, bool | None, str]]:
    history = VictimHistory(wanted or VictimFilter())
    for each in reversed(decisions):
        history.add(each)
    return [(each.seen_ns - NOW, each.victim.name, each.is_forecast, each.result) for each in history.victims()]


def test_the_oldest_decision_says_when_and_the_newest_how_the_forecast_turned_out() -> None:
    decisions = (seen(NOW, LOW), seen(NOW + SECOND, LOW, SURPRISE, judged=True))
    assert told(*decisions) == [(0, "low", True, "wrong"), (SECOND, "surprise", False, "wrong")]


def test_without_a_forecast_for_the_worker_nothing_is_said_about_it() -> None:
    assert told(seen(NOW, LOW, record=None)) == [(0, "low", None, "")]
    assert told(seen(NOW, LOW, record=replace(RECORD, cluster=WorkerName("w2")))) == [(0, "low", None, "")]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (VictimFilter("team"), ["low"]),
        (VictimFilter("team", "other"), []),
        (VictimFilter("", "", "w1"), ["low", "surprise"]),
        (VictimFilter("", "", "w2"), []),
    ],
    ids=str,
)
def test_only_what_is_wanted_is_told(wanted: VictimFilter, names: list[str]) -> None:
    assert [name for _, name, _, _ in told(seen(NOW, LOW, SURPRISE), wanted=wanted)] == names


def test_a_record_contains_the_evidence_only_with_a_victim() -> None:
    assert VictimHistory.EVIDENCE in dumps(seen(NOW, LOW).group)
    assert VictimHistory.EVIDENCE not in dumps(seen(NOW).group)
