"""Whether the opening that a record is about can still be followed, whichever half of the record is to be judged."""

from dataclasses import dataclass
from typing import Final

from engine.forecasting.verification import Judgement, Result
from gates.forecasts import ForecastRecord
from gates.view import Group, Reach, Replica, Worker

QUIET: Final = (Result.EXACT, Result.NONE)
"""Results that nobody needs to be told of."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The copy whose gate was opened, on the worker that is watched."""

    worker: Worker
    replica: Replica


def follow(record: ForecastRecord, group: Group, withdrawn: str) -> Followed | Judgement | None:
    """Return the copy; the result where there is none to come, None while the worker is not to be seen."""
    worker = group.worker(record.cluster)
    if worker is None:
        return Judgement(Result.OVERTAKEN, "the cluster is no longer in use")
    if worker.reach is not Reach.SYNCED:
        return None
    replica = worker.replica
    if replica is None or replica.uid != record.replica_uid:
        return Judgement(Result.OVERTAKEN, withdrawn)
    return Followed(worker, replica)
