"""Whether the opening that a record is about can still be followed, whichever half of the record is to be judged."""

from dataclasses import dataclass
from typing import Final

from engine.forecasting.verification import ForecastResult, Judgement
from gates.model.forecasts import ForecastRecord
from gates.model.view import Reach, Replica, WorkerView, WorkloadView

QUIET: Final = (ForecastResult.EXACT, ForecastResult.NONE)
"""Results that are not reported."""


@dataclass(frozen=True, slots=True)
class FollowedOpening:
    """The replica whose gate was opened, on the worker that is watched."""

    worker: WorkerView
    replica: Replica


def follow(record: ForecastRecord, view: WorkloadView, withdrawn: str) -> FollowedOpening | Judgement | None:
    """Return the replica; the result if none will appear, None while the worker cannot be read."""
    worker = view.worker(record.cluster)
    if worker is None:
        return Judgement(ForecastResult.OVERTAKEN, "the cluster is no longer in use")
    if worker.reach is not Reach.SYNCED:
        return None
    replica = worker.replica
    if replica is None or replica.uid != record.replica_uid:
        return Judgement(ForecastResult.OVERTAKEN, withdrawn)
    return FollowedOpening(worker, replica)
