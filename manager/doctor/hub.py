"""Examines the hub, and learns from it what its workers need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from config.api.identifiers import ClusterUID, WorkerName
from config.api.meta import Obj, ObjectKey
from config.names import FIELD_MANAGER
from config.sections.settings import Configuration
from gates.diagnosis.finding import Severity, Topic, warning
from gates.diagnosis.objects import StatusAuthor, check_findings, cordon_findings, rival_findings
from gates.model.activity import CheckRecord, ConfigRecord, check_record, cluster_record, config_record
from gates.model.marks import HubIdentity
from gates.wire.record_readers import hub_record
from manager.base.kinds import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    CLUSTERS,
    CONFIGS,
    LOCAL_QUEUES,
    NAMESPACES,
    WORKLOADS,
    api_kind,
    job_kinds,
)
from manager.clusters.access import WorkerKubeconfigSource, known_sources
from manager.clusters.permissions import needs_of_plans, needs_on_hub
from manager.clusters.worker_table import listed_traits, resolve_config
from manager.doctor.examination import HUB, Examination
from manager.planning.hubside import checks_of
from workerclient.base.errors import ClusterError
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient

if TYPE_CHECKING:
    from gates.wire.records import HubRecord

_ROLE = "deploy/rbac/hub.yaml"


@dataclass(slots=True)
class HubFacts:
    """What the examinations of workers take from the hub; empty where it does not answer."""

    identity: HubIdentity | None = None
    sources: dict[WorkerName, WorkerKubeconfigSource] = field(default_factory=dict)
    queues: dict[str, set[ObjectKey]] = field(default_factory=dict)
    """The LocalQueues that lead to each worker."""
    workloads: frozenset[ObjectKey] = frozenset()
    """Unfinished Workloads of this hub."""
    jobs: Mapping[str, frozenset[ObjectKey]] = field(default_factory=dict)
    """The jobs of these Workloads, by kind."""
    served: frozenset[str] = frozenset()
    """The kinds of jobs that the hub serves."""
    clusters: dict[str, str] = field(default_factory=dict)
    """The identity of each worker's cluster, as the examinations find it out."""


async def examine_hub(configuration: Configuration, seen: Examination, facts: HubFacts) -> None:
    """Examine the hub and fill in the facts, as far as it answers."""
    await seen.examine(lambda client: _examine(configuration, client, seen, facts))


async def _examine(configuration: Configuration, client: ClusterClient, seen: Examination, facts: HubFacts) -> None:
    kinds = job_kinds(configuration.jobs)
    namespace = configuration.hub.namespace
    served = await client.served_kinds([api_kind(kind) for kind in kinds])
    seen.is_reachable = True
    facts.served = frozenset(kind.gvk for kind in kinds if served[api_kind(kind)])
    await seen.examine_permissions(client, needs_on_hub(kinds, namespace), _ROLE)
    await seen.examine_permissions(client, needs_of_plans(), _ROLE, Severity.WARNING)
    seen.examine_clock(client)
    if not await seen.examine_versions(client, (WORKLOADS, ADMISSION_CHECKS, CONFIGS, CLUSTERS)):
        return
    await seen.examine_kueue(client)
    system = await client.resource(NAMESPACES).get(ObjectKey("", "kube-system"))
    uid = ClusterUID(str(system["metadata"]["uid"]))
    facts.identity = HubIdentity(configuration.hub.origin or f"hub-{uid}", uid)
    clusters = [cluster_record(raw) for raw in await listed(client, CLUSTERS)]
    facts.sources = known_sources(configuration, clusters)
    raw_checks = [raw for raw in await listed(client, ADMISSION_CHECKS) if _is_ours(raw, configuration)]
    checks = [check_record(raw) for raw in raw_checks]
    traits = listed_traits(configuration, clusters)
    configs = {
        record.name: resolve_config(record, traits) for record in map(config_record, await listed(client, CONFIGS))
    }
    found = check_findings(checks, configs, facts.sources, configuration.hub.controller_name)
    seen.note((*found, *cordon_findings(clusters)))
    await _read_workloads(configuration, client, seen, facts, raw_checks)
    await _read_queues(client, seen, facts, _workers_by_check(checks, configs))


