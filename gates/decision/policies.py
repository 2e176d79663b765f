"""Which of the workers that ask gets its gate next, while no window runs.

A policy only orders those that ask, or lets them wait for a bounded time; the window between two clusters is kept by
`opening`, under every policy alike. Equal input gives an equal answer: every order ends in the order of arrival, which
is total. A forecast counts only if it promises something and its worker's forecasts have proved reliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from engine.forecasting.forecast import Forecast, ForecastVerdict
from gates.model.settings import GatePolicy, Settings
from gates.model.view import Reach, WorkerView, WorkloadView

ANOTHER_MAY_ADMIT: Final = "another cluster may admit without preemption"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A worker that asks for its gate, and since when on the hub's clock."""

    worker: WorkerView
    asked_ns: int
    is_late: bool
    """It comes after the others whatever the policy: its last write failed, or another gate of it is closed."""
    turn: int = 0
    """Orders those that had a window in this attempt, the latest last; 0 for those that had none."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Open this gate."""

    worker: WorkerView


@dataclass(frozen=True, slots=True)
class Later:
    """No worker yet, but one at that time at the latest."""

    worker: WorkerView
    """The one that has waited longest."""
    due_ns: int
    why: str


def choose(queue: Sequence[Candidate], view: WorkloadView, now_ns: int, settings: Settings) -> Pick | Later | None:
    """Choose among those that ask, given in order of arrival; None if all of them are busy."""
    free = [candidate for candidate in queue if not candidate.worker.busy]
    if not free:
        return None
    hopeful = [candidate for candidate in free if not _is_futile(candidate, now_ns, settings)]
    if not hopeful:
        first = min(free, key=lambda candidate: candidate.asked_ns)
        due = first.asked_ns + settings.timeout_ns
        return Later(first.worker, due, "the forecast says that preempting would not help")
    later = _after_grace(hopeful, queue, view, now_ns, settings)
    return later or Pick(_ordered(hopeful, settings)[0].worker)


def _after_grace(
    hopeful: Sequence[Candidate], queue: Sequence[Candidate], view: WorkloadView, now_ns: int, settings: Settings
) -> Later | None:
    """Return whether it is worth waiting for others, or for what a forecast says about those that ask."""
    grace = _GRACES.get(settings.policy)
    if grace is not None:
        asked = min(candidate.asked_ns for candidate in hopeful)
        due = asked + min(settings.grace_ns, settings.timeout_ns)
        if asked <= now_ns < due and grace(view, queue):
            return Later(hopeful[0].worker, due, _WHY[settings.policy])
        wait_ns = max(candidate.worker.forecast_wait_ns for candidate in hopeful)
        if asked <= now_ns < due and wait_ns and settings.policy is GatePolicy.LEAST_DISRUPTION:
            return Later(hopeful[0].worker, min(due, now_ns + wait_ns), "its forecast is still being computed")
    return None


def usable(worker: WorkerView) -> Forecast | None:
    """Return the forecast of a worker if it may be relied on."""
    forecast = worker.forecast
    return forecast if forecast is not None and worker.forecast_reliable and forecast.promises else None


def _ordered(candidates: list[Candidate], settings: Settings) -> list[Candidate]:
    if settings.policy is not GatePolicy.LEAST_DISRUPTION:
        return candidates
    indexed = enumerate(candidates)
    return [candidate for _, candidate in sorted(indexed, key=lambda entry: _disruption(entry[1], entry[0]))]


def _disruption(candidate: Candidate, arrival: int) -> tuple[object, ...]:
    """Order by cost, equals by groups, weight and price.

    Workers without a usable forecast come after those with one, those that cannot come last.
    """
    forecast, place = usable(candidate.worker), (candidate.is_late, candidate.turn)
    if forecast is None:
        return (*place, 1, arrival)
    if forecast.verdict is ForecastVerdict.CANNOT:
        return (*place, 2, arrival)
    return (*place, 0, forecast.cost, candidate.worker.preference, arrival)


def _is_futile(candidate: Candidate, now_ns: int, settings: Settings) -> bool:
    """Skip workers that cannot succeed, for one timeout: a forecast may be wrong, and no worker must wait forever."""
    if not settings.skip_futile or not candidate.asked_ns <= now_ns < candidate.asked_ns + settings.timeout_ns:
        return False
    forecast = usable(candidate.worker)
    return forecast is not None and forecast.verdict is ForecastVerdict.CANNOT


def _waiting(view: WorkloadView, queue: Sequence[Candidate]) -> list[WorkerView]:
    """Return the workers that have not asked: they have a replica with a closed gate, or are about to get one."""
    asking = {candidate.worker.name for candidate in queue}
    eligible = (worker for worker in view.listed if worker.exclusion is None and worker.reach is Reach.SYNCED)
    others = (worker for worker in eligible if worker.name not in asking)
    return [w for w in others if (_is_coming(view, w) if w.replica is None else not w.replica.gate_open)]


def _is_coming(view: WorkloadView, worker: WorkerView) -> bool:
    """Tell whether a worker is about to get a replica: nothing blocks it, and it does not wait for a window."""
    expected = worker.name in view.workload.nominated and not worker.may_ignore_gates
    return expected and not worker.foreign_replica and not worker.problem


def _may_ask(view: WorkloadView, queue: Sequence[Candidate]) -> bool:
    return any(_may(worker, ForecastVerdict.FITS, ForecastVerdict.PREEMPTS) for worker in _waiting(view, queue))


def _may_admit(view: WorkloadView, queue: Sequence[Candidate]) -> bool:
    return any(_may(worker, ForecastVerdict.FITS) for worker in _waiting(view, queue))


def _may(worker: WorkerView, *verdicts: ForecastVerdict) -> bool:
    forecast = usable(worker)
    return forecast is None or forecast.verdict in verdicts


_GRACES: dict[GatePolicy, Callable[[WorkloadView, Sequence[Candidate]], bool]] = {
    GatePolicy.LEAST_DISRUPTION: _may_ask,
    GatePolicy.PREFER_NO_PREEMPTION: _may_admit,
}
_WHY = {
    GatePolicy.LEAST_DISRUPTION: "other workers may ask too and disrupt less",
    GatePolicy.PREFER_NO_PREEMPTION: ANOTHER_MAY_ADMIT,
}
