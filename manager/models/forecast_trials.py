"""The forecasts of one worker that a gate was opened on, and what was seen to happen since."""

from dataclasses import replace
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from engine.forecasting.forecast import Flavors, flavors_of
from engine.forecasting.observed import ObservedCluster
from gates.model.forecasts import Witness
from gates.model.settings import SECOND
from manager.logging.logs import get_log
from manager.models.forecast_answer import ReplicaVersion
from manager.models.replays import Replays, SeenVictim, Trial, note_victim

_MISSED: Final = "the cluster changed faster than the forecast could be made again"
_CLOCK_GRAIN_NS: Final = 2 * SECOND
"""Objects state times in whole seconds."""


class ForecastTrials:
    """The forecasts under verification on one worker."""

    def __init__(self, worker: WorkerName, cluster: ObservedCluster, replays: Replays) -> None:
        self._worker = worker
        self._cluster = cluster
        self._replays = replays
        self._trials: dict[ObjectKey, Trial] = {}

    def begin(self, replica: ReplicaVersion, skew_ns: int, *, is_current: bool) -> None:
        """Follow what happens to a replica; what was missed since a forecast that is not current is made up for."""
        trial = self._trials[replica.key] = Trial(replica.uid, is_closed=self.has_preempted(replica))
        if not is_current:
            self._replays.replay(replica.key, trial, self._cluster.last_change, skew_ns)
        trial.evicted.update(self._victims_of(trial))

    def followed(self, key: ObjectKey) -> str:
        """Return the UID of the replica whose forecast is followed for a Workload; empty if none is."""
        trial = self._trials.get(key)
        return trial.uid if trial is not None else ""

    def end(self, key: ObjectKey) -> None:
        """Replay nothing any longer for a Workload whose forecast was judged."""
        self._trials.pop(key, None)

    def take_change(self, kind: str, key: ObjectKey, value: object) -> None:
        """Take note of a change on the worker."""
        for tried, trial in list(self._trials.items()):
            try:
                self._replays.take(tried, trial, kind, key, value)
            except Exception as error:  # noqa: BLE001 - the boundary of a forecast: others go on
                trial.is_closed = True
                get_log().error("forecast.failed", worker=self._worker, workload=str(tried), exc_info=error)

    def witness(self, version: ReplicaVersion, opened_ns: int) -> Witness | None:
        """Return what happened since a gate was opened, on the worker's clock; None if that is not followed."""
        trial = self._trials.get(version.key)
        if trial is None or trial.uid != version.uid or trial.awaited:
            return None
        since = opened_ns - _CLOCK_GRAIN_NS
        evicted = (victim.evicted for victim in self._victims_of(trial).values() if victim.at_ns >= since)
        missed = _MISSED if trial.missed else ""
        return Witness(self._flavors(version.key), tuple(sorted(evicted)), tuple(trial.replays), missed)

    def victims(self, key: ObjectKey, uid: str, since_ns: int) -> tuple[SeenVictim, ...]:
        """Return the victims of a replica since then, on the worker's clock; under trial also those that are gone."""
        known = self._trials.get(key)
        trial = known if known is not None and known.uid == uid else Trial(uid)
        found = self._victims_of(trial).values()
        return tuple(victim for victim in found if victim.at_ns >= since_ns - _CLOCK_GRAIN_NS)

    def has_preempted(self, version: ReplicaVersion) -> bool:
        """Tell whether the replica has had a victim since it asked; what comes after that is not a forecast."""
        victims = (tenant.preempted for _, tenant in self._cluster.victims_of(version.uid))
        asked_ns = version.asked_ns
        return asked_ns is not None and any(v is not None and v.is_current and v.at_ns >= asked_ns for v in victims)

    def _flavors(self, key: ObjectKey) -> Flavors:
        tenant = self._cluster.tenant(key)
        return flavors_of(tenant) if tenant is not None else ()

    def _victims_of(self, trial: Trial) -> dict[ObjectKey, SeenVictim]:
        """Return the victims that were noted, and those that the model has beside them."""
        found = replace(trial, evicted=dict(trial.evicted))
        for key, tenant in self._cluster.victims_of(trial.uid):
            note_victim(found, key, tenant)
        return found.evicted