def _is_ours(raw: Obj, configuration: Configuration) -> bool:
    return (raw.get("spec") or {}).get("controllerName") == configuration.hub.controller_name


def _workers_by_check(checks: Iterable[CheckRecord], configs: Mapping[str, ConfigRecord]) -> dict[str, tuple[str, ...]]:
    return {check.name: configs[check.config].clusters for check in checks if check.config in configs}


async def _read_workloads(
    configuration: Configuration, client: ClusterClient, seen: Examination, facts: HubFacts, checks: list[Obj]
) -> None:
    kinds = {kind.gvk: kind for kind in job_kinds(configuration.jobs)}
    names = frozenset(str(raw["metadata"]["name"]) for raw in checks)
    ours: list[tuple[HubRecord, Obj]] = []
    for raw in await listed(client, WORKLOADS):
        try:
            record = hub_record(raw, kinds)
        except (ValueError, LookupError, TypeError, AttributeError):
            continue  # the daemon says so by the Workload's own name
        if record.check(names) is not None and not record.is_true("Finished") and not record.deleted:
            ours.append((record, raw))
    facts.workloads = frozenset(record.key for record, _ in ours)
    jobs: dict[str, set[ObjectKey]] = {}
    for record, _ in ours:
        if record.owner is not None and record.owner.gvk in kinds:
            jobs.setdefault(record.owner.gvk, set()).add(ObjectKey(record.namespace, record.owner.name))
    facts.jobs = {gvk: frozenset(keys) for gvk, keys in jobs.items()}
    rivals = [
        StatusAuthor(f"{record.namespace}/{record.name}", "", record.kueue_wrote)
        for record, raw in ours
        if record.kueue_wrote and record.kueue_wrote > last_writer(raw, FIELD_MANAGER).at
    ]
    writers = [last_writer(raw, None) for raw in checks]
    seen.note(rival_findings(configuration.hub.controller_name, writers, rivals))


async def _read_queues(
    client: ClusterClient, seen: Examination, facts: HubFacts, workers: Mapping[str, tuple[str, ...]]
) -> None:
    try:
        cluster_queues = {str(raw["metadata"]["name"]): raw for raw in await listed(client, CLUSTER_QUEUES)}
        local_queues = await listed(client, LOCAL_QUEUES)
    except ClusterError as failure:
        message = f"the hub's queues cannot be read, so those of the workers are not compared: {failure}"
        seen.note([warning(HUB, Topic.QUEUES, message, f"apply {_ROLE} there")])
        return
    for raw in local_queues:
        used = cluster_queues.get(str((raw.get("spec") or {}).get("clusterQueue") or ""))
        key = ObjectKey(raw["metadata"]["namespace"], raw["metadata"]["name"])
        for check in checks_of(used) if used is not None else ():
            for worker in workers.get(check, ()):
                facts.queues.setdefault(worker, set()).add(key)


def last_writer(raw: Obj, manager: str | None) -> StatusAuthor:
    """Return the last writer of a status, or when a given writer last wrote it."""
    metadata = raw["metadata"]
    entries = [
        entry
        for entry in metadata.get("managedFields") or ()
        if entry.get("subresource") == "status" and manager in (None, entry.get("manager"))
    ]
    last: Obj = max(entries, key=lambda entry: str(entry.get("time") or ""), default={})
    return StatusAuthor(str(metadata["name"]), str(last.get("manager") or ""), str(last.get("time") or ""))


async def listed(client: ClusterClient, kind: ApiKind, selector: str = "") -> list[Obj]:
    """Return all objects of a kind."""
    return [raw async for page in client.resource(kind).pages(label_selector=selector) for _, raw in page.items]
