"""What a forecast of one worker is asked about, and what is answered."""

from collections.abc import Callable
from dataclasses import dataclass

from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast
from engine.objects.workloads import AdmittedWorkload


@dataclass(frozen=True, slots=True)
class ReplicaVersion:
    """Which version of a replica the caller has seen, and since when it asks to preempt, on the worker's clock."""

    key: ObjectKey
    uid: str
    resource_version: str
    asked_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ForecastAnswer:
    """What is known of a forecast at one moment."""

    forecast: Forecast | None = None
    promise: AdmittedWorkload | None = None
    """The quota that it says a replica would take."""
    request: Callable[[], None] | None = None
    """Has the missing forecast made later, and the Workload woken then; None if that was requested before."""
    wait_ns: int = 0
    """How long it is worth waiting for it, once it is requested."""
