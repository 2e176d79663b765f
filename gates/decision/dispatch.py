"""Which workers get a replica: all at once, in rounds, where a forecast says it fits, or by external nomination."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import ForecastVerdict
from gates.decision.ledger import known_openings
from gates.decision.policies import usable as usable_forecast
from gates.decision.windows import remaining
from gates.model.settings import DEFAULT_UNGATED, Dispatcher, Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach, WorkerView, WorkloadView

MOST_NOMINATED: Final = 20
"""So many the hub's API takes."""


@dataclass(frozen=True, slots=True)
class Nomination:
    """The set to be stored, whether that needs a write, and when to reconcile again."""

    clusters: tuple[WorkerName, ...]
    changed: bool = False
    round_started_ns: int | None = None
    requeue_ns: int | None = None
    missing: tuple[str, ...] = ()
    """Nominated by an external dispatcher but not connected."""


def nominate(
    view: WorkloadView, now_ns: int, settings: Settings, policies: Mapping[WorkerName, UngatedPolicy]
) -> Nomination:
    """Choose the nominated set for a Workload that is pending."""
    workload = view.workload
    if workload.elastic and workload.cluster_name:
        return Nomination((workload.cluster_name,))
    if settings.dispatcher is Dispatcher.EXTERNAL:
        return _external(view)
    allowed = tuple(w for w in view.listed if _is_allowed(w, policies.get(w.name, DEFAULT_UNGATED), settings))
    preferred = sorted(allowed, key=lambda w: (w.preference, w.order))
    usable = tuple(w for w in preferred if _is_usable(w, workload.nominated))
    if settings.dispatcher is Dispatcher.ALL_AT_ONCE:
        return _all_at_once(view, usable, now_ns, settings)
    if settings.dispatcher is Dispatcher.FORECAST_FIRST:
        return _forecast_first(view, usable, now_ns, settings)
    kept = tuple(name for name in workload.nominated if name in {w.name for w in allowed})
    return _incremental(view, kept, usable, now_ns, settings)


def _external(view: WorkloadView) -> Nomination:
    """Take the nominations as they are, but for workers that are ruled out: those are not dispatched to."""
    excluded = {w.name for w in view.listed if w.exclusion is not None and not w.keeps_replica}
    clusters = tuple(name for name in view.workload.nominated if name not in excluded)
    connected = {w.name for w in view.listed if w.reach is Reach.SYNCED}
    return Nomination(clusters, missing=tuple(name for name in clusters if name not in connected))


def _is_allowed(worker: WorkerView, policy: UngatedPolicy, settings: Settings) -> bool:
    if worker.exclusion is not None:
        return worker.keeps_replica
    if not worker.serves_kind or worker.out_of_sync.count >= settings.max_out_of_sync:
        return False
    return worker.gates is not GateSupport.MISSING or policy is not UngatedPolicy.EXCLUDE


def _is_usable(worker: WorkerView, nominated: tuple[WorkerName, ...]) -> bool:
    """A worker that cannot be read for the moment keeps its nomination but gets no new one; a lost one has none."""
    return worker.reach is Reach.SYNCED or (worker.reach is Reach.UNREADABLE and worker.name in nominated)


def _all_at_once(view: WorkloadView, usable: tuple[WorkerView, ...], now_ns: int, settings: Settings) -> Nomination:
    if len(usable) > MOST_NOMINATED:
        return _rotation(view, usable, now_ns, settings)
    names = tuple(worker.name for worker in usable)
    return Nomination(names, changed=set(names) != set(view.workload.nominated))


