"""Examines one worker, with what the hub said about what it needs."""

from collections.abc import Iterable

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from config.names import ORIGIN_LABEL
from config.sections.settings import Configuration
from gates.detection.gate_switch import agreed
from gates.diagnosis.capabilities import gate_findings, unserved_jobs
from gates.diagnosis.finding import Severity
from gates.diagnosis.identity import unidentified
from gates.diagnosis.objects import Marked, namesake_findings, queue_findings
from gates.jobs.kinds import JobKind
from gates.model.marks import HubIdentity, hub_of, origin_of
from gates.wire.record_readers import replica_record
from gates.wire.records import ReplicaRecord
from manager.base.from_configuration import ungated_policy_of
from manager.base.kinds import LOCAL_QUEUES, NAMESPACES, WORKLOADS, api_kind, job_kinds
from manager.base.kueue_configuration import KueueConfigurationError, load_kueue_configuration, switches_gates
from manager.clusters.cluster_identity import cluster_uid
from manager.clusters.permissions import (
    needs_of_detection,
    needs_of_forecasts,
    needs_of_pod_forecasts,
    needs_of_topology,
    needs_on_worker,
)
from manager.doctor.examination import Examination
from manager.doctor.hub import HubFacts, listed
from manager.models.topology_watches import ROLE as TOPOLOGY_ROLE
from manager.planning.listed import certain_skew_ns
from workerclient.base.errors import Forbidden, NotFound
from workerclient.cluster import ClusterClient

_ROLE = "deploy/rbac/worker.yaml"
_KUEUE_ROLE = "deploy/rbac/worker-kueue.yaml"
_FORECASTS_ROLE = "deploy/rbac/worker-forecasts.yaml"
_POD_FORECASTS_ROLE = "deploy/rbac/worker-pod-forecasts.yaml"


async def examine_worker(configuration: Configuration, seen: Examination, facts: HubFacts) -> None:
    """Examine a worker as far as it answers."""
    await seen.examine(lambda client: _examine(configuration, client, seen, facts))


async def _examine(configuration: Configuration, client: ClusterClient, seen: Examination, facts: HubFacts) -> None:
    kinds = job_kinds(configuration.jobs)
    is_kueue_there = await seen.examine_versions(client, (WORKLOADS,))
    seen.is_reachable = True
    await seen.examine_permissions(client, needs_on_worker(kinds), _ROLE)
    await _identify(client, seen, facts)
    options = configuration.worker(WorkerName(seen.cluster))
    if options is None or options.kueue_version is None:
        await seen.examine_permissions(client, needs_of_detection(), _KUEUE_ROLE, Severity.WARNING)
    if configuration.forecast.enabled:
        await seen.examine_permissions(client, needs_of_forecasts(), _FORECASTS_ROLE, Severity.WARNING)
        if options is not None and options.pod_forecast:
            await seen.examine_permissions(client, needs_of_pod_forecasts(), _POD_FORECASTS_ROLE, Severity.WARNING)
        if options is not None and options.topology:
            await seen.examine_permissions(client, needs_of_topology(), TOPOLOGY_ROLE, Severity.WARNING)
    served = await client.served_kinds([api_kind(kind) for kind in kinds])
    absent = [kind.gvk for kind in kinds if kind.gvk in facts.served and not served[api_kind(kind)]]
    seen.note(unserved_jobs(seen.cluster, absent))
    seen.examine_clock(client)
    if not is_kueue_there:
        return
    await _examine_gates(configuration, client, seen, facts)
    await _examine_queues(client, seen, facts)
    if facts.identity is not None:
        here = [kind for kind in kinds if served[api_kind(kind)]]
        await _examine_namesakes(client, seen, facts, facts.identity, here)


async def _identify(client: ClusterClient, seen: Examination, facts: HubFacts) -> None:
    try:
        facts.clusters[seen.cluster] = await cluster_uid(client)
    except (Forbidden, NotFound):
        seen.note(unidentified(seen.cluster, _ROLE))


