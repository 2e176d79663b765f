"""Follows everything on one worker that decides about its schedule, and answers what it would do.

It has a client of its own: whatever happens here, the connection that gates are opened through does not notice. Nothing
is asked of the worker for a forecast; a kind that may not be read makes forecasts unsupported, and nothing else.
Invariant: an answer about a replica is given only when the model has seen the version of it that the caller has.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.forecasting.arrivals import foresee
from engine.forecasting.essentials import PackedWorkload
from engine.forecasting.forecast import BYTES_IN_A_STEP, Flavors, Forecast, flavors_of, forecast, unsupported
from engine.forecasting.observed import Exposure, ObservedCluster
from engine.objects.configuration import KueueConfiguration
from engine.objects.workloads import AdmittedWorkload, PendingWorkload
from engine.vocabulary.effort import Effort, TooMuchEffortError
from gates.model.forecasts import Witness
from gates.model.settings import SECOND
from manager.base.kinds import ADMISSION_CHECKS, NAMESPACES, WORKLOADS
from manager.base.memory_limits import MOST_VALUES, everything
from manager.logging.logs import get_log
from manager.models.large_forecasts import LOOK_STEPS, LargeForecasts, Question
from manager.models.replays import Replays, SeenVictim, Trial, note_victim
from manager.process.background import Background
from manager.process.work_budget import TooMuchWorkError, WorkBudget
from manager.process.worker_thread import Work, WorkerThread
from workerclient.base.errors import excerpt
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.cache import Unreadable, version_number
from workerclient.objects.reflector import CachePhase
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import BudgetLimits

FOLLOWED_KINDS: Final = (
    NAMESPACES,
    ApiKind("", "v1", "LimitRange", "limitranges"),
    ApiKind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "ResourceFlavor", "resourceflavors", namespaced=False),
    ADMISSION_CHECKS,
    ApiKind(KUEUE_GROUP, "v1beta2", "Cohort", "cohorts", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False),
    ApiKind(KUEUE_GROUP, "v1beta2", "LocalQueue", "localqueues"),
    WORKLOADS,
)
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20), holdings=everything)
_FRESH_NS: Final = 10 * SECOND
"""How long an answer about an unchanged cluster stays good; running times and back-offs go on meanwhile."""
_TELL_SECONDS: Final = 5.0
_REMEDY: Final = "apply deploy/rbac/worker-forecasts.yaml on the worker, or set forecast.enabled: false"
_MISSED: Final = "the cluster changed faster than the forecast could be made again"
_CLOCK_GRAIN_NS: Final = 2 * SECOND
"""Objects state times in whole seconds."""


@dataclass(frozen=True, slots=True)
class ReplicaVersion:
    """Which version of a replica the caller has seen, and since when it asks to preempt, on the worker's clock."""

    key: ObjectKey
    uid: str
    resource_version: str
    asked_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ForecastAnswer:
    """What is known of a forecast at one moment."""

    forecast: Forecast | None = None
    promise: AdmittedWorkload | None = None
    """The quota that it says a replica would take."""
    request: Callable[[], None] | None = None
    """Has the missing forecast made later, and the Workload woken then; None if that was requested before."""
    wait_ns: int = 0
    """How long it is worth waiting for it, once it is requested."""