def _forecast_first(view: WorkloadView, usable: tuple[WorkerView, ...], now_ns: int, settings: Settings) -> Nomination:
    """Try one worker where the Workload is forecast to fit; all of them after a round, or as soon as that fails."""
    current, started = view.workload.nominated, view.workload.round_started_ns
    if not current:
        fitting = [worker for worker in usable if worker.exclusion is None and _fits(worker)]
        wait_ns = max((worker.forecast_wait_ns for worker in usable), default=0)
        if len(usable) > 1 and not fitting and wait_ns:
            return Nomination(tuple(worker.name for worker in view.holders), requeue_ns=wait_ns)
        if len(usable) < 2 or not fitting:
            return _all_at_once(view, usable, now_ns, settings)
        best = min(fitting, key=_preference)
        return Nomination((best.name,), changed=True, round_started_ns=now_ns, requeue_ns=settings.forecast_round_ns)
    tried = next((worker for worker in usable if current == (worker.name,)), None)
    elapsed = settings.forecast_round_ns if started is None else max(now_ns - started, 0)
    if tried is None or elapsed >= settings.forecast_round_ns or not _may_still_fit(tried):
        return _all_at_once(view, usable, now_ns, settings)
    return Nomination(current, requeue_ns=settings.forecast_round_ns - elapsed)


def _fits(worker: WorkerView) -> bool:
    forecast = usable_forecast(worker)
    return forecast is not None and forecast.verdict is ForecastVerdict.FITS


def _may_still_fit(worker: WorkerView) -> bool:
    """Return whether the one worker under trial may still admit; a forecast that is not ready yet is waited for."""
    replica = worker.replica
    if worker.reach is not Reach.SYNCED or worker.foreign_replica or worker.problem:
        return False
    if replica is not None and (replica.leaving or replica.signal_ns is not None or replica.is_true("Evicted")):
        return False
    has_quota = replica is not None and replica.is_true("QuotaReserved")
    return has_quota or worker.forecast is None or _fits(worker)


def _preference(worker: WorkerView) -> tuple[tuple[int, int, int], int, tuple[int, WorkerName]]:
    """Go by groups, weight and price, then by who borrows least, then by the order of the configuration."""
    forecast = worker.forecast
    return (worker.preference, (forecast.borrowing or 0) if forecast is not None else 0, worker.order)


def _incremental(
    view: WorkloadView, kept: tuple[WorkerName, ...], usable: tuple[WorkerView, ...], now_ns: int, settings: Settings
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
    step = min(settings.step_size, MOST_NOMINATED - len(kept))
    if step <= 0:
        return _rotation(view, usable, now_ns, settings)
    return Nomination(
        (*kept, *waiting[:step]),
        changed=True,
        round_started_ns=now_ns,
        requeue_ns=settings.round_ns + 1 if len(waiting) > step else None,
    )


def _rotation(view: WorkloadView, usable: tuple[WorkerView, ...], now_ns: int, settings: Settings) -> Nomination:
    """Nominate as many as the hub takes; after a round, those that cannot use it make room for the next in order."""
    nominated, started = view.workload.nominated, view.workload.round_started_ns
    current = tuple(worker for worker in usable if worker.name in nominated)
    elapsed = settings.round_ns + 1 if started is None or started > now_ns else now_ns - started
    is_over = elapsed > settings.round_ns
    kept = tuple(worker for worker in current if not is_over or _may_soon_admit(worker, view, now_ns, settings))
    room = MOST_NOMINATED - len(kept)
    if room <= 0:
        left = settings.round_ns if is_over else settings.round_ns - elapsed
        return Nomination(tuple(worker.name for worker in kept), len(kept) < len(nominated), requeue_ns=left + 1)
    names = [worker.name for worker in usable]
    last = names.index(nominated[-1]) + 1 if nominated and nominated[-1] in names else 0
    staying = {worker.name for worker in kept}
    waiting = [name for name in (*names[last:], *names[:last]) if name not in staying]
    clusters = (*(name for name in nominated if name in staying), *waiting[:room])
    return Nomination(clusters, set(clusters) != set(nominated), now_ns, settings.round_ns + 1)


def _may_soon_admit(worker: WorkerView, view: WorkloadView, now_ns: int, settings: Settings) -> bool:
    """Return whether a worker has quota for the Workload, may preempt for it, or waits for its first window."""
    replica = worker.replica
    if replica is None or replica.leaving:
        return False
    opening = next((o for o in known_openings(view) if o.cluster == worker.name), None)
    if opening is None:
        return replica.is_true("QuotaReserved") or replica.signal_ns is not None
    return replica.is_true("QuotaReserved") or remaining(opening, view, now_ns, settings) > 0
