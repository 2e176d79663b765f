"""Which worker would get a job that is planned, by the dispatcher and the policy that are configured, and why.

The daemon's own functions decide, over a view in which every worker that would preempt asks at the same moment; so a
plan says "the first to ask" where only the order of arrival would decide. Pure; equal input gives an equal answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from config.api.identifiers import NO_WORKER, WorkerName
from engine.forecasting.forecast import ForecastVerdict
from engine.planning.prospect import Outlook
from engine.planning.sizes import Sizes
from gates.decision.dispatch import nominate
from gates.decision.policies import Candidate, Pick, choose, usable
from gates.model.hub_workload import HubWorkload
from gates.model.settings import Dispatcher, GatePolicy, Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach, WorkerView, WorkloadView
from gates.targets.matching import MILLION
from gates.targets.rules import Exclusion


@dataclass(frozen=True, slots=True)
class Prospect:
    """What is known about a planned job on one worker."""

    name: WorkerName
    position: int
    reach: Reach = Reach.SYNCED
    problem: str = ""
    """Why nothing can be said, when the worker cannot be read."""
    outlook: Outlook | None = None
    reliable: bool = True
    gates: GateSupport = GateSupport.HONOURED
    sizes: Sizes | None = None
    exclusion: Exclusion | None = None
    """The rule that keeps the job from it."""
    group_preference: int = 0
    weight: int = MILLION
    price: int = 0

    @property
    def takes(self) -> bool:
        """Return whether the worker would admit the job, with or without preemption."""
        return self.exclusion is None and self.verdict in (ForecastVerdict.FITS, ForecastVerdict.PREEMPTS)

    @property
    def verdict(self) -> ForecastVerdict | None:
        """Return what the forecast says."""
        return self.outlook.forecast.verdict if self.outlook is not None else None


@dataclass(frozen=True, slots=True)
class PlannedWorker:
    """The worker that would get the job; no name if none would."""

    worker: WorkerName
    why: str
    others: tuple[str, ...] = ()
    """Those that may get it as well, where only the order of arrival decides."""


ONLY_PREEMPTING: Final = "it is the only one that can make room by preemption"
_NONE_ADMITS: Final = "no worker would admit it now"
_NONE_IS_KNOWN: Final = "no worker is known to admit it, and for some there is no forecast"


def choose_worker(
    prospects: Sequence[Prospect], now_ns: int, settings: Settings, policies: Mapping[WorkerName, UngatedPolicy]
) -> PlannedWorker:
    """Choose among the workers of a job's check."""
    if prospects and all(prospect.exclusion is not None for prospect in prospects):
        return PlannedWorker(NO_WORKER, "every worker is ruled out")
    by_name = {prospect.name: prospect for prospect in prospects}
    group = WorkloadView(HubWorkload("", "planned", "", ""), tuple(_worker(prospect) for prospect in prospects))
    first = [by_name[name] for name in nominate(group, now_ns, settings, policies).clusters]
    if not any(prospect.takes for prospect in first):
        # Those of later rounds, or of an external dispatcher: all that may be nominated at all.
        everybody = nominate(group, now_ns, replace(settings, dispatcher=Dispatcher.ALL_AT_ONCE), policies)
        first = [by_name[name] for name in everybody.clusters]
    fitting = [prospect for prospect in first if prospect.verdict is ForecastVerdict.FITS]
    if fitting:
        return _among_fitting(fitting, settings)
    asking = [prospect for prospect in first if prospect.verdict is ForecastVerdict.PREEMPTS]
    if asking:
        return _among_asking(asking, group, now_ns, settings)
    return PlannedWorker(
        NO_WORKER, _NONE_ADMITS if all(_is_certain(prospect) for prospect in prospects) else _NONE_IS_KNOWN
    )


def _is_certain(prospect: Prospect) -> bool:
    return prospect.exclusion is not None or prospect.verdict is ForecastVerdict.CANNOT


def _worker(prospect: Prospect) -> WorkerView:
    return WorkerView(
        prospect.name,
        prospect.position,
        reach=prospect.reach,
        gates=prospect.gates,
        forecast=prospect.outlook.forecast if prospect.outlook is not None else None,
        forecast_reliable=prospect.reliable,
        exclusion=prospect.exclusion,
        group_preference=prospect.group_preference,
        weight=prospect.weight,
        price=prospect.price,
    )


def _among_fitting(fitting: list[Prospect], settings: Settings) -> PlannedWorker:
    first, others = fitting[0].name, tuple(prospect.name for prospect in fitting[1:])
    if settings.dispatcher is Dispatcher.EXTERNAL:
        return PlannedWorker(first, "it fits there without preemption, if the external dispatcher nominates it", others)
    if settings.dispatcher is Dispatcher.FORECAST_FIRST and not others:
        return PlannedWorker(first, "it fits there without preemption, and ForecastFirst tries it alone first")
    if not others:
        return PlannedWorker(first, "it is the only one where it fits without preemption")
    return PlannedWorker(
        first, "it fits there without preemption; if it fits on several, the first to admit wins", others
    )


def _among_asking(asking: list[Prospect], view: WorkloadView, now_ns: int, settings: Settings) -> PlannedWorker:
    queue = [Candidate(worker, now_ns, is_late=False) for worker in view.listed if _is_in(worker, asking)]
    # A plan does not wait: grace only affects when the choice is made, not which worker is chosen.
    picked = choose(queue, view, now_ns, replace(settings, grace_ns=0, skip_futile=False))
    name = picked.worker.name if isinstance(picked, Pick) else asking[0].name
    others = tuple(prospect.name for prospect in asking if prospect.name != name)
    if not others:
        return PlannedWorker(name, ONLY_PREEMPTING)
    chosen = next(candidate.worker for candidate in queue if candidate.worker.name == name)
    if settings.policy is GatePolicy.LEAST_DISRUPTION and usable(chosen) is not None:
        return PlannedWorker(name, "LeastDisruption chooses it: its preemption disrupts least")
    return PlannedWorker(name, "the first to ask preempts; ties follow the order of the MultiKueueConfig", others)


def _is_in(worker: WorkerView, asking: list[Prospect]) -> bool:
    return any(prospect.name == worker.name for prospect in asking)
