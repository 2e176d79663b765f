"""Makes plans: asks the hub where a job would go, the models of those workers what they would do, and the policy.

The models are asked between other things that the loop has to do: after each question the loop may go on, so that a
plan for many workers keeps nobody waiting. Each answer is of its moment.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.forecasting.forecast import Forecast, ForecastVictim, Verdict, unsupported
from engine.forecasting.observed import ObservedCluster
from engine.objects.workloads import AdmittedWorkload
from engine.outlook.values import PodOutlook
from engine.outlook.values import unsupported as unsupported_pods
from engine.planning.outlook import Outlook, look_ahead, verdict_on
from engine.planning.sizes import Sizes, find_sizes, resized, size_of, varied_pod_set
from gates.jobs.kinds import JobKind
from gates.jobs.reading import ManifestFieldError
from gates.planning.choosing import Prospect, choose_worker
from gates.planning.documents import Route, plan_document
from gates.planning.wanted import Wanted, read_wanted, workload_of
from gates.settings import Settings, UngatedPolicy
from gates.view import GateSupport, Reach
from manager.logs import get_log
from workerclient.clock import Clock

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sight:
    """One worker as a plan sees it; without a model `problem` says why."""

    cluster: ObservedCluster | None
    problem: str = ""
    promised: Sequence[AdmittedWorkload] = ()
    skew_ns: int = 0
    reliable: bool = True
    gates: GateSupport = GateSupport.HONOURED
    unserved: frozenset[str] = frozenset()
    """The kinds of jobs that the worker does not know, by group, version and kind."""
    pods: Callable[[Obj, Forecast, int], PodOutlook | None] | None = None
    """Says what becomes of the pods of a Workload; None where they are not followed."""
    notes: tuple[str, ...] = ()
    """What the reader should know about this worker, each a sentence."""


class Hub(Protocol):
    """What a plan asks the hub."""

    async def route(self, wanted: Wanted) -> Route:
        """Return the workers that a job may go to."""
        ...

    async def priority(self, wanted: Wanted) -> int:
        """Return the priority that a job has on the hub."""
        ...


class Workers(Protocol):
    """What a plan asks about the workers."""

    async def sights(self, names: Sequence[str]) -> Mapping[str, Sight]:
        """Return what is known of each of these workers."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """What a plan depends on beside the state."""

    kinds: Mapping[str, JobKind]
    settings: Settings
    policies: Mapping[str, UngatedPolicy]


class Planner:
    """Answers what would become of a manifest."""

    def __init__(self, hub: Hub, workers: Workers, terms: Terms, clock: Clock) -> None:
        self._hub = hub
        self._workers = workers
        self._terms = terms
        self._clock = clock

    async def plan(self, manifest: object, namespace: str, pod_set: str | None = None) -> Obj:
        """Return the plan as plain data; raises `ManifestFieldError`, `PlanError` or a `ClusterError` of the hub."""
        wanted = read_wanted(manifest, namespace, self._terms.kinds)
        try:
            varied = varied_pod_set({"spec": wanted.spec}, pod_set)
        except ValueError as error:
            raise ManifestFieldError(str(error)) from None
        route = await self._hub.route(wanted)
        priority = await self._hub.priority(wanted)
        sights = await self._workers.sights(route.clusters)
        prospects = [
            await self._prospect(name, position, sights[name], _Question(wanted, priority, varied))
            for position, name in enumerate(route.clusters)
        ]
        now_ns = self._clock.now_ns()
        choice = choose_worker(prospects, now_ns, self._terms.settings, self._terms.policies)
        return plan_document(wanted, route, priority, varied, prospects, choice, now_ns)

    async def _prospect(self, name: str, position: int, sight: Sight, question: "_Question") -> Prospect:
        if sight.cluster is None:
            return Prospect(name, position, Reach.LOST, problem=sight.problem)
        now_ns = self._clock.now_ns() + sight.skew_ns
        if question.wanted.gvk in sight.unserved:
            why = f"it does not serve {question.wanted.gvk}, so that such jobs never go there"
            return Prospect(name, position, outlook=Outlook(Forecast(Verdict.CANNOT, now_ns, why)))
        raw = workload_of(question.wanted, question.priority, now_ns)
        sizes = None
        try:
            outlook = _outlook(sight.cluster, raw, sight, now_ns)
            if outlook.forecast.promises:
                sizes = await self._sizes(sight.cluster, raw, sight, now_ns, question.varied)
        except Exception as error:  # noqa: BLE001 - what fails for one worker must not hide the others
            get_log().error("plan.failed", worker=name, exc_info=error)
            outlook = Outlook(unsupported(f"{type(error).__name__}: {error}", now_ns))
        return Prospect(name, position, outlook=outlook, reliable=sight.reliable, gates=sight.gates, sizes=sizes)

    async def _sizes(self, cluster: ObservedCluster, raw: Obj, sight: Sight, now_ns: int, varied: str) -> Sizes:
        search = find_sizes(size_of(raw, varied))
        size = next(search)
        while True:
            await self._clock.sleep(0)
            verdict = verdict_on(cluster, resized(raw, varied, size), sight.promised, now_ns)
            try:
                size = search.send(verdict)
            except StopIteration as ended:
                found: Sizes = ended.value
                return found


@dataclass(frozen=True, slots=True)
class _Question:
    wanted: Wanted
    priority: int
    varied: str


def _outlook(cluster: ObservedCluster, raw: Obj, sight: Sight, now_ns: int) -> Outlook:
    """Look ahead on the worker's clock, and tell running times on ours."""
    found = look_ahead(cluster, raw, sight.promised, now_ns)
    victims = tuple(_on_our_clock(victim, sight.skew_ns) for victim in found.forecast.victims)
    return replace(
        found,
        forecast=replace(found.forecast, made_ns=now_ns - sight.skew_ns, victims=victims),
        pods=_pods(raw, found.forecast, sight, now_ns),
        notes=(*found.notes, *sight.notes),
    )


def _pods(raw: Obj, forecast: Forecast, sight: Sight, now_ns: int) -> PodOutlook | None:
    if sight.pods is None:
        return None
    try:
        return sight.pods(raw, forecast, now_ns)
    except Exception as error:  # noqa: BLE001 - a mistake about pods must not hide what is known about the quota
        get_log().error("plan.pods_failed", exc_info=error)
        return unsupported_pods(f"{type(error).__name__}: {error}", now_ns)


def _on_our_clock(victim: ForecastVictim, skew_ns: int) -> ForecastVictim:
    since = victim.running_since_ns
    return victim if since is None else replace(victim, running_since_ns=since - skew_ns)
