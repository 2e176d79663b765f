"""Forecasts in shadow mode: for every worker as soon as the hub has quota, held against whatever is under way there."""

from collections.abc import Callable
from dataclasses import replace

from engine.forecasting.forecast import Forecast
from gates.forecasts import ForecastRecord, Witness
from gates.records import HubRecord, ReplicaRecord
from gates.shadowing import Evidence, Memory, loss_of
from manager.forecasts import Forecasts
from manager.observation import Observation
from manager.worker import WorkerLink
from workerclient.kind import Key

Trials = Callable[[Key, str], ForecastRecord | None]
"""What is under way for a Workload on a worker."""


class ShadowForecasts(Forecasts):
    """Follows what the daemon remembers in place of records on the hub's objects."""

    trials: Trials

    def evidence(self, key: Key, memory: Memory | None) -> dict[str, Evidence]:
        """Return what each worker did for copies that are under way; to be asked before anything is forgotten."""
        found = {}
        for start in memory.pending if memory is not None else ():
            link = self._links.get(start.cluster)
            observation = link.observation if link is not None else None
            if link is None or observation is None:
                continue
            victims = observation.victims(key, start.replica_uid, start.since_ns + link.clock_skew_ns)
            losses = (loss_of(v.evicted, v.pods, v.running_since_ns, v.at_ns, start) for v in victims)
            gone = not isinstance(link.replica(key), ReplicaRecord)
            is_behind = gone and link.is_connected and observation.still_holds(key, start.replica_uid)
            found[start.cluster] = Evidence(tuple(sorted(losses)), is_behind=is_behind)
        return found

    def _forecast(
        self,
        observation: Observation,
        link: WorkerLink,
        hub: HubRecord,
        replica: ReplicaRecord | None,
        *,
        on_demand: bool,
    ) -> Forecast | None:
        """Look ahead only for what is being placed now."""
        if not hub.is_true("QuotaReserved"):
            return None
        return super()._forecast(observation, link, hub, replica, on_demand=on_demand)

    def _witness(
        self, observation: Observation, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
    ) -> Witness | None:
        key = Key(hub.namespace, hub.name)
        record = self.trials(key, link.name)
        if record is not None and replica is None and observation.still_holds(key, record.replica_uid):
            return None  # the model is behind, and what it sees until it has caught up counts
        return super()._witness(observation, link, replace(hub, forecast=record), replica)
