"""What the demo says of forecasts: before a gate opens, and once it is known whether they came true."""

from engine.forecasting.verification import ForecastResult
from manager.demo.foresight import preempted_jobs, tell_outcome, tell_plan, tell_score, victims_by_worker
from manager.demo.pace import Pace, Pauses
from manager.demo.playbill import Playbill
from manager.demo.sightings import ClusterSighting, SightingKind


def evicted(*jobs: str) -> list[ClusterSighting]:
    return [ClusterSighting(0, "worker-1", SightingKind.EVICTED, job) for job in jobs]


def test_a_plan_names_the_jobs_of_each_worker() -> None:
    plan = {
        "workers": [
            {"name": "worker-1", "victims": [{"owner": "Job batch-3"}, {"owner": "Job batch-1"}]},
            {"name": "worker-2", "victims": []},
        ]
    }
    victims = victims_by_worker(plan)
    assert victims == {"worker-1": ("batch-1", "batch-3"), "worker-2": ()}
    assert tell_plan(victims["worker-1"]) == "forecast: batch-1 and batch-3 would be preempted"
    assert tell_plan(victims["worker-2"]) == "forecast: nothing would be preempted"


def test_every_result_has_words_of_its_own() -> None:
    told = [tell_outcome("worker-1", result) for result in ForecastResult if result is not ForecastResult.PENDING]
    assert len(set(told)) == len(told)


def test_what_was_preempted_is_compared_with_the_forecast() -> None:
    playbill = Playbill(Pace(Pauses()))
    playbill.compare("worker-1", ("batch-1", "batch-3"), preempted_jobs(evicted("batch-3", "batch-1"), "worker-1"))
    playbill.compare("worker-2", ("batch-1",), ("batch-2",))
    assert [line.text for line in playbill.lines] == [
        "batch-1 and batch-3 preempted, as forecast",
        "batch-2 preempted, not as forecast: batch-1",
    ]
    assert tell_score(playbill.comparisons) == (
        "Workers preempted 2 times, 1 times exactly the jobs that were forecast."
    )
