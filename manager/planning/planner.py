"""Makes plans: asks the hub where a job would go, the models of those workers what they would do, and the policy.

The loop only takes an exposure of each model, which is quick; all thinking about it happens in a thread of its own, on
a model that is built there, within a budget. So a plan does not block the loop, however large job and cluster are. Each
answer holds for the moment of the question.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from config.api.identifiers import WorkerName
from config.api.meta import Obj
from engine.forecasting.forecast import Forecast, ForecastVerdict, ForecastVictim, unsupported
from engine.forecasting.observed import Exposure, ObservedCluster
from engine.objects.workloads import AdmittedWorkload
from engine.planning.prospect import Outlook, look_ahead, verdict_on
from engine.planning.sizes import Sizes, find_sizes, resized, size_of, varied_pod_set
from engine.pod_outlook.values import PodOutlook
from engine.pod_outlook.values import unsupported as unsupported_pods
from gates.jobs.kinds import JobKind
from gates.jobs.reading import ManifestFieldError
from gates.model.settings import Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach
from gates.planning.choosing import Prospect, choose_worker
from gates.planning.documents import Route, plan_document
from gates.planning.targets import PlannedTargets
from gates.planning.wanted import Wanted, read_wanted, workload_of
from gates.targets.affinity import NO_PEERS, Peers
from gates.targets.matching import WorkerTraits
from gates.targets.rules import TargetRules
from manager.logging.logs import get_log
from manager.planning.errors import PlanError
from manager.process.work_budget import PlanBudget, TooMuchWorkError
from manager.process.worker_thread import Work, WorkerThread
from workerclient.base.clock import Clock

_NO_SIZES: Final = "the largest sizes are not known: looking for them takes more than the work of one plan"

_NO_GROUPS: Final = "affinity groups were not looked at: only a daemon follows the Workloads of the hub"


@dataclass(frozen=True, slots=True)
class PlanningView:
    """One worker as a plan sees it; without a model `problem` says why."""

    cluster: ObservedCluster | None
    problem: str = ""
    promised: Sequence[AdmittedWorkload] = ()
    skew_ns: int = 0
    reliable: bool = True
    gates: GateSupport = GateSupport.HONOURED
    unserved: frozenset[str] = frozenset()
    """The kinds of jobs that the worker does not know, by group, version and kind."""
    pods: Callable[[Obj, Forecast, int], Callable[[], PodOutlook | None]] | None = None
    """Returns what says, in any thread, what becomes of the pods of a Workload; None where they are not followed."""
    notes: tuple[str, ...] = ()
    """What the reader should know about this worker, each a sentence."""
    most_pod_sets: int | None = None
    """How many pod sets its API lets a Workload have; None where that is not known."""


class PlanHub(Protocol):
    """What a plan asks the hub."""

    async def route(self, wanted: Wanted) -> Route:
        """Return the workers that a job may go to."""
        ...

    async def priority(self, wanted: Wanted) -> int:
        """Return the priority that a job has on the hub."""
        ...


class PlanWorkers(Protocol):
    """What a plan asks about the workers."""

    async def sights(self, names: Sequence[WorkerName]) -> Mapping[WorkerName, PlanningView]:
        """Return what is known of each of these workers."""
        ...


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What a plan depends on beside the state, as it is when the plan is asked for."""

    kinds: Mapping[str, JobKind]
    settings: Settings
    policies: Mapping[WorkerName, UngatedPolicy]
    traits: Callable[[WorkerName], WorkerTraits]
    peers: Callable[[str, TargetRules], Peers] | None = None
    """Returns the Workloads of groups in a namespace; None where they are not known."""


