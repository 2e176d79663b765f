"""How the forecasts of a worker are judged by their results."""

from structlog.testing import capture_logs

from config.sections.sections import ForecastSection
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.verification import ForecastResult
from gates.model.forecasts import ForecastRecord
from gates.model.marks import HubIdentity
from gates.model.names import ReplicaUID
from gates.model.settings import Settings
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.rules import Rules
from tests.support.virtual_time import VirtualClock


def record(result: ForecastResult, cluster: str = "w1") -> ForecastRecord:
    return ForecastRecord(cluster, ReplicaUID("u"), 0, Forecast(ForecastVerdict.FITS, 0), result)


def test_a_worker_whose_forecasts_miss_is_unreliable_until_they_hit_again() -> None:
    section = ForecastSection(minimum_hit_rate=80, hit_rate_window=5)
    forecasts = Forecasts(section, Rules(HubIdentity("o", "h"), Settings(), {}), {}, VirtualClock())
    with capture_logs() as logs:
        for _ in range(5):
            forecasts.note_record(record(ForecastResult.WRONG))
            forecasts.note_record(record(ForecastResult.EXACT, "w2"))
            forecasts.note_record(record(ForecastResult.PENDING))
        assert not forecasts.is_reliable("w1")
        assert forecasts.is_reliable("w2")
        for _ in range(5):
            forecasts.note_record(record(ForecastResult.OVERTAKEN))
        assert not forecasts.is_reliable("w1"), "what is not counted proves nothing"
        for _ in range(4):
            forecasts.note_record(record(ForecastResult.EXACT))
        assert forecasts.is_reliable("w1")
    assert [(entry["worker"], entry["forecast"]) for entry in logs] == [("w1", "unreliable"), ("w1", "reliable")]
    assert forecasts.results("w1").count(ForecastResult.PENDING) == 0
