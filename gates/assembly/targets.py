"""Adds to a view which workers the rules of its Workload take away, and which of the others are preferred."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.quantity import add, request_amount
from gates.assembly.job_plans import HubJobs
from gates.model.hub_workload import CheckState
from gates.model.view import WorkerView
from gates.targets.affinity import NO_PEERS, Peer, Peers, group_exclusion, group_preference
from gates.targets.matching import WorkerTraits, exclusion_of, price_of
from gates.targets.rules import TargetRules, target_rules
from gates.wire.records import HubRecord


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What the choice of workers depends on beside the workers themselves."""

    rules: TargetRules
    hub: HubRecord
    peers: Peers = NO_PEERS


def rules_of(hub: HubRecord, jobs: HubJobs) -> TargetRules:
    """Read the rules; of the objects of a group, the first one that has any speaks for all."""
    of_job = next((job.targets for job in jobs.members if job.targets), {})
    return target_rules(hub.targets, of_job)


def peer_of(hub: HubRecord) -> Peer:
    """Return a Workload as others of its group see it."""
    is_pending = any(entry.state is CheckState.PENDING for entry in hub.checks)
    is_waiting = is_pending and hub.is_true("QuotaReserved") and not hub.is_true("Evicted")
    return Peer(str(hub.key), hub.created_ns, hub.cluster_name or _chosen(hub), is_waiting)


def _chosen(hub: HubRecord) -> WorkerName:
    """Return the worker that was chosen in this attempt, before its job was created."""
    reserved = hub.conditions.get("QuotaReserved")
    if hub.winner is None or reserved is None or hub.winner.attempt_ns != reserved.last_transition_ns:
        return NO_WORKER
    return hub.winner.cluster


def with_targets(
    workers: Iterable[WorkerView], facts: TargetFacts, traits: Mapping[WorkerName, WorkerTraits]
) -> tuple[WorkerView, ...]:
    """Return the workers, each with the rule that keeps the Workload from it and with how much it is preferred."""
    amounts = _amounts(facts.hub) if any(found.prices for found in traits.values()) else {}
    return tuple(_with_targets(worker, facts, traits[worker.name], amounts) for worker in workers)


def _with_targets(
    worker: WorkerView, facts: TargetFacts, traits: WorkerTraits, amounts: Mapping[str, int]
) -> WorkerView:
    excluded = exclusion_of(facts.rules, worker.name, traits, len(facts.hub.assignments))
    excluded = excluded or group_exclusion(facts.rules, peer_of(facts.hub), facts.peers, worker.name)
    preference = group_preference(facts.rules, facts.peers, worker.name)
    price = price_of(amounts, traits.prices)
    if (excluded, preference, price, traits.weight) == (None, 0, 0, worker.weight):
        return worker
    return replace(worker, exclusion=excluded, group_preference=preference, weight=traits.weight, price=price)


def _amounts(hub: HubRecord) -> dict[str, int]:
    """Return what the hub's quota is charged for a Workload; a quantity that cannot be read counts for nothing."""
    total: dict[str, int] = {}
    for resource, text in (entry for assignment in hub.assignments for entry in assignment.usage):
        try:
            total[resource] = add(total.get(resource, 0), request_amount(resource, text))
        except ValueError:
            continue
    return total
