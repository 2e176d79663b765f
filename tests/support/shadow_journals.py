"""Journals with episodes of shadow mode."""

from datetime import timedelta
from pathlib import Path

from config.api.identifiers import ReplicaUID, WorkerName
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.verification import ForecastResult
from gates.model.settings import SECOND, GatePolicy
from gates.shadow.hindsight import Breach, Episode, LostWork, PolicyOutcome, PreemptionCost, PreemptionStart
from manager.journal.writer import Journal, JournalLimits

NOW = 1_800_000_000 * SECOND


FIRST, LEAST, PREFER = GatePolicy


TOLD = Forecast(ForecastVerdict.PREEMPTS, NOW)


def episode(name: str = "training") -> Episode:
    """Return the attempt of a hub without gates: two clusters preempted, one would have been enough."""
    dear = (
        LostWork("team/render", "a", "InClusterQueue", 4, 5400),
        LostWork("team/index", "b", "InClusterQueue", 1, 600),
    )
    cheap = (LostWork("team/etl", "c", "InClusterQueue", 2, 1800),)
    return Episode(
        workload=f"team/{name}",
        uid=name,
        attempt_ns=NOW,
        starts=(
            PreemptionStart(
                WorkerName("eu-1"),
                ReplicaUID("e"),
                NOW,
                NOW,
                gated=False,
                losses=dear,
                result=ForecastResult.EXACT,
                forecast=TOLD,
            ),
            PreemptionStart(
                WorkerName("us-1"),
                ReplicaUID("u"),
                NOW,
                NOW,
                gated=False,
                losses=cheap,
                result=ForecastResult.EXACT,
                forecast=TOLD,
            ),
        ),
        choices=(
            PolicyOutcome(FIRST, WorkerName("eu-1"), None),
            PolicyOutcome(LEAST, WorkerName("us-1"), PreemptionCost(1, 2, 3600)),
            PolicyOutcome(PREFER, WorkerName("eu-1"), None),
        ),
        breaches=(Breach(WorkerName("eu-1"), "us-1", NOW, NOW, gated=False),),
    )


def write(path: Path, *episodes: Episode) -> Path:
    journal = Journal(path, JournalLimits(timedelta(days=1), 1 << 20), lambda: NOW, lambda: 0.0, lambda: 1.0)
    journal.start()
    for each in episodes:
        journal.note_episode(each)
    journal.close()
    return path
