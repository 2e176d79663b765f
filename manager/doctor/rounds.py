"""Examines the hub, then all workers side by side, each within its own time: one that is dead hides no other."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from gates.detection.detected import DetectedKueue
from gates.diagnosis.finding import Finding, Topic, error
from gates.diagnosis.identity import identity_findings
from gates.model.activity import Health
from manager.clusters.access import AccessLoader, WorkerKubeconfigSource, listed_sources
from manager.doctor.examination import HUB, Examination
from manager.doctor.hub import HubFacts, examine_hub
from manager.doctor.worker import examine_worker
from manager.process.supervision import Misunderstood, per_cluster
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext, ClusterClient


class UnknownWorkerError(ValueError):
    """There is no worker of that name; the message says which there are."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings, how many checks made them, and which clusters were examined."""

    findings: tuple[Finding, ...]
    checks: int
    clusters: tuple[str, ...]
    hub_answers: bool
    kueues: Mapping[str, DetectedKueue]
    """Which Kueue runs on each cluster, as far as that was found out."""


async def examine_all(
    configuration: Configuration,
    access: ClusterAccess,
    context: ClientContext,
    seconds: float,
    only: str | None = None,
) -> Diagnosis:
    """Examine the hub and its workers, or only one of them; raises `UnknownWorkerError`."""
    facts = HubFacts(sources=listed_sources(configuration))
    hub = Examination(HUB, access, context, seconds)
    await _in_time(hub, examine_hub(configuration, hub, facts))
    if only is not None and only not in facts.sources:
        known = ", ".join(sorted(facts.sources)) or "there are none"
        raise UnknownWorkerError(f'there is no worker "{only}" (known: {known})')
    sources = [source for name, source in sorted(facts.sources.items()) if only in (None, name)]
    client = ClusterClient(HUB, access, context)
    loader = AccessLoader(client, configuration)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_examined(configuration, source, loader, hub, facts)) for source in sources]
    finally:
        await client.close()
    examined = [(hub.findings, hub.checks, hub.kueue), *(task.result() for task in tasks)]
    identities = identity_findings(facts.clusters, facts.identity.hub if facts.identity is not None else None)
    found = (*(finding for findings, _, _ in examined for finding in findings), *identities)
    checks = sum(checks for _, checks, _ in examined) + len(facts.clusters)  # each identity is compared with the others
    clusters = (HUB, *(source.name for source in sources))
    each = zip(clusters, (kueue for _, _, kueue in examined), strict=True)
    kueues = {cluster: kueue for cluster, kueue in each if kueue is not None}
    return Diagnosis(found, checks, clusters, hub.is_reachable, kueues)


async def _examined(
    configuration: Configuration,
    source: WorkerKubeconfigSource,
    loader: AccessLoader,
    hub: Examination,
    facts: HubFacts,
) -> tuple[list[Finding], int, DetectedKueue | None]:
    """Return what was found on a worker, by how many checks, and which Kueue it runs."""
    try:
        async with hub.client_context.clock.timeout(hub.seconds):
            access = await per_cluster(loader.load(source), ClusterError)
    except (ClusterError, TimeoutError) as failure:
        why = str(failure) or f"no answer within {hub.seconds:g} s"
        message = f"its kubeconfig cannot be read from the hub: {why}"
        return [error(source.name, Topic.KUBECONFIG, message, "make the hub reachable first")], 1, None
    if isinstance(access, Misunderstood):
        message = f"its kubeconfig {access.problem}"
        return [error(source.name, Topic.KUBECONFIG, message, "correct the kubeconfig")], 1, None
    if isinstance(access, Health):
        remedy = "correct the kubeconfig that its MultiKueueCluster or the configuration names"
        return [error(source.name, Topic.KUBECONFIG, f"{access.message} ({access.reason})", remedy)], 1, None
    seen = Examination(source.name, access, hub.client_context, hub.seconds)
    await _in_time(seen, examine_worker(configuration, seen, facts))
    return seen.findings, seen.checks + 1, seen.kueue  # the kubeconfig is one


async def _in_time(seen: Examination, examination: Awaitable[None]) -> None:
    try:
        async with seen.client_context.clock.timeout(seen.seconds):
            outcome = await per_cluster(examination, ValueError)
        if isinstance(outcome, Misunderstood):
            seen.misunderstand(outcome)
    except TimeoutError:
        message = f"it was not examined within {seen.seconds:g} s"
        remedy = "check its load and the network, or raise --timeout"
        seen.note([error(seen.cluster, Topic.REACHABILITY, message, remedy)])
    except ValueError as failure:
        remedy = "correct the certificates in its kubeconfig"
        seen.note([error(seen.cluster, Topic.KUBECONFIG, str(failure), remedy)])
