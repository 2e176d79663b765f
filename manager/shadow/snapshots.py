"""Snapshots of replicas that another controller made: Kueue's are identified by origin and name alone."""

from dataclasses import replace

from gates.assembly.assembling import WorkerFacts
from gates.model.local_actions import WorkerNews
from gates.model.marks import HubIdentity
from gates.wire.records import HubRecord
from manager.reconcile.snapshots import SnapshotScope


def shadow_snapshots(identity: HubIdentity) -> SnapshotScope:
    """Take every replica of the origin that is followed for one of the hub's Workload of that name."""

    def adopt(facts: WorkerFacts, record: HubRecord) -> WorkerFacts:
        facts = replace(facts, news=facts.news - {WorkerNews.GATE_TRIAL_OPEN})  # nothing is dispatched to find out
        replica = facts.replica
        if replica is None or replica.is_variant or replica.hub_uid not in ("", record.uid):
            return facts
        return replace(facts, replica=replace(replica, hub=identity.hub, hub_uid=record.uid))

    return SnapshotScope(adopt)
