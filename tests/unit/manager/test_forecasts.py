"""How the forecasts of a worker are judged by their results."""

from structlog.testing import capture_logs

from config.sections import Forecast as ForecastSection
from engine.forecasting.forecast import Forecast, Verdict
from engine.forecasting.verification import Result
from gates.forecasts import ForecastRecord
from gates.marks import HubIdentity
from gates.settings import Settings
from manager.forecasts import Forecasts
from tests.virtual_time import VirtualClock


def record(result: Result, cluster: str = "w1") -> ForecastRecord:
    return ForecastRecord(cluster, "u", 0, Forecast(Verdict.FITS, 0), result)


def test_a_worker_whose_forecasts_miss_is_unreliable_until_they_hit_again() -> None:
    section = ForecastSection(minimum_hit_rate=80, hit_rate_window=5)
    forecasts = Forecasts(section, Settings(), HubIdentity("o", "h"), {}, VirtualClock())
    with capture_logs() as logs:
        for _ in range(5):
            forecasts.note_record(record(Result.WRONG))
            forecasts.note_record(record(Result.EXACT, "w2"))
            forecasts.note_record(record(Result.PENDING))
        assert not forecasts.is_reliable("w1")
        assert forecasts.is_reliable("w2")
        for _ in range(5):
            forecasts.note_record(record(Result.OVERTAKEN))
        assert not forecasts.is_reliable("w1"), "what is not counted proves nothing"
        for _ in range(4):
            forecasts.note_record(record(Result.EXACT))
        assert forecasts.is_reliable("w1")
    assert [(entry["worker"], entry["forecast"]) for entry in logs] == [("w1", "unreliable"), ("w1", "reliable")]
    assert forecasts.results("w1").count(Result.PENDING) == 0
