"""How the forecasts of a worker are judged by their results."""

from structlog.testing import capture_logs

from config.api.identifiers import ReplicaUID, WorkerName
from config.sections.sections import ForecastSection
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.verification import ForecastResult
from gates.model.forecasts import ForecastRecord
from manager.reconcile.forecast_history import ForecastHistory
from tests.support.worker_names import W1, W2


def record(result: ForecastResult, cluster: str = "w1") -> ForecastRecord:
    return ForecastRecord(WorkerName(cluster), ReplicaUID("u"), 0, Forecast(ForecastVerdict.FITS, 0), result)


def test_a_worker_whose_forecasts_miss_is_unreliable_until_they_hit_again() -> None:
    section = ForecastSection(minimum_hit_rate=80, hit_rate_window=5)
    history = ForecastHistory(section)
    with capture_logs() as logs:
        for _ in range(5):
            history.note_record(record(ForecastResult.WRONG))
            history.note_record(record(ForecastResult.EXACT, "w2"))
            history.note_record(record(ForecastResult.PENDING))
        assert not history.is_reliable(W1)
        assert history.is_reliable(W2)
        for _ in range(5):
            history.note_record(record(ForecastResult.OVERTAKEN))
        assert not history.is_reliable(W1), "what is not counted proves nothing"
        for _ in range(4):
            history.note_record(record(ForecastResult.EXACT))
        assert history.is_reliable(W1)
    assert [(entry["worker"], entry["forecast"]) for entry in logs] == [("w1", "unreliable"), ("w1", "reliable")]
    assert history.results(W1).count(ForecastResult.PENDING) == 0
