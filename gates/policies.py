"""Which of the workers that ask gets its gate next, while no window runs.

A policy only orders those that ask, or lets them wait for a bounded time; the window between two clusters is kept by
`opening`, under every policy alike. Equal input gives an equal answer: every order ends in the order of arrival, which
is total. A forecast counts only if it promises something and its worker's forecasts have proved reliable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.forecasting.forecast import Forecast, Verdict
from gates.settings import GatePolicy, Settings
from gates.view import GateSupport, Group, Reach, Worker


@dataclass(frozen=True, slots=True)
class Candidate:
    """A worker that asks for its gate, and since when on the hub's clock."""

    worker: Worker
    asked_ns: int
    is_late: bool
    """It comes after the others whatever the policy: its last write failed, or another gate of it is closed."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Open this gate."""

    worker: Worker


@dataclass(frozen=True, slots=True)
class Later:
    """Nobody yet, but at that time at the latest."""

    worker: Worker
    """The one that has waited longest."""
    due_ns: int
    why: str


def choose(queue: Sequence[Candidate], group: Group, now_ns: int, settings: Settings) -> Pick | Later | None:
    """Choose among those that ask, given in order of arrival; None if all of them are busy."""
    free = [candidate for candidate in queue if not candidate.worker.busy]
    if not free:
        return None
    hopeful = [candidate for candidate in free if not _is_futile(candidate, now_ns, settings)]
    if not hopeful:
        first = min(free, key=lambda candidate: candidate.asked_ns)
        due = first.asked_ns + settings.timeout_ns
        return Later(first.worker, due, "the forecast says that preempting would not help")
    grace = _GRACES.get(settings.policy)
    if grace is not None:
        asked = min(candidate.asked_ns for candidate in hopeful)
        due = asked + min(settings.grace_ns, settings.timeout_ns)
        if asked <= now_ns < due and grace(group, queue):
            return Later(hopeful[0].worker, due, _WHY[settings.policy])
    return Pick(_ordered(hopeful, settings)[0].worker)


def usable(worker: Worker) -> Forecast | None:
    """Return the forecast of a worker if it may be relied on."""
    forecast = worker.forecast
    return forecast if forecast is not None and worker.forecast_reliable and forecast.promises else None


def _ordered(candidates: list[Candidate], settings: Settings) -> list[Candidate]:
    if settings.policy is not GatePolicy.LEAST_DISRUPTION:
        return candidates
    indexed = enumerate(candidates)
    return [candidate for _, candidate in sorted(indexed, key=lambda entry: _disruption(entry[1], entry[0]))]


def _disruption(candidate: Candidate, arrival: int) -> tuple[object, ...]:
    """Order by cost; who has no usable forecast comes after those that have one, and who cannot comes last."""
    forecast = usable(candidate.worker)
    if forecast is None:
        return (candidate.is_late, 1, arrival)
    if forecast.verdict is Verdict.CANNOT:
        return (candidate.is_late, 2, arrival)
    return (candidate.is_late, 0, forecast.cost, arrival)


def _is_futile(candidate: Candidate, now_ns: int, settings: Settings) -> bool:
    """Pass over who cannot succeed, for one timeout: a forecast may be wrong, and nobody is to wait for ever."""
    if not settings.skip_futile or not candidate.asked_ns <= now_ns < candidate.asked_ns + settings.timeout_ns:
        return False
    forecast = usable(candidate.worker)
    return forecast is not None and forecast.verdict is Verdict.CANNOT


def _waiting(group: Group, queue: Sequence[Candidate]) -> list[Worker]:
    """Return the workers that have not asked: they hold a copy with a closed gate, or are about to get one."""
    asking = {candidate.worker.name for candidate in queue}
    others = (worker for worker in group.listed if worker.name not in asking and worker.reach is Reach.SYNCED)
    return [w for w in others if (_is_coming(group, w) if w.replica is None else not w.replica.gate_open)]


def _is_coming(group: Group, worker: Worker) -> bool:
    """Tell whether a worker's copy is on its way: nothing is in its way, and it does not wait for a turn."""
    expected = worker.name in group.workload.nominated and worker.gates is not GateSupport.MISSING
    return expected and not worker.foreign_replica and not worker.problem


def _may_ask(group: Group, queue: Sequence[Candidate]) -> bool:
    return any(_may(worker, Verdict.FITS, Verdict.PREEMPTS) for worker in _waiting(group, queue))


def _may_admit(group: Group, queue: Sequence[Candidate]) -> bool:
    return any(_may(worker, Verdict.FITS) for worker in _waiting(group, queue))


def _may(worker: Worker, *verdicts: Verdict) -> bool:
    forecast = usable(worker)
    return forecast is None or forecast.verdict in verdicts


_GRACES: dict[GatePolicy, Callable[[Group, Sequence[Candidate]], bool]] = {
    GatePolicy.LEAST_DISRUPTION: _may_ask,
    GatePolicy.PREFER_NO_PREEMPTION: _may_admit,
}
_WHY = {
    GatePolicy.LEAST_DISRUPTION: "others may ask too and cost less",
    GatePolicy.PREFER_NO_PREEMPTION: "another cluster may admit without preemption",
}
