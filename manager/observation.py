"""Follows everything on one worker that decides about its schedule, and answers what it would do.

It has a client of its own: whatever happens here, the connection that gates are opened through does not notice. Nothing
is asked of the worker for a forecast; a kind that may not be read makes forecasts unsupported, and nothing else.
Invariant: an answer about a replica is given only when the model has seen the version of it that the caller has.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import KUEUE_GROUP
from engine.configuration import KueueConfiguration
from engine.forecasting.forecast import Flavors, Forecast, flavors_of, forecast, unsupported
from engine.forecasting.observed import ObservedCluster
from engine.forecasting.planning import foresee
from engine.forecasting.tenants import Tenant
from engine.forecasting.verification import Evicted, Replay
from engine.objects.workloads import AdmittedWorkload
from gates.forecasts import Witness
from gates.settings import SECOND
from manager.kinds import ADMISSION_CHECKS, NAMESPACES, WORKLOADS
from manager.logs import get_log
from workerclient.budget import BudgetLimits
from workerclient.cache import Unreadable, version_number
from workerclient.cluster import ClientLimits, ClusterClient, Followed, Surroundings
from workerclient.kind import ApiKind, Key
from workerclient.reflector import Phase
from workerclient.watched import WatchedKind

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
_LIMITS: Final = ClientLimits(budget=BudgetLimits(queries_per_second=10.0, burst=20))
_FRESH_NS: Final = 10 * SECOND
"""How long an answer about an unchanged cluster stays good; running times and back-offs go on meanwhile."""
_TELL_SECONDS: Final = 5.0
_REMEDY: Final = "apply deploy/rbac/worker-forecasts.yaml on the worker, or set forecast.enabled: false"
_MAX_REPLAYS: Final = 200
"""How often a forecast is made anew while its gate is open; a cluster that changes more than that is not explained."""
_CLOCK_GRAIN_NS: Final = 2 * SECOND
"""Objects state times in whole seconds."""


@dataclass(frozen=True, slots=True)
class SeenVictim:
    """A workload that was preempted, as it was when that was first seen."""

    evicted: Evicted
    at_ns: int
    pods: int
    running_since_ns: int | None


@dataclass(slots=True)
class _Trial:
    """A forecast under verification: what it would be after each change, until the first victim is seen."""

    uid: str
    forecasts: int = 0
    is_closed: bool = False
    replays: list[Replay] = field(default_factory=list)
    evicted: dict[ObjectKey, SeenVictim] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sight:
    """Which version of a replica the caller has seen, and since when it asks to preempt, on the worker's clock."""

    key: Key
    uid: str
    resource_version: str
    asked_ns: int | None = None


