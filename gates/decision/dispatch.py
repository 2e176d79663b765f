"""Which workers get a replica: all at once, in rounds, where a forecast says it fits, or by external nomination."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.forecasting.forecast import ForecastVerdict
from gates.decision.policies import usable as usable_forecast
from gates.model.settings import Dispatcher, Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach, WorkerView, WorkloadView


@dataclass(frozen=True, slots=True)
class Nomination:
    """The set to be stored, whether that needs a write, and when to reconcile again."""

    clusters: tuple[str, ...]
    changed: bool = False
    round_started_ns: int | None = None
    requeue_ns: int | None = None
    missing: tuple[str, ...] = ()
    """Nominated by an external dispatcher but not connected."""


def nominate(view: WorkloadView, now_ns: int, settings: Settings, policies: Mapping[str, UngatedPolicy]) -> Nomination:
    """Choose the nominated set for a Workload that is pending."""
    workload = view.workload
    if workload.elastic and workload.cluster_name:
        return Nomination((workload.cluster_name,))
    if settings.dispatcher is Dispatcher.EXTERNAL:
        connected = {w.name for w in view.listed if w.reach is Reach.SYNCED}
        return Nomination(workload.nominated, missing=tuple(n for n in workload.nominated if n not in connected))
    allowed = tuple(w for w in view.listed if _is_allowed(w, policies.get(w.name, UngatedPolicy.ALLOW), settings))
    usable = tuple(w for w in allowed if _is_usable(w, workload.nominated))
    if settings.dispatcher is Dispatcher.ALL_AT_ONCE:
        return _all_at_once(view, usable)
    if settings.dispatcher is Dispatcher.FORECAST_FIRST:
        return _forecast_first(view, usable, now_ns, settings)
    kept = tuple(name for name in workload.nominated if name in {w.name for w in allowed})
    return _incremental(view, kept, usable, now_ns, settings)


def _is_allowed(worker: WorkerView, policy: UngatedPolicy, settings: Settings) -> bool:
    if not worker.serves_kind or worker.out_of_sync.count >= settings.max_out_of_sync:
        return False
    return worker.gates is not GateSupport.MISSING or policy is not UngatedPolicy.EXCLUDE


def _is_usable(worker: WorkerView, nominated: tuple[str, ...]) -> bool:
    """A worker that cannot be read for the moment keeps its nomination but gets no new one; a lost one has none."""
    return worker.reach is Reach.SYNCED or (worker.reach is Reach.UNREADABLE and worker.name in nominated)


def _all_at_once(view: WorkloadView, usable: tuple[WorkerView, ...]) -> Nomination:
    names = tuple(worker.name for worker in usable)
    return Nomination(names, changed=set(names) != set(view.workload.nominated))


def _forecast_first(view: WorkloadView, usable: tuple[WorkerView, ...], now_ns: int, settings: Settings) -> Nomination:
    """Try one worker where the Workload is forecast to fit; all of them after a round, or as soon as that fails."""
    current, started = view.workload.nominated, view.workload.round_started_ns
    if not current:
        fitting = [worker for worker in usable if _fits(worker)]
        wait_ns = max((worker.forecast_wait_ns for worker in usable), default=0)
        if len(usable) > 1 and not fitting and wait_ns:
            return Nomination(tuple(worker.name for worker in view.holders), requeue_ns=wait_ns)
        if len(usable) < 2 or not fitting:
            return _all_at_once(view, usable)
        best = min(fitting, key=_preference)
        return Nomination((best.name,), changed=True, round_started_ns=now_ns, requeue_ns=settings.forecast_round_ns)
    tried = next((worker for worker in usable if current == (worker.name,)), None)
    elapsed = settings.forecast_round_ns if started is None else max(now_ns - started, 0)
    if tried is None or elapsed >= settings.forecast_round_ns or not _may_still_fit(tried):
        return _all_at_once(view, usable)
    return Nomination(current, requeue_ns=settings.forecast_round_ns - elapsed)


def _fits(worker: WorkerView) -> bool:
    forecast = usable_forecast(worker)
    return forecast is not None and forecast.verdict is ForecastVerdict.FITS


def _may_still_fit(worker: WorkerView) -> bool:
    """Tell whether the one worker under trial may still admit; a forecast that is not ready yet is waited for."""
    replica = worker.replica
    if worker.reach is not Reach.SYNCED or worker.foreign_replica or worker.problem:
        return False
    if replica is not None and (replica.leaving or replica.signal_ns is not None or replica.is_true("Evicted")):
        return False
    has_quota = replica is not None and replica.is_true("QuotaReserved")
    return has_quota or worker.forecast is None or _fits(worker)


def _preference(worker: WorkerView) -> tuple[int, tuple[int, str]]:
    """Prefer the worker that borrows least, then the order of the configuration."""
    forecast = worker.forecast
    return ((forecast.borrowing or 0) if forecast is not None else 0, worker.order)


def _incremental(
    view: WorkloadView, kept: tuple[str, ...], usable: tuple[WorkerView, ...], now_ns: int, settings: Settings
) -> Nomination:
    """Add the next few workers each round; a round lasts longer than its time, not exactly as long (scenario 19)."""
    shrunk = kept != view.workload.nominated
    waiting = tuple(worker.name for worker in usable if worker.name not in kept)
    started = view.workload.round_started_ns
    if started is not None and kept and now_ns - started <= settings.round_ns:
        # A clock that was set back must not make the round longer, so the round starts again.
        begun = now_ns if started > now_ns else None
        remaining = settings.round_ns - max(now_ns - started, 0) + 1
        return Nomination(kept, shrunk, begun, remaining if waiting else None)
    if not waiting:
        return Nomination(kept, shrunk)
    return Nomination(
        (*kept, *waiting[: settings.step_size]),
        changed=True,
        round_started_ns=now_ns,
        requeue_ns=settings.round_ns + 1 if len(waiting) > settings.step_size else None,
    )
