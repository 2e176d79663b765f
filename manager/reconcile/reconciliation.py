"""What a reconcile decided and did, as listeners get it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.model.actions import Action, Decision
from gates.model.forecasts import ForecastRecord
from gates.model.settings import Settings, UngatedPolicy
from gates.model.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """One reconcile of one Workload: everything that the decision depended on, and the decision."""

    group: WorkloadView
    now_ns: int
    settings: Settings
    policies: Mapping[WorkerName, UngatedPolicy]
    decision: Decision
    is_repetition: bool = False
    """The same was decided several times just before, so that it need not be reported again."""


@dataclass(frozen=True, slots=True)
class ExecutedAction:
    """An action that was carried out, the reconcile that led to it, and when."""

    reconciliation: Reconciliation
    action: Action
    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class Listeners:
    """What a reconciler calls to report what it does; the callbacks return at once."""

    on_reconciliation: tuple[Callable[[Reconciliation], None], ...] = ()
    on_executed: tuple[Callable[[ExecutedAction], None], ...] = ()
    on_duration: tuple[Callable[[float, bool], None], ...] = ()
    """Called after every reconcile with the seconds that it took and whether it failed."""
    on_forecast: tuple[Callable[[ObjectKey, ForecastRecord], None], ...] = ()
    """Called after the record of a forecast was written."""
    on_forgotten: tuple[Callable[[ObjectKey], None], ...] = ()
    on_decision_loop: tuple[Callable[[], None], ...] = ()
    """Called when a Workload has to rest because more was decided about it than happened to it."""
    on_overacted: tuple[Callable[[], None], ...] = ()
    """Called when decisions about a Workload are put off because it was acted on too often."""
