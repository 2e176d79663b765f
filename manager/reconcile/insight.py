"""What is known about one Workload on one worker beside its objects, and for which Workloads that is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import Forecast
from engine.objects.workloads import AdmittedWorkload
from engine.pod_outlook.values import PodOutlook
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.local_actions import WorkerNews
from gates.model.pod_records import PodWitness
from gates.wire.records import HubRecord


@dataclass(frozen=True, slots=True)
class Insight:
    """What is known about one Workload on one worker beside its objects."""

    forecast: Forecast | None = None
    is_reliable: bool = True
    forecast_wait_ns: int = 0
    """How long it is worth waiting for a forecast that is being made."""
    witness: Witness | None = None
    pods: PodOutlook | None = None
    pod_witness: PodWitness | None = None
    news: frozenset[WorkerNews] = frozenset()
    """What is to be decided about: forecasts to request or follow, quota to hold."""
    requests: tuple[Callable[[], None], ...] = ()
    """Each has something made that is missing here."""
    promise: AdmittedWorkload | None = None
    """The quota that the Workload would take."""


NO_INSIGHT: Final = Insight()


def _every_workload(_hub: HubRecord) -> bool:
    return True


def _recorded_trial(hub: HubRecord, _cluster: WorkerName) -> ForecastRecord | None:
    return hub.forecast


@dataclass(frozen=True, slots=True)
class ForecastScope:
    """Which Workloads are forecast, and which of the forecasts is under verification."""

    includes: Callable[[HubRecord], bool] = _every_workload
    trial_of: Callable[[HubRecord, WorkerName], ForecastRecord | None] = _recorded_trial
    all_workers: bool = False
    """Every worker is forecast, also where no decision depends on it."""
    waits_for_model: bool = False
    """A replica that is gone is verified until the model shows that too: what the model sees until then counts."""
