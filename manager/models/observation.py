"""Follows everything on one worker that decides about its schedule, and answers what it would do.

It has a client of its own: whatever happens here, the connection that gates are opened through does not notice. Nothing
is asked of the worker for a forecast; a kind that may not be read makes forecasts unsupported, and nothing else.
Invariant: an answer about a replica is given only when the model has seen the version of it that the caller has.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from engine.forecasting.arrivals import foresee
from engine.forecasting.essentials import PackedWorkload
from engine.forecasting.forecast import BYTES_IN_A_STEP, Forecast, forecast, unsupported
from engine.forecasting.observed import Exposure, ObservedCluster
from engine.objects.configuration import KueueConfiguration
from engine.objects.workloads import AdmittedWorkload, PendingWorkload
from engine.vocabulary.effort import Effort, TooMuchEffortError
from gates.model.forecasts import Witness
from gates.model.settings import SECOND
from manager.base.kinds import WORKLOADS
from manager.models.forecast_answer import ForecastAnswer, ReplicaVersion
from manager.models.forecast_trials import ForecastTrials
from manager.models.large_forecasts import LOOK_STEPS, LargeForecasts, Question
from manager.models.model_watches import ModelWatches
from manager.models.quota_promises import QuotaPromises
from manager.models.replays import Replays
from manager.models.topology_watches import NOT_FOLLOWED, TopologyWatches
from manager.process.background import Background
from manager.process.work_budget import TooMuchWorkError, WorkBudget
from manager.process.worker_thread import Work, WorkerThread
from workerclient.cluster import ClientContext

_FRESH_NS: Final = 10 * SECOND
"""How long an answer about an unchanged cluster stays good; running times and back-offs go on meanwhile."""


class Observation:
    """The model of one worker; when `run` failed it may be run again."""

    def __init__(
        self,
        name: WorkerName,
        access: ClusterAccess,
        context: ClientContext,
        configuration: KueueConfiguration,
        on_progress: Callable[[WorkerName, ObjectKey], None],
        thread: WorkerThread,
        *,
        follows_topology: bool = False,
        reports_victims: bool = False,
    ) -> None:
        self.name = name
        self.cluster = ObservedCluster(configuration)
        self.cluster.observe_topology(NOT_FOLLOWED)
        self.promises = QuotaPromises(self.cluster)
        self._clock = context.clock
        self._on_progress = on_progress
        self.background = Background(name, thread, self._clock)
        self._large = LargeForecasts(self.cluster, self.background, self._clock, partial(on_progress, name))
        replays = Replays(
            self.cluster,
            self.background,
            self._clock,
            self.why_silent,
            partial(on_progress, name),
            reports_victims=reports_victims,
        )
        self.trials = ForecastTrials(name, self.cluster, replays)
        self._awaited: set[ObjectKey] = set()
        self._answers: dict[ObjectKey, tuple[int, Forecast]] = {}
        self._broken = ""
        self.failures = 0
        """How often following the worker failed."""
        self._watches = ModelWatches(name, access, context, self.cluster, self._changed)
        self._topologies = (
            TopologyWatches(name, access, context, self.cluster, self._changed) if follows_topology else None
        )

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self._watches.reconfigure(access)
        if self._topologies is not None:
            self._topologies.reconfigure(access)

    @property
    def retries(self) -> int:
        """Return how many requests were sent again after a failure."""
        return self._watches.retries + (self._topologies.retries if self._topologies is not None else 0)

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watches.run())
            if self._topologies is not None:
                group.create_task(self._topologies.run())
            group.create_task(self.background.run())

    def fail(self, problem: str) -> None:
        """Count a failure, and make no forecasts until recovered."""
        self.failures += 1
        self._broken = problem

    def recover(self) -> None:
        """Make forecasts again."""
        self._broken = ""

    @property
    def is_complete(self) -> bool:
        """Return whether everything is known."""
        return self.why_silent() == ""

    @property
    def is_forbidden(self) -> bool:
        """Tell whether a role is missing for one of the kinds."""
        return self._watches.is_forbidden

    def why_silent(self) -> str:
        """Return why there are no forecasts, an empty text if there are.

        What is not known of topologies keeps only those from being made that depend on it: the model is told.
        """
        self.cluster.observe_topology(self.why_topology_unknown())
        return self._broken or self._watches.why_incomplete()

    @property
    def follows_topology(self) -> bool:
        """Tell whether Topologies, Nodes and Pods are followed, as far as that is allowed."""
        return self._topologies is not None

    def why_topology_unknown(self) -> str:
        """Return why it is not known where pods go, an empty text if it is."""
        return NOT_FOLLOWED if self._topologies is None else self._topologies.why_incomplete()

    def forecast(self, replica: ReplicaVersion, now_ns: int, skew_ns: int, effort: Effort) -> ForecastAnswer:
        """Return what the worker would do with a replica.

        No forecast if the model is behind, or if that takes more than what is left of a reconcile: it can be requested.
        Nothing is changed but a cache of answers, each of which would be the same if it were made again.
        """
        why = self.why_silent()
        if why:
            return ForecastAnswer(unsupported(why, now_ns))
        key, subject = replica.key, self._subject(replica)
        if not self._watches.has_seen(replica):
            return ForecastAnswer(request=self._awaiting(key))
        last = self._large.last(key, subject)
        if self.trials.has_preempted(replica):
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
            return not self.why_silent() and self._watches.has_seen(replica) and not self.trials.has_preempted(replica)

        answer = ForecastAnswer(last.forecast) if last is not None else ForecastAnswer()
        request = partial(self._large.ask, key, subject, ask, now_ns, spent=spent, is_wanted=is_wanted)
        return self._later(key, subject, answer, request)

    def last_forecast(self, key: ObjectKey) -> Forecast | None:
        """Return what was forecast last for a replica, however long ago; nothing is computed."""
        _, known = self._answers.get(key, (-1, None))
        return known or self._large.newest(key)

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
        promised = self.promises.outstanding(but=key)

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
        if not self._watches.has_seen(replica) or self.trials.has_preempted(replica):
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
        promised = self.promises.outstanding(but=key)
        return partial(
            _thought, self.cluster.expose(), lambda twin: foresee(twin, raw, promised, now_ns + skew_ns)[0], now_ns
        )

    def follow(self, replica: ReplicaVersion, forecasted: Forecast, skew_ns: int) -> None:
        """Follow what happens after a gate was opened on a forecast; late, first make up for what was missed."""
        version, answer = self._answers.get(replica.key, (-1, None))
        is_current = answer == forecasted and version == self.cluster.version
        self.trials.begin(replica, skew_ns, is_current=is_current)

    def witness(self, version: ReplicaVersion, opened_ns: int, skew_ns: int) -> Witness | None:
        """Return what happened since a forecast is followed; None if it is not, or if the model is behind."""
        if self.why_silent() or not self._watches.has_seen(version):
            return None
        return self.trials.witness(version, opened_ns + skew_ns)

    def catching_up(self, version: ReplicaVersion) -> Callable[[], None] | None:
        """Return what has the Workload woken once the model has seen a replica; None if it has, or it will be."""
        return None if self._watches.has_seen(version) else self._awaiting(version.key)

    def last_victim_ns(self, uid: str) -> int | None:
        """Return when another Workload was last preempted for this one, on the worker's clock."""
        victims = (tenant.preempted for _, tenant in self.cluster.victims_of(uid))
        return max((victim.at_ns for victim in victims if victim is not None), default=None)

    def still_has(self, key: ObjectKey, uid: str) -> bool:
        """Return whether the model still has a replica."""
        tenant = self.cluster.tenant(key)
        return not self.why_silent() and tenant is not None and tenant.uid == uid

    def await_change(self, key: ObjectKey) -> None:
        """Have a Workload woken with the next change of its replica in the model."""
        self._awaited.add(key)

    def forget(self, key: ObjectKey) -> None:
        """Follow no trial of this Workload any longer, and hold nothing for it."""
        self.trials.end(key)
        self._answers.pop(key, None)
        self._large.forget(key)
        self._awaited.discard(key)
        self.promises.release(key)

    def _changed(self, kind: str, key: ObjectKey, value: object) -> None:
        if kind == WORKLOADS.kind:
            self.promises.release_if_taken(key)
        self.trials.take_change(kind, key, value)
        if kind == WORKLOADS.kind and key in self._awaited:
            self._awaited.discard(key)
            self._on_progress(self.name, key)

    def _forecast_now(self, key: ObjectKey, now_ns: int, skew_ns: int, effort: Effort) -> Forecast:
        found = forecast(self.cluster, key, now_ns + skew_ns, effort)
        return replace(found, made_ns=now_ns)

    def _subject(self, version: ReplicaVersion) -> Hashable:
        """Return which replica it is, and what it asks for."""
        tenant = self.cluster.tenant(version.key)
        raw = tenant.workload.raw if tenant is not None and isinstance(tenant.workload, PendingWorkload) else None
        return version.uid, raw.spec_text if isinstance(raw, PackedWorkload) else b""


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
