"""Snapshots of copies that another controller made: Kueue's are told by origin and name alone."""

from dataclasses import replace

from gates.assembling import Snapshot, WorkerFacts
from gates.marks import HubIdentity
from gates.records import HubRecord
from manager.snapshots import Snapshots


class ShadowSnapshots(Snapshots):
    """Takes every copy of the origin that is followed for one of the hub's Workload of that name."""

    identity: HubIdentity

    def take(self, record: HubRecord, *, departed: bool, on_demand: bool = False) -> Snapshot:
        """Return everything about one Workload, always with a forecast of every worker."""
        del on_demand
        snapshot = super().take(record, departed=departed, on_demand=True)
        return replace(snapshot, workers=tuple(self._adopted(facts, record) for facts in snapshot.workers))

    def _adopted(self, facts: WorkerFacts, record: HubRecord) -> WorkerFacts:
        replica = facts.replica
        if replica is None or replica.is_variant or replica.hub_uid not in ("", record.uid):
            return facts
        return replace(facts, replica=replace(replica, hub=self.identity.hub, hub_uid=record.uid))
