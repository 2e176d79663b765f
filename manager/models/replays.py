"""Forecasts of one worker under verification: each is made again after every change, if a reconcile can afford it.

What takes more is made in the thread, of the moment of the change; what finds no place there is missed, and said so.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from config.api.meta import ObjectKey
from engine.forecasting.forecast import Forecast, forecast
from engine.forecasting.observed import ObservedCluster
from engine.forecasting.tenants import Tenant
from engine.forecasting.verification import Evicted, Replay
from engine.objects.workloads import AdmittedWorkload
from engine.vocabulary.effort import Effort, TooMuchEffortError
from manager.base.kinds import WORKLOADS
from manager.models.large_forecasts import LOOK_STEPS, MOST_STEPS, made_apart
from manager.process.background import Background
from workerclient.base.clock import Clock

_MAX_REPLAYS: Final = 200
"""How often a forecast is made again while its gate is open; a cluster that changes more than that is not explained."""
_PLACES_FOR_FORECASTS: Final = 8


@dataclass(frozen=True, slots=True)
class SeenVictim:
    """A workload that was preempted, as it was when that was first seen."""

    evicted: Evicted
    at_ns: int
    pods: int
    running_since_ns: int | None


@dataclass(slots=True)
class Trial:
    """A forecast under verification: what it would be after each change, until the first victim is seen."""

    uid: str
    forecasts: int = 0
    is_closed: bool = False
    replays: list[Replay] = field(default_factory=list)
    awaited: int = 0
    """How many more are being made."""
    missed: int = 0
    """How many could not be made."""
    evicted: dict[ObjectKey, SeenVictim] = field(default_factory=dict)


class Replays:
    """Makes forecasts under verification again."""

    def __init__(
        self,
        cluster: ObservedCluster,
        background: Background,
        clock: Clock,
        why_silent: Callable[[], str],
        on_progress: Callable[[ObjectKey], None],
        *,
        reports_victims: bool,
    ) -> None:
        self._cluster = cluster
        self._background = background
        self._clock = clock
        self._why_silent = why_silent
        self._on_progress = on_progress
        self._reports_victims = reports_victims
        self._replaying: Effort | None = None

    def take(self, tried: ObjectKey, trial: Trial, kind: str, key: ObjectKey, value: object) -> None:
        """Take note of a change on the worker."""
        if isinstance(value, Tenant) and value.preempted is not None and value.preempted.preemptor_uid == trial.uid:
            trial.is_closed = True
            note_victim(trial, key, value)
            if self._reports_victims:
                self._on_progress(tried)
        elif not (kind == WORKLOADS.kind and key == tried):
            self.replay(tried, trial, f"{kind} {key}", 0)

    def replay(self, tried: ObjectKey, trial: Trial, change: str, skew_ns: int) -> None:
        """Make a forecast again, unless its time is over."""
        if trial.is_closed or trial.forecasts >= _MAX_REPLAYS or self._why_silent():
            return
        tenant = self._cluster.tenant(tried)
        if tenant is None or isinstance(tenant.workload, AdmittedWorkload):
            trial.is_closed = True
            return
        trial.forecasts += 1
        now_ns = self._clock.now_ns()
        try:
            found = forecast(self._cluster, tried, now_ns + skew_ns, self._replay_effort())
        except TooMuchEffortError:
            self._replay_apart(tried, trial, change, now_ns, skew_ns)
        else:
            _note_replay(trial, Replay(replace(found, made_ns=now_ns), change))

    def _replay_effort(self) -> Effort:
        """Return what is left for replays before the loop runs again: changes come in bursts."""
        if self._replaying is None:
            self._replaying = Effort(LOOK_STEPS)
            asyncio.get_running_loop().call_soon(self._renew_effort)
        return self._replaying

    def _renew_effort(self) -> None:
        self._replaying = None

    def _replay_apart(self, tried: ObjectKey, trial: Trial, change: str, now_ns: int, skew_ns: int) -> None:
        """Make a replay of this moment in the thread; where too many wait already it is missed."""
        if not self._background.has_room(_PLACES_FOR_FORECASTS):
            trial.missed += 1
            return
        exposure, key = self._cluster.expose(), tried
        trial.awaited += 1

        def ask(cluster: ObservedCluster, effort: Effort) -> tuple[Forecast, None]:
            return forecast(cluster, key, now_ns + skew_ns, effort), None

        async def replay() -> None:
            is_made = False
            try:
                found, _, steps = await self._background.in_thread(partial(made_apart, exposure, ask, now_ns))
                is_made = steps <= MOST_STEPS
                if is_made:
                    _note_replay(trial, Replay(found, change))
            finally:
                trial.awaited -= 1
                trial.missed += not is_made
                self._on_progress(tried)

        self._background.add(replay)


def _note_replay(trial: Trial, replay: Replay) -> None:
    """Remember what a forecast would be after a change, if that is something else."""
    last = trial.replays[-1].forecast if trial.replays else None
    if last is None or replace(replay.forecast, made_ns=0, cost=last.cost) != replace(last, made_ns=0):
        trial.replays.append(replay)


def note_victim(trial: Trial, key: ObjectKey, tenant: Tenant) -> None:
    """Remember a victim as it was first seen: it may be deleted, admitted or preempted again before anybody asks."""
    known = trial.evicted.get(key)
    if tenant.preempted is not None and (known is None or known.evicted.uid != tenant.uid):
        evicted = Evicted(key.namespace, key.name, tenant.uid, tenant.preempted.reason)
        trial.evicted[key] = SeenVictim(evicted, tenant.preempted.at_ns, tenant.pods, tenant.running_since_ns)
