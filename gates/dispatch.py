"""Which workers get a replica: all at once, in rounds, where it is forecast to fit, or as somebody else says."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.forecasting.forecast import Verdict
from gates.policies import usable as usable_forecast
from gates.settings import Dispatcher, Settings, UngatedPolicy
from gates.view import GateSupport, Group, Reach, Worker


@dataclass(frozen=True, slots=True)
class Nomination:
    """The set to be stored, whether that needs a write, and when to look again."""

    clusters: tuple[str, ...]
    changed: bool = False
    round_started_ns: int | None = None
    requeue_ns: int | None = None
    missing: tuple[str, ...] = ()
    """Nominated by somebody else but not connected."""


def nominate(group: Group, now_ns: int, settings: Settings, policies: Mapping[str, UngatedPolicy]) -> Nomination:
    """Choose the nominated set for a Workload that is pending."""
    workload = group.workload
    if workload.elastic and workload.cluster_name:
        return Nomination((workload.cluster_name,))
    if settings.dispatcher is Dispatcher.EXTERNAL:
        connected = {w.name for w in group.listed if w.reach is Reach.SYNCED}
        return Nomination(workload.nominated, missing=tuple(n for n in workload.nominated if n not in connected))
    allowed = tuple(w for w in group.listed if _is_allowed(w, policies.get(w.name, UngatedPolicy.ALLOW), settings))
    usable = tuple(w for w in allowed if _is_usable(w, workload.nominated))
    if settings.dispatcher is Dispatcher.ALL_AT_ONCE:
        return _all_at_once(group, usable)
    if settings.dispatcher is Dispatcher.FORECAST_FIRST:
        return _forecast_first(group, usable, now_ns, settings)
    kept = tuple(name for name in workload.nominated if name in {w.name for w in allowed})
    return _incremental(group, kept, usable, now_ns, settings)


def _is_allowed(worker: Worker, policy: UngatedPolicy, settings: Settings) -> bool:
    if not worker.serves_kind or worker.out_of_sync.count >= settings.max_out_of_sync:
        return False
    return worker.gates is not GateSupport.MISSING or policy is not UngatedPolicy.EXCLUDE


def _is_usable(worker: Worker, nominated: tuple[str, ...]) -> bool:
    """A worker that cannot be read for the moment keeps its nomination but gets no new one; a lost one has none."""
    return worker.reach is Reach.SYNCED or (worker.reach is Reach.UNREADABLE and worker.name in nominated)


def _all_at_once(group: Group, usable: tuple[Worker, ...]) -> Nomination:
    names = tuple(worker.name for worker in usable)
    return Nomination(names, changed=set(names) != set(group.workload.nominated))


def _forecast_first(group: Group, usable: tuple[Worker, ...], now_ns: int, settings: Settings) -> Nomination:
    """Try one worker where the Workload is forecast to fit; all of them after a round, or as soon as that fails."""
    current, started = group.workload.nominated, group.workload.round_started_ns
    if not current:
        fitting = [worker for worker in usable if _fits(worker)]
        if len(usable) < 2 or not fitting:
            return _all_at_once(group, usable)
        best = min(fitting, key=_preference)
        return Nomination((best.name,), changed=True, round_started_ns=now_ns, requeue_ns=settings.forecast_round_ns)
    tried = next((worker for worker in usable if current == (worker.name,)), None)
    elapsed = settings.forecast_round_ns if started is None else max(now_ns - started, 0)
    if tried is None or elapsed >= settings.forecast_round_ns or not _may_still_fit(tried):
        return _all_at_once(group, usable)
    return Nomination(current, requeue_ns=settings.forecast_round_ns - elapsed)


def _fits(worker: Worker) -> bool:
    forecast = usable_forecast(worker)
    return forecast is not None and forecast.verdict is Verdict.FITS


def _may_still_fit(worker: Worker) -> bool:
    """Tell whether the one worker under trial may still admit; an answer that is not there yet is awaited."""
    replica = worker.replica
    if worker.reach is not Reach.SYNCED or worker.foreign_replica or worker.problem:
        return False
    if replica is not None and (replica.signal_ns is not None or replica.is_true("Evicted")):
        return False
    has_quota = replica is not None and replica.is_true("QuotaReserved")
    return has_quota or worker.forecast is None or _fits(worker)


def _preference(worker: Worker) -> tuple[int, tuple[int, str]]:
    """Prefer who borrows least, then the order of the configuration."""
    forecast = worker.forecast
    return ((forecast.borrowing or 0) if forecast is not None else 0, worker.order)


def _incremental(
    group: Group, kept: tuple[str, ...], usable: tuple[Worker, ...], now_ns: int, settings: Settings
) -> Nomination:
    """Add the next few workers each round; a round lasts longer than its time, not exactly as long (scenario 19)."""
    shrunk = kept != group.workload.nominated
    waiting = tuple(worker.name for worker in usable if worker.name not in kept)
    started = group.workload.round_started_ns
    if started is not None and kept and now_ns - started <= settings.round_ns:
        # A clock that was set back must not make the round longer, so the round begins anew.
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
