"""The listeners that are called with what the daemon does."""

from collections.abc import Callable
from dataclasses import dataclass

from config.api.meta import ObjectKey
from gates.model.actions import Decision
from gates.model.forecasts import ForecastRecord
from gates.model.view import WorkloadView
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.reconciliation import ExecutedAction, Listeners, Reconciliation
from manager.telemetry.action_log import log_executed
from manager.telemetry.metrics_listener import MetricsListener
from manager.telemetry.recent_decisions import RecentDecisions


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks for what the daemon does; for journals and tests."""

    on_decision: Callable[[WorkloadView, Decision], None] | None = None
    on_reconciliation: Callable[[Reconciliation], None] | None = None
    on_forecast: Callable[[ObjectKey, ForecastRecord], None] | None = None
    on_forgotten: Callable[[ObjectKey], None] | None = None
    on_executed: Callable[[ExecutedAction], None] | None = None

    def listeners(self, forecasts: Forecasts | None, metrics: MetricsListener, decisions: RecentDecisions) -> Listeners:
        """Return everything that listens to the reconciler."""
        report = self.on_decision
        reconciled: list[Callable[[Reconciliation], None]] = [metrics.note_reconciliation]
        reconciled += [] if report is None else [lambda done: report(done.group, done.decision)]
        reconciled += [] if self.on_reconciliation is None else [self.on_reconciliation]
        records = [] if self.on_forecast is None else [self.on_forecast]
        endings = [metrics.forget, *([] if self.on_forgotten is None else [self.on_forgotten])]
        executed: list[Callable[[ExecutedAction], None]]
        executed = [metrics.note_executed, log_executed, decisions.note_executed]
        executed += [] if self.on_executed is None else [self.on_executed]
        if forecasts is not None:
            records.append(lambda _key, record: forecasts.history.note_record(record))
            endings.append(forecasts.forget)
        return Listeners(
            tuple(reconciled),
            tuple(executed),
            (metrics.note_duration,),
            tuple(records),
            tuple(endings),
            (metrics.note_decision_loop,),
            (metrics.note_overacted,),
        )