class Observation:
    """The model of one worker; when `run` failed it may be run again."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        context: ClientContext,
        configuration: KueueConfiguration,
        on_progress: Callable[[str, ObjectKey], None],
        thread: WorkerThread,
        *,
        tells_victims: bool = False,
    ) -> None:
        self.name = name
        self.cluster = ObservedCluster(configuration)
        self._promises: dict[ObjectKey, AdmittedWorkload] = {}
        self._clock = context.clock
        self._on_progress = on_progress
        self.background = Background(name, thread, self._clock)
        self._large = LargeForecasts(self.cluster, self.background, self._clock, partial(on_progress, name))
        self._replays = Replays(
            self.cluster,
            self.background,
            self._clock,
            self.why_silent,
            partial(on_progress, name),
            tells_victims=tells_victims,
        )
        self._awaited: set[ObjectKey] = set()
        self._trials: dict[ObjectKey, Trial] = {}
        self._unreadable: dict[tuple[str, ObjectKey], str] = {}
        self._answers: dict[ObjectKey, tuple[int, Forecast]] = {}
        self._broken = ""
        self.failures = 0
        """How often following the worker failed."""
        self._client = ClusterClient(name, access, context, _LIMITS)
        self._followed: Mapping[str, WatchedResource[Any]] = {kind.kind: self._follow(kind) for kind in FOLLOWED_KINDS}

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self._client.reconfigure(access)

    @property
    def retries(self) -> int:
        """Return how many requests were sent again after a failure."""
        return self._client.retries

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._client.run())
            group.create_task(self._tell())
            group.create_task(self.background.run())

    def fail(self, problem: str) -> None:
        """Count a failure, and make no forecasts until recovered."""
        self.failures += 1
        self._broken = problem

    def recover(self) -> None:
        """Make forecasts again."""
        self._broken = ""

    async def _tell(self) -> None:
        """Say once in the log when a kind may not be read, so that there are no forecasts, and when it may again."""
        said = ""
        while True:
            await self._clock.sleep(_TELL_SECONDS)
            lacking = self._lacking()
            if lacking and lacking != said:
                get_log().warning("forecasts.unavailable", worker=self.name, problem=lacking, remedy=_REMEDY)
            elif said and not lacking:
                get_log().info("forecasts.available", worker=self.name)
            said = lacking

    def _lacking(self) -> str:
        """Name what the worker does not let us read, or does not have."""
        found = []
        for phase, text in ((CachePhase.FORBIDDEN, "may not be read"), (CachePhase.NOT_SERVED, "not served")):
            states = ((kind, self._followed[kind.kind].reflector.state) for kind in FOLLOWED_KINDS)
            names = [kind.plural for kind, state in states if state.phase is phase]
            found += [f"{', '.join(names)}: {text}"] if names else []
        return "; ".join(found)

    @property
    def is_complete(self) -> bool:
        """Tell whether everything is known."""
        return self.why_silent() == ""

    @property
    def is_forbidden(self) -> bool:
        """Tell whether a role is missing for one of the kinds."""
        return any(each.reflector.state.phase is CachePhase.FORBIDDEN for each in self._followed.values())

    def why_silent(self) -> str:
        """Return why there are no forecasts, an empty text if there are."""
        if self._broken:
            return self._broken
        for followed in self._followed.values():
            state = followed.reflector.state
            if state.phase in (CachePhase.FORBIDDEN, CachePhase.NOT_SERVED):
                return state.problem
            if not followed.cache.synced:
                return state.problem or "not everything on the cluster is known yet"
        if self._unreadable:
            (kind, key), problem = min(self._unreadable.items())
            return f"{kind} {key} cannot be read: {problem}"
        return ""

    def forecast(self, replica: ReplicaVersion, now_ns: int, skew_ns: int, effort: Effort) -> ForecastAnswer:
        """Return what the worker would do with a replica.

        No forecast if the model is behind, or if that takes more than what is left of a reconcile: it can be requested.
        Nothing is changed but a cache of answers, each of which would be the same if it were made again.
        """
        why = self.why_silent()
        if why:
            return ForecastAnswer(unsupported(why, now_ns))
        key, subject = replica.key, self._subject(replica)
        if not self._has_seen(replica):
            return ForecastAnswer(request=self._awaiting(key))
        last = self._large.last(key, subject)
        if self._has_preempted(replica):
            return ForecastAnswer(last.forecast if last is not None else None)  # it is of the time before
        version, known = self._answers.get(key, (-1, None))
        if known is not None and version == self.cluster.version and now_ns - known.made_ns <= _FRESH_NS:
            return ForecastAnswer(known)
        if (standing := self._large.standing(key, subject)) is not None:
            return ForecastAnswer(standing.forecast)
        spent = LOOK_STEPS
        if not self._large.is_large(key, subject):
            spent = effort.left
            try:
                known = self._forecast_now(key, now_ns, skew_ns, effort)
            except TooMuchEffortError:
                pass
            else:
                self._answers[key] = (self.cluster.version, known)
                return ForecastAnswer(known)

        def ask(cluster: ObservedCluster, effort: Effort) -> tuple[Forecast, None]:
            return forecast(cluster, key, now_ns + skew_ns, effort), None

        def is_wanted() -> bool:
            return not self.why_silent() and self._has_seen(replica) and not self._has_preempted(replica)

        answer = ForecastAnswer(last.forecast) if last is not None else ForecastAnswer()
        request = partial(self._large.ask, key, subject, ask, now_ns, spent=spent, is_wanted=is_wanted)
        return self._later(key, subject, answer, request)

    def _later(
        self, key: ObjectKey, subject: Hashable, answer: ForecastAnswer, request: Callable[[], None]
    ) -> ForecastAnswer:
        """Add to what is known that a newer forecast is being made, or can be requested."""
        if self._large.is_requested(key, subject):
            return answer
        return replace(answer, request=request, wait_ns=self._large.wait_if_asked_ns())

    def wait_ns(self, key: ObjectKey) -> int:
        """Return how long it is worth waiting for a forecast that is being made, 0 if none is."""
        return self._large.wait_ns(key)

    def _awaiting(self, key: ObjectKey) -> Callable[[], None] | None:
        """Return what has a Workload woken once the model has caught up; None if it will be."""
        return None if key in self._awaited else partial(self._awaited.add, key)

    def foresee(
        self,
        raw: Mapping[str, Any],
        document: bytes,
        now_ns: int,
        skew_ns: int,
        effort: Effort,
    ) -> ForecastAnswer:
        """Return what the worker would do with a replica of this Workload of the hub, which it does not have.

        No forecast if that takes more than what is left of a reconcile: it can be requested.
        """
        why = self.why_silent()
        if why:
            return ForecastAnswer(unsupported(why, now_ns))
        key = ObjectKey(raw["metadata"]["namespace"], raw["metadata"]["name"])
        promised = self.promised(but=key)

        def ask(cluster: ObservedCluster, effort: Effort) -> tuple[Forecast, AdmittedWorkload | None]:
            effort.spend(len(document) // BYTES_IN_A_STEP)
            return foresee(cluster, raw, promised, now_ns + skew_ns, effort)

        return self._foreseen(key, (raw["metadata"]["uid"], document), ask, now_ns, effort)

    def _foreseen(
        self, key: ObjectKey, subject: Hashable, ask: Question, now_ns: int, effort: Effort
    ) -> ForecastAnswer:
        if (standing := self._large.standing(key, subject)) is not None:
            return ForecastAnswer(standing.forecast, standing.promise)
        spent = LOOK_STEPS
        if not self._large.is_large(key, subject):
            spent = effort.left
            try:
                found, promise = ask(self.cluster, effort)
            except TooMuchEffortError:
                pass
            else:
                return ForecastAnswer(replace(found, made_ns=now_ns), promise)
        last = self._large.last(key, subject)
        answer = ForecastAnswer(last.forecast, last.promise) if last is not None else ForecastAnswer()
        return self._later(key, subject, answer, partial(self._large.ask, key, subject, ask, now_ns, spent=spent))

    def asking(self, replica: ReplicaVersion, now_ns: int, skew_ns: int) -> Callable[[Work], Forecast | None]:
        """Return what says the same as `forecast` in any thread, as of now; nothing here is changed by it."""
        why = self.why_silent()
        if why:
            return lambda _: unsupported(why, now_ns)
        if not self._has_seen(replica) or self._has_preempted(replica):
            return lambda _: None
        version, known = self._answers.get(replica.key, (-1, None))
        if known is not None and version == self.cluster.version and now_ns - known.made_ns <= _FRESH_NS:
            return lambda _: known
        if (standing := self._large.standing(replica.key, self._subject(replica))) is not None:
            return lambda _: standing.forecast
        key = replica.key
        return partial(_thought, self.cluster.expose(), lambda twin: forecast(twin, key, now_ns + skew_ns), now_ns)

    def asking_of_copy(self, raw: Mapping[str, Any], now_ns: int, skew_ns: int) -> Callable[[Work], Forecast]:
        """Return what says the same as `foresee` in any thread, as of now; no quota is held for it."""
        why = self.why_silent()
        if why:
            return lambda _: unsupported(why, now_ns)
        key = ObjectKey(raw["metadata"]["namespace"], raw["metadata"]["name"])
        promised = self.promised(but=key)
        return partial(
            _thought, self.cluster.expose(), lambda twin: foresee(twin, raw, promised, now_ns + skew_ns)[0], now_ns
        )

    def promised(self, *, but: ObjectKey | None = None) -> list[AdmittedWorkload]:
        """Return the quota that is held for Workloads whose replica is not there yet; `but` for this one."""
        tenants = self.cluster.tenants
        return [promise for key, promise in self._promises.items() if key != but and key not in tenants]

    def holds(self, key: ObjectKey) -> bool:
        """Tell whether quota is held for a Workload."""
        return key in self._promises

    def hold(self, key: ObjectKey, promise: AdmittedWorkload) -> None:
        """Hold the quota that a Workload will take."""
        self._promises[key] = promise

    def release(self, key: ObjectKey) -> None:
        """Hold no quota any longer for a Workload."""
        self._promises.pop(key, None)

    def follow(self, replica: ReplicaVersion, forecasted: Forecast, skew_ns: int) -> None:
        """Follow what happens after a gate was opened on a forecast; late, first make up for what was missed."""
        trial = self._trials[replica.key] = Trial(replica.uid, is_closed=self._has_preempted(replica))
        version, answer = self._answers.get(replica.key, (-1, None))
        if answer != forecasted or version != self.cluster.version:
            self._replays.replay(replica.key, trial, self.cluster.last_change, skew_ns)
        trial.evicted.update(self._victims_of(trial))

    def followed(self, key: ObjectKey) -> str:
        """Return the UID of the replica whose forecast is followed for a Workload; empty if none is."""
        trial = self._trials.get(key)
        return trial.uid if trial is not None else ""

    def catching_up(self, version: ReplicaVersion) -> Callable[[], None] | None:
        """Return what has the Workload woken once the model has seen a replica; None if it has, or it will be."""
        return None if self._has_seen(version) else self._awaiting(version.key)

    def witness(self, version: ReplicaVersion, opened_ns: int, skew_ns: int) -> Witness | None:
        """Return what happened since a forecast is followed; None if it is not, or if the model is behind."""
        trial = self._trials.get(version.key)
        if trial is None or trial.uid != version.uid:
            return None
        if self.why_silent() or not self._has_seen(version) or trial.awaited:
            return None
        since = opened_ns + skew_ns - _CLOCK_GRAIN_NS
        evicted = (victim.evicted for victim in self._victims_of(trial).values() if victim.at_ns >= since)
        missed = _MISSED if trial.missed else ""
        return Witness(self._flavors(version.key), tuple(sorted(evicted)), tuple(trial.replays), missed)

    def victims(self, key: ObjectKey, uid: str, since_ns: int) -> tuple[SeenVictim, ...]:
        """Return the victims of a replica since then, on the worker's clock; under trial also those that are gone."""
        known = self._trials.get(key)
        trial = known if known is not None and known.uid == uid else Trial(uid)
        found = self._victims_of(trial).values()
        return tuple(victim for victim in found if victim.at_ns >= since_ns - _CLOCK_GRAIN_NS)

    def still_has(self, key: ObjectKey, uid: str) -> bool:
        """Tell whether the model still has a replica."""
        tenant = self.cluster.tenant(key)
        return not self.why_silent() and tenant is not None and tenant.uid == uid

    def await_change(self, key: ObjectKey) -> None:
        """Have a Workload woken with the next change of its replica in the model."""
        self._awaited.add(key)

    def end_trial(self, key: ObjectKey) -> None:
        """Replay nothing any longer for a Workload whose forecast was judged."""
        self._trials.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        """Follow no trial of this Workload any longer, and hold nothing for it."""
        self._trials.pop(key, None)
        self._answers.pop(key, None)
        self._large.forget(key)
        self._awaited.discard(key)
        self._promises.pop(key, None)

    # --- the model

    def _follow(self, kind: ApiKind) -> WatchedResource[Any]:
        return self._client.follow(
            WatchedKind(
                kind,
                partial(self.cluster.read, kind.kind),
                most_values=MOST_VALUES,
                required=False,
                on_change=partial(self._changed, kind.kind),
            )
        )

    def _changed(self, kind: str, key: ObjectKey) -> None:
        value = self._followed[kind].cache.get(key)
        if isinstance(value, Unreadable):
            self._unreadable[kind, key] = value.problem
            value = None
        else:
            self._unreadable.pop((kind, key), None)
        try:
            self.cluster.put(kind, key.namespace, key.name, value)
        except Exception as error:  # noqa: BLE001 - the boundary of an object: it must not end the connection
            self._unreadable[kind, key] = excerpt(f"it has an unexpected structure: {type(error).__name__}: {error}")
        if kind == WORKLOADS.kind and key in self._promises and key in self.cluster.tenants:
            self.release(key)  # its replica takes the quota itself now
        for tried, trial in list(self._trials.items()):
            try:
                self._replays.take(tried, trial, kind, key, value)
            except Exception as error:  # noqa: BLE001 - the boundary of a forecast: others go on
                trial.is_closed = True
                get_log().error("forecast.failed", worker=self.name, workload=str(tried), exc_info=error)
        if kind == WORKLOADS.kind and key in self._awaited:
            self._awaited.discard(key)
            self._on_progress(self.name, key)

    def _has_seen(self, version: ReplicaVersion) -> bool:
        identity = self._followed[WORKLOADS.kind].cache.identity(version.key)
        seen = version_number(identity.resource_version) if identity is not None and identity.uid == version.uid else -1
        wanted = version_number(version.resource_version)
        return seen is None or wanted is None or seen >= wanted

    def _forecast_now(self, key: ObjectKey, now_ns: int, skew_ns: int, effort: Effort) -> Forecast:
        found = forecast(self.cluster, key, now_ns + skew_ns, effort)
        return replace(found, made_ns=now_ns)

    def _subject(self, version: ReplicaVersion) -> Hashable:
        """Return which replica it is, and what it asks for."""
        tenant = self.cluster.tenant(version.key)
        raw = tenant.workload.raw if tenant is not None and isinstance(tenant.workload, PendingWorkload) else None
        return version.uid, raw.spec_text if isinstance(raw, PackedWorkload) else b""

    def _flavors(self, key: ObjectKey) -> Flavors:
        tenant = self.cluster.tenant(key)
        return flavors_of(tenant) if tenant is not None else ()

    # --- trials

    def _has_preempted(self, version: ReplicaVersion) -> bool:
        """Tell whether the replica has had a victim since it asked; what comes after that is not a forecast."""
        victims = (tenant.preempted for _, tenant in self.cluster.victims_of(version.uid))
        asked_ns = version.asked_ns
        return asked_ns is not None and any(v is not None and v.is_current and v.at_ns >= asked_ns for v in victims)

    def _victims_of(self, trial: Trial) -> dict[ObjectKey, SeenVictim]:
        """Return the victims that were noted, and those that the model has beside them."""
        found = replace(trial, evicted=dict(trial.evicted))
        for key, tenant in self.cluster.victims_of(trial.uid):
            note_victim(found, key, tenant)
        return found.evicted


def _thought(exposure: Exposure, ask: Callable[[ObservedCluster], Forecast], now_ns: int, work: Work) -> Forecast:
    """Make a forecast on a model of its own, within a budget."""
    take = WorkBudget().start(work)
    try:
        take()
        twin = ObservedCluster.of(exposure)
        twin.model.on_search = take
        return replace(ask(twin), made_ns=now_ns)
    except TooMuchWorkError:
        return unsupported("it takes more work than an answer may take", now_ns)