class Planner:
    """Answers what would become of a manifest."""

    def __init__(
        self,
        hub: PlanHub,
        workers: PlanWorkers,
        rules: Callable[[], PlanRules],
        clock: Clock,
        thread: WorkerThread | None = None,
        budget: Callable[[], PlanBudget] = PlanBudget,
    ) -> None:
        self._hub = hub
        self._workers = workers
        self._rules = rules
        self._clock = clock
        self.budget = budget
        self.thread = thread or WorkerThread("plans")

    async def plan(self, manifest: object, namespace: str, pod_set: str | None = None) -> Obj:
        """Return the plan as plain data; raises `ManifestFieldError`, `PlanError` or a `ClusterError` of the hub."""
        budget, rules = self.budget(), self._rules()
        wanted, varied = await self.thread.run(lambda _: _read(manifest, namespace, rules.kinds, pod_set))
        route = await self._hub.route(wanted)
        priority = await self._hub.priority(wanted)
        sights = await self._workers.sights(route.clusters)
        question = _Question(wanted, priority, varied)
        peers = rules.peers(wanted.namespace, wanted.targets) if rules.peers is not None else NO_PEERS
        place = PlannedTargets(wanted, peers)
        if rules.peers is None and (wanted.targets.affinity or wanted.targets.anti_affinity):
            wanted = replace(wanted, remarks=(*wanted.remarks, _NO_GROUPS))
        prospects: list[Prospect] = []
        for position, name in enumerate(route.clusters):
            try:
                traits = replace(rules.traits(name), most_pod_sets=sights[name].most_pod_sets)
                found = place.on(name, position, traits)
                if found.exclusion is None:
                    known = await self._prospect(name, position, sights[name], question, budget)
                    found = replace(
                        known, group_preference=found.group_preference, weight=found.weight, price=found.price
                    )
                prospects.append(found)
            except TooMuchWorkError:
                seen = f"{len(prospects)} of {len(route.clusters)} workers were looked at"
                raise PlanError(
                    f"this job is too large to plan: {seen} when the work that one plan may take was used up"
                ) from None
        now_ns = self._clock.now_ns()

        def conclude(_work: Work) -> Obj:
            choice = choose_worker(prospects, now_ns, rules.settings, rules.policies)
            return plan_document(wanted, route, priority, varied, prospects, choice, now_ns)

        return await self.thread.run(conclude)

    async def _prospect(
        self, name: WorkerName, position: int, view: PlanningView, question: "_Question", budget: PlanBudget
    ) -> Prospect:
        if view.cluster is None:
            return Prospect(name, position, Reach.LOST, problem=view.problem)
        now_ns = self._clock.now_ns() + view.skew_ns
        if question.wanted.gvk in view.unserved:
            why = f"it does not serve {question.wanted.gvk}, so that such jobs never go there"
            return Prospect(name, position, outlook=Outlook(Forecast(ForecastVerdict.CANNOT, now_ns, why)))
        raw = workload_of(question.wanted, question.priority, now_ns)
        sizes = None
        try:
            preview = _Preview(view.cluster.expose(), raw, view.promised, now_ns, question.varied)
            found, sizes = await self.thread.run(lambda work: preview.ahead(budget, work))
            outlook = _on_our_clock(found, view, now_ns)
            if view.pods is not None:
                outlook = replace(outlook, pods=await self._pods(view.pods, raw, found.forecast, now_ns))
        except TooMuchWorkError:
            raise
        except Exception as error:  # noqa: BLE001 - what fails for one worker must not hide the others
            get_log().error("plan.failed", worker=name, exc_info=error)
            outlook = Outlook(unsupported(f"{type(error).__name__}: {error}", now_ns))
        return Prospect(name, position, outlook=outlook, reliable=view.reliable, gates=view.gates, sizes=sizes)

    async def _pods(
        self,
        foresee: Callable[[Obj, Forecast, int], Callable[[], PodOutlook | None]],
        raw: Obj,
        forecast: Forecast,
        now_ns: int,
    ) -> PodOutlook | None:
        try:
            ask = foresee(raw, forecast, now_ns)
            return await self.thread.run(lambda _: ask())
        except Exception as error:  # noqa: BLE001 - a mistake about pods must not hide what is known about the quota
            get_log().error("plan.pods_failed", exc_info=error)
            return unsupported_pods(f"{type(error).__name__}: {error}", now_ns)


@dataclass(frozen=True, slots=True)
class _Question:
    wanted: Wanted
    priority: int
    varied: str


@dataclass(frozen=True, slots=True)
class _Preview:
    """All that one worker's part of a plan is made of; nothing of it changes."""

    exposure: Exposure
    raw: Obj
    promised: Sequence[AdmittedWorkload]
    now_ns: int
    varied: str

    def ahead(self, budget: PlanBudget, work: Work) -> tuple[Outlook, Sizes | None]:
        """Return what the worker would do, and the largest sizes as far as the budget goes."""
        take = budget.outlooks.start(work)
        take()
        cluster = ObservedCluster.of(self.exposure)
        cluster.model.on_search = take
        outlook = look_ahead(cluster, self.raw, self.promised, self.now_ns)
        if not outlook.forecast.promises:
            return outlook, None
        try:
            return outlook, self._sizes(cluster, budget.sizes.start(work))
        except TooMuchWorkError:
            return replace(outlook, notes=(*outlook.notes, _NO_SIZES)), None

    def _sizes(self, cluster: ObservedCluster, take: Callable[[], None]) -> Sizes:
        cluster.model.on_search = take
        search = find_sizes(size_of(self.raw, self.varied))
        size = next(search)
        while True:
            take()
            verdict = verdict_on(cluster, resized(self.raw, self.varied, size), self.promised, self.now_ns)
            try:
                size = search.send(verdict)
            except StopIteration as ended:
                found: Sizes = ended.value
                return found


def _read(manifest: object, namespace: str, kinds: Mapping[str, JobKind], pod_set: str | None) -> tuple[Wanted, str]:
    wanted = read_wanted(manifest, namespace, kinds)
    try:
        return wanted, varied_pod_set({"spec": wanted.spec}, pod_set)
    except ValueError as error:
        raise ManifestFieldError(str(error)) from None


def _on_our_clock(found: Outlook, view: PlanningView, now_ns: int) -> Outlook:
    """Return running times on our clock, and remarks about the worker."""
    victims = tuple(_since_on_our_clock(victim, view.skew_ns) for victim in found.forecast.victims)
    forecast = replace(found.forecast, made_ns=now_ns - view.skew_ns, victims=victims)
    return replace(found, forecast=forecast, notes=(*found.notes, *view.notes))


def _since_on_our_clock(victim: ForecastVictim, skew_ns: int) -> ForecastVictim:
    since = victim.running_since_ns
    return victim if since is None else replace(victim, running_since_ns=since - skew_ns)