async def _examine_gates(
    configuration: Configuration, client: ClusterClient, seen: Examination, facts: HubFacts
) -> None:
    name = WorkerName(seen.cluster)
    options = configuration.worker(name)
    found = await seen.examine_kueue(client, options.kueue_version or "" if options is not None else "")
    if found is None:
        return
    policy = ungated_policy_of(configuration, name)
    replicas = []
    if facts.identity is not None and found.knows_gates:
        workloads = await _readable(client, f"{ORIGIN_LABEL}={facts.identity.origin}")
        now_ns = seen.client_context.clock.now_ns() + certain_skew_ns(client.skew)
        replicas = [(each, now_ns - each.created_ns) for each in _ours(workloads, facts.identity)]
    configured = agreed(_configured_gates(configuration, name), found.gates_switched)
    seen.note(
        gate_findings(
            seen.cluster,
            knows_gates=found.knows_gates,
            replicas=replicas,
            dialect=found.schema.dialect,
            policy=policy,
            configured=configured,
            default_on=found.has_gates_on,
        )
    )


def _configured_gates(configuration: Configuration, name: WorkerName) -> bool | None:
    """Return what the file with the Configuration of the worker's Kueue says; one that cannot be read says nothing."""
    options = configuration.worker(name)
    path = options.kueue_configuration if options is not None else None
    try:
        return None if path is None else switches_gates(load_kueue_configuration(path))
    except KueueConfigurationError:
        return None  # the daemon does not start with it, and says so


def _ours(found: "Iterable[Obj]", identity: HubIdentity) -> Iterable[ReplicaRecord]:
    for raw in found:
        try:
            record = replica_record(raw)
        except (ValueError, LookupError, TypeError, AttributeError):
            continue  # the daemon says so by the Workload's own name
        if identity.owns(record.origin, record.hub) and not record.is_variant:
            yield record


async def _examine_queues(client: ClusterClient, seen: Examination, facts: HubFacts) -> None:
    wanted = facts.queues.get(seen.cluster)
    if not wanted:
        return
    try:
        namespaces = frozenset(str(raw["metadata"]["name"]) for raw in await listed(client, NAMESPACES))
        queues = {
            ObjectKey(raw["metadata"]["namespace"], raw["metadata"]["name"]): _why_inactive(raw)
            for raw in await listed(client, LOCAL_QUEUES)
        }
    except Forbidden:
        return  # the role for forecasts, which reads them, was missed already
    seen.note(queue_findings(seen.cluster, wanted, namespaces, queues))


def _why_inactive(raw: Obj) -> str:
    for condition in (raw.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Active" and condition.get("status") == "False":
            return str(condition.get("message") or condition.get("reason") or "it does not say why")
    return ""


async def _examine_namesakes(
    client: ClusterClient, seen: Examination, facts: HubFacts, identity: HubIdentity, kinds: Iterable[JobKind]
) -> None:
    found = await _readable(client)
    marked = [_marked(raw) for raw in found]
    seen.note(namesake_findings(seen.cluster, WORKLOADS.resource, facts.workloads, marked, identity))
    for kind in kinds:
        wanted = facts.jobs.get(kind.gvk)
        if not wanted:
            continue
        try:
            jobs = [_marked(raw) for raw in await listed(client, api_kind(kind))]
        except Forbidden:
            continue  # missed already
        seen.note(namesake_findings(seen.cluster, api_kind(kind).resource, wanted, jobs, identity))


def _marked(raw: Obj) -> Marked:
    metadata = raw["metadata"]
    key = ObjectKey(metadata.get("namespace") or "", metadata["name"])
    return Marked(key, origin_of(metadata), hub_of(metadata))


async def _readable(client: ClusterClient, selector: str = "") -> list[Obj]:
    """Return the worker's Workloads; nothing where they may not be listed, which was missed already."""
    try:
        return await listed(client, WORKLOADS, selector)
    except Forbidden:
        return []