class Observation:
    """The model of one worker; `run` once."""

    def __init__(
        self,
        name: str,
        access: ClusterAccess,
        surroundings: Surroundings,
        configuration: KueueConfiguration,
        on_progress: Callable[[str, Key], None],
        *,
        tells_victims: bool = False,
    ) -> None:
        self.name = name
        self.cluster = ObservedCluster(configuration)
        self.promises: dict[Key, AdmittedWorkload] = {}
        self._clock = surroundings.clock
        self._on_progress = on_progress
        self._tells_victims = tells_victims
        self._awaited: set[Key] = set()
        self._trials: dict[Key, _Trial] = {}
        self._unreadable: dict[tuple[str, Key], str] = {}
        self._answers: dict[Key, tuple[int, Forecast]] = {}
        self._broken = ""
        self._client = ClusterClient(name, access, surroundings, _LIMITS)
        self._followed: Mapping[str, Followed[Any]] = {kind.kind: self._follow(kind) for kind in FOLLOWED_KINDS}

    def reconfigure(self, access: ClusterAccess) -> None:
        """Go on with another address or identity."""
        self._client.reconfigure(access)

    async def run(self) -> None:
        """Follow the worker until cancelled."""
        try:
            await self._client.run()
        except Exception as error:  # noqa: BLE001 - the boundary of a task: gates go on without forecasts
            self._broken = f"{type(error).__name__}: {error}"
            get_log().error("forecasts.ended", worker=self.name, exc_info=error)

    async def tell(self) -> None:
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
        for phase, text in ((Phase.FORBIDDEN, "may not be read"), (Phase.NOT_SERVED, "not served")):
            states = ((kind, self._followed[kind.kind].reflector.state) for kind in FOLLOWED_KINDS)
            names = [kind.plural for kind, state in states if state.phase is phase]
            found += [f"{', '.join(names)}: {text}"] if names else []
        return "; ".join(found)

    @property
    def is_complete(self) -> bool:
        """Tell whether everything is known."""
        return self.why_silent() == ""

    def why_silent(self) -> str:
        """Return why there are no forecasts, an empty text if there are."""
        if self._broken:
            return self._broken
        for followed in self._followed.values():
            state = followed.reflector.state
            if state.phase in (Phase.FORBIDDEN, Phase.NOT_SERVED):
                return state.problem
            if not followed.cache.synced:
                return state.problem or "not everything on the cluster is known yet"
        if self._unreadable:
            (kind, key), problem = min(self._unreadable.items())
            return f"{kind} {key} cannot be read: {problem}"
        return ""

    def forecast(self, sight: Sight, now_ns: int, skew_ns: int) -> Forecast | None:
        """Return what the worker would do with a replica; None if the model is behind, which ends with a wake-up."""
        why = self.why_silent()
        if why:
            return unsupported(why, now_ns)
        key = sight.key
        if not self._has_seen(sight) or self._has_preempted(sight):
            return None
        version, known = self._answers.get(key, (-1, None))
        if known is None or version != self.cluster.version or now_ns - known.made_ns > _FRESH_NS:
            known = self._forecast_now(key, now_ns, skew_ns)
            self._answers[key] = (self.cluster.version, known)
        return known

    def foresee(self, raw: Mapping[str, Any], now_ns: int, skew_ns: int, *, holds: bool) -> Forecast:
        """Return what the worker would do with a copy that it does not have; `holds` the quota that it would take."""
        why = self.why_silent()
        if why:
            return unsupported(why, now_ns)
        key = Key(raw["metadata"]["namespace"], raw["metadata"]["name"])
        self.forget_promises(key for key in list(self.promises) if ObjectKey(*key) in self.cluster.tenants)
        promised = [promise for other, promise in self.promises.items() if other != key]
        found, promise = foresee(self.cluster, raw, promised, now_ns + skew_ns)
        if promise is not None and holds:
            self.promises[key] = promise
        return replace(found, made_ns=now_ns)

    def forget_promises(self, keys: Iterable[Key]) -> None:
        """Hold no quota any longer for these."""
        for key in keys:
            self.promises.pop(key, None)

    def witness(self, sight: Sight, opened_ns: int, forecasted: Forecast, skew_ns: int) -> Witness | None:
        """Return what happened since a gate was opened on a forecast; None if the model is behind."""
        trial = self._trial(sight, forecasted, skew_ns)
        if self.why_silent() or not self._has_seen(sight):
            return None
        self._note_victims(trial)
        since = opened_ns + skew_ns - _CLOCK_GRAIN_NS
        evicted = (victim.evicted for victim in trial.evicted.values() if victim.at_ns >= since)
        return Witness(self._flavors(sight.key), tuple(sorted(evicted)), tuple(trial.replays))

    def victims(self, key: Key, uid: str, since_ns: int) -> tuple[SeenVictim, ...]:
        """Return who was preempted for a replica since then, on the worker's clock; under trial also who is gone."""
        known = self._trials.get(key)
        trial = known if known is not None and known.uid == uid else _Trial(uid)
        self._note_victims(trial)
        return tuple(victim for victim in trial.evicted.values() if victim.at_ns >= since_ns - _CLOCK_GRAIN_NS)

    def still_holds(self, key: Key, uid: str) -> bool:
        """Tell whether the model still has a replica; if so, that it goes is told."""
        tenant = self.cluster.tenant(ObjectKey(*key))
        if self.why_silent() or tenant is None or tenant.uid != uid:
            return False
        self._awaited.add(key)
        return True

    def end_trial(self, key: Key) -> None:
        """Replay nothing any longer for a Workload whose forecast was judged."""
        self._trials.pop(key, None)

    def forget(self, key: Key) -> None:
        """Follow no trial of this Workload any longer, and hold nothing for it."""
        self._trials.pop(key, None)
        self._answers.pop(key, None)
        self._awaited.discard(key)
        self.promises.pop(key, None)

    # --- the model

    def _follow(self, kind: ApiKind) -> Followed[Any]:
        return self._client.follow(
            WatchedKind(
                kind,
                partial(self.cluster.read, kind.kind),
                required=False,
                on_change=partial(self._changed, kind.kind),
            )
        )

    def _changed(self, kind: str, key: Key) -> None:
        value = self._followed[kind].cache.get(key)
        if isinstance(value, Unreadable):
            self._unreadable[kind, key] = value.problem
            value = None
        else:
            self._unreadable.pop((kind, key), None)
        self.cluster.put(kind, key.namespace, key.name, value)
        for tried, trial in list(self._trials.items()):
            self._replay(tried, trial, kind, key, value)
        if kind == WORKLOADS.kind and key in self._awaited:
            self._awaited.discard(key)
            self._on_progress(self.name, key)

    def _has_seen(self, sight: Sight) -> bool:
        identity = self._followed[WORKLOADS.kind].cache.identity(sight.key)
        seen = version_number(identity.resource_version) if identity is not None and identity.uid == sight.uid else -1
        wanted = version_number(sight.resource_version)
        if seen is None or wanted is None or seen >= wanted:
            return True
        self._awaited.add(sight.key)
        return False

    def _forecast_now(self, key: Key, now_ns: int, skew_ns: int) -> Forecast:
        found = forecast(self.cluster, ObjectKey(*key), now_ns + skew_ns)
        return replace(found, made_ns=now_ns)

    def _flavors(self, key: Key) -> Flavors:
        tenant = self.cluster.tenant(ObjectKey(*key))
        return flavors_of(tenant) if tenant is not None else ()

    # --- trials

    def _trial(self, sight: Sight, forecasted: Forecast, skew_ns: int) -> _Trial:
        """Return the trial; one that begins late first makes up for the changes that it missed."""
        known = self._trials.get(sight.key)
        if known is not None and known.uid == sight.uid:
            return known
        trial = self._trials[sight.key] = _Trial(sight.uid, is_closed=self._has_preempted(sight))
        version, answer = self._answers.get(sight.key, (-1, None))
        if answer != forecasted or version != self.cluster.version:
            self._replay_now(sight.key, trial, self.cluster.last_change, skew_ns)
        return trial

    def _replay(self, tried: Key, trial: _Trial, kind: str, key: Key, value: object) -> None:
        if isinstance(value, Tenant) and value.preempted is not None and value.preempted.preemptor_uid == trial.uid:
            trial.is_closed = True
            _note(trial, ObjectKey(*key), value)
            if self._tells_victims:
                self._on_progress(self.name, tried)
        elif not (kind == WORKLOADS.kind and key == tried):
            self._replay_now(tried, trial, f"{kind} {key}", 0)

    def _replay_now(self, tried: Key, trial: _Trial, change: str, skew_ns: int) -> None:
        if trial.is_closed or trial.forecasts >= _MAX_REPLAYS or self.why_silent():
            return
        tenant = self.cluster.tenant(ObjectKey(*tried))
        if tenant is None or isinstance(tenant.workload, AdmittedWorkload):
            trial.is_closed = True
            return
        trial.forecasts += 1
        now_ns = self._clock.now_ns()
        found = self._forecast_now(tried, now_ns, skew_ns)
        last = trial.replays[-1].forecast if trial.replays else None
        if last is None or replace(found, made_ns=0, cost=last.cost) != replace(last, made_ns=0):
            trial.replays.append(Replay(found, change))

    def _has_preempted(self, sight: Sight) -> bool:
        """Tell whether somebody was preempted for the replica since it asked; what comes after is no forecast."""
        victims = (tenant.preempted for _, tenant in self.cluster.victims_of(sight.uid))
        asked_ns = sight.asked_ns
        return asked_ns is not None and any(v is not None and v.is_current and v.at_ns >= asked_ns for v in victims)

    def _note_victims(self, trial: _Trial) -> None:
        for key, tenant in self.cluster.victims_of(trial.uid):
            _note(trial, key, tenant)


def _note(trial: _Trial, key: ObjectKey, tenant: Tenant) -> None:
    """Remember a victim as it was first seen: it may be deleted, admitted or preempted again before anybody asks."""
    known = trial.evicted.get(key)
    if tenant.preempted is not None and (known is None or known.evicted.uid != tenant.uid):
        evicted = Evicted(key.namespace, key.name, tenant.uid, tenant.preempted.reason)
        trial.evicted[key] = SeenVictim(evicted, tenant.preempted.at_ns, tenant.pods, tenant.running_since_ns)
