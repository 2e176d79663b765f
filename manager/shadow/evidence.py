"""What the workers did for the replicas whose forecasts are under verification, and which forecasts these are."""

from collections.abc import Mapping

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.model.forecasts import ForecastRecord
from gates.shadow.episodes import CopyEvidence, Memory, loss_of
from gates.wire.records import HubRecord, ReplicaRecord
from manager.clusters.worker import WorkerLink
from manager.reconcile.insight import ForecastScope

Memories = dict[ObjectKey, Memory]
"""What is known of each Workload in place of records on the hub's objects."""


def shadow_forecasts(memories: Mapping[ObjectKey, Memory]) -> ForecastScope:
    """Forecast only what is being placed now, and verify the forecasts that shadow mode remembers itself."""

    def trial_of(hub: HubRecord, cluster: WorkerName) -> ForecastRecord | None:
        memory = memories.get(hub.key)
        return memory.trial(cluster) if memory is not None else None

    return ForecastScope(lambda hub: hub.is_true("QuotaReserved"), trial_of, all_workers=True, waits_for_model=True)


class ShadowEvidence:
    """Asks the models of all workers."""

    def __init__(self, links: Mapping[WorkerName, WorkerLink]) -> None:
        self._links = links

    def of(self, key: ObjectKey, memory: Memory | None) -> dict[WorkerName, CopyEvidence]:
        """Return what each worker did for replicas under verification; to be called before anything is forgotten."""
        found = {}
        for start in memory.pending if memory is not None else ():
            link = self._links.get(start.cluster)
            observation = link.observation if link is not None else None
            if link is None or observation is None:
                continue
            victims = observation.trials.victims(key, start.replica_uid, start.since_ns + link.clock_skew_ns)
            losses = (loss_of(v.evicted, v.pods, v.running_since_ns, v.at_ns, start) for v in victims)
            gone = not isinstance(link.replica(key), ReplicaRecord)
            is_behind = gone and link.is_connected and observation.still_has(key, start.replica_uid)
            if is_behind:
                observation.await_change(key)
            found[start.cluster] = CopyEvidence(tuple(sorted(losses)), is_behind=is_behind)
        return found
