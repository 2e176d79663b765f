"""Examines one worker, with what the hub said about what it needs."""

from collections.abc import Iterable

from config.api.meta import Obj, ObjectKey
from config.names import ORIGIN_LABEL
from config.sections.settings import Configuration
from gates.assembly.gate_support import describes_workloads, dialect_served
from gates.diagnosis.capabilities import gate_findings, unserved_jobs
from gates.diagnosis.finding import Severity
from gates.diagnosis.identity import unidentified
from gates.diagnosis.objects import Marked, namesake_findings, queue_findings
from gates.jobs.kinds import JobKind
from gates.model.marks import HubIdentity, hub_of, origin_of
from gates.model.settings import UngatedPolicy
from gates.wire.records import ReplicaRecord, replica_record
from manager.base.kinds import LOCAL_QUEUES, NAMESPACES, WORKLOADS, api_kind, job_kinds
from manager.clusters.cluster_identity import cluster_uid
from manager.clusters.permissions import needs_of_forecasts, needs_of_pod_forecasts, needs_on_worker
from manager.doctor.examination import Examination
from manager.doctor.hub import HubFacts, listed
from manager.planning.listed import NO_DESCRIPTION, certain_skew_ns
from manager.process.supervision import Misunderstood
from workerclient.base.errors import Forbidden, NotFound
from workerclient.cluster import ClusterClient

_ROLE = "deploy/rbac/worker.yaml"
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
    if configuration.forecast.enabled:
        await seen.examine_permissions(client, needs_of_forecasts(), _FORECASTS_ROLE, Severity.WARNING)
        options = configuration.worker(seen.cluster)
        if options is not None and options.pod_forecast:
            await seen.examine_permissions(client, needs_of_pod_forecasts(), _POD_FORECASTS_ROLE, Severity.WARNING)
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
    openapi = await client.openapi(WORKLOADS)
    if not describes_workloads(openapi):
        seen.misunderstand(Misunderstood(NO_DESCRIPTION))
        return
    dialect, knows_gates = dialect_served(openapi)
    options = configuration.worker(seen.cluster)
    policy = UngatedPolicy(options.gates_unsupported) if options is not None else UngatedPolicy.ALLOW
    replicas = []
    if facts.identity is not None and knows_gates:
        found = await _readable(client, f"{ORIGIN_LABEL}={facts.identity.origin}")
        now_ns = seen.client_context.clock.now_ns() + certain_skew_ns(client.skew)
        replicas = [(each, now_ns - each.created_ns) for each in _ours(found, facts.identity)]
    seen.note(gate_findings(seen.cluster, knows_gates=knows_gates, replicas=replicas, dialect=dialect, policy=policy))


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
