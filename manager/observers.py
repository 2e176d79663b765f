"""Who is told what the daemon does."""

from collections.abc import Callable
from dataclasses import dataclass

from gates.actions import Decision
from gates.forecasts import ForecastRecord
from gates.view import Group
from manager.forecasts import Forecasts
from manager.reconciler import Deed, Listeners, Look
from manager.telemetry.deedlog import log_deed
from manager.telemetry.watching import Watcher
from workerclient.kind import Key


@dataclass(frozen=True, slots=True)
class Observers:
    """Who is told what the daemon does; for journals and tests."""

    on_decision: Callable[[Group, Decision], None] | None = None
    on_look: Callable[[Look], None] | None = None
    on_forecast: Callable[[Key, ForecastRecord], None] | None = None
    on_forgotten: Callable[[Key], None] | None = None
    on_deed: Callable[[Deed], None] | None = None

    def listeners(self, forecasts: Forecasts | None, watcher: Watcher) -> Listeners:
        """Return who listens to the reconciler."""
        tell = self.on_decision
        looks: list[Callable[[Look], None]] = [watcher.note_look]
        looks += [] if tell is None else [lambda look: tell(look.group, look.decision)]
        looks += [] if self.on_look is None else [self.on_look]
        records = [] if self.on_forecast is None else [self.on_forecast]
        endings = [watcher.forget, *([] if self.on_forgotten is None else [self.on_forgotten])]
        deeds = [watcher.note_deed, log_deed, *([] if self.on_deed is None else [self.on_deed])]
        if forecasts is not None:
            looks.append(lambda look: forecasts.note_decision(look.group, look.decision))
            records.append(lambda _key, record: forecasts.note_record(record))
            endings.append(forecasts.forget)
        return Listeners(tuple(looks), tuple(deeds), (watcher.note_duration,), tuple(records), tuple(endings))
