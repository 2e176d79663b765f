"""The workers without a daemon: everything that decides about their schedules, listed once, all workers side by side.

A worker that does not answer in time loses only its own answer. The same fields are kept as by the daemon's watches.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from engine.forecasting.observed import ObservedCluster
from engine.objects.configuration import KueueConfiguration
from gates.decision.gate_evidence import Findings
from gates.detection.gate_switch import agreed
from gates.jobs.kinds import JobKind
from gates.model.activity import Health, cluster_record
from gates.model.settings import Settings, UngatedPolicy
from gates.targets.matching import WorkerTraits
from manager.base.kinds import CLUSTERS, api_kind, job_kinds
from manager.base.kueue_configuration import (
    detected_configuration,
    load_kueue_configuration,
    switches_gates,
    version_given,
)
from manager.clusters.access import AccessLoader, WorkerKubeconfigSource, known_sources
from manager.clusters.kueue_detection import KueueDetector
from manager.clusters.worker_table import listed_traits, resolve_config
from manager.models.model_watches import FOLLOWED_KINDS
from manager.models.topology_watches import FOLLOWED_KINDS as FOLLOWED_FOR_TOPOLOGY
from manager.models.topology_watches import NOT_FOLLOWED
from manager.models.topology_watches import ROLE as TOPOLOGY_ROLE
from manager.planning.hubside import HubSide
from manager.planning.planner import Planner, PlanningView, PlanRules
from manager.process.supervision import Misunderstood, per_cluster
from workerclient.base.errors import ClusterError, Forbidden, NotFound
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.wire.skew import Skew

NO_DESCRIPTION: Final = "cannot be understood: its OpenAPI document does not describe Workloads"
_PATIENCE: Final = 3.0
"""Long lists may take so many times the usual deadline."""


_NO_PODS: Final = "pods were not looked at (podForecast): only a daemon follows them"


class ListedWorkers:
    """Reads each worker once."""

    def __init__(
        self,
        sources: Mapping[WorkerName, WorkerKubeconfigSource],
        kinds: Mapping[str, JobKind],
        loader: AccessLoader,
        kueues: Mapping[WorkerName, KueueConfiguration],
        context: ClientContext,
        seconds: float,
        with_pods: Collection[WorkerName] = (),
        with_topology: Collection[WorkerName] = (),
    ) -> None:
        self._sources = sources
        self._with_pods = with_pods
        self._with_topology = with_topology
        self._kinds = kinds
        self._loader = loader
        self._kueues = kueues
        self._client_context = context
        self._seconds = seconds
        self._known: dict[WorkerName, PlanningView] = {}

    async def sights(self, names: Sequence[WorkerName]) -> Mapping[WorkerName, PlanningView]:
        """Return what each worker holds; one that was read is not read again."""
        async with asyncio.TaskGroup() as group:
            reads = {name: group.create_task(self._sight(name)) for name in names if name not in self._known}
        self._known |= {name: read.result() for name, read in reads.items()}
        return self._known

    async def _sight(self, name: WorkerName) -> PlanningView:
        source = self._sources.get(name)
        if source is None:
            return PlanningView(None, "there is neither a MultiKueueCluster nor an entry of `workers` of that name")
        try:
            async with self._client_context.clock.timeout(self._seconds):
                found = await per_cluster(self._load_and_read(name, source), ClusterError, ValueError)
        except TimeoutError:
            return PlanningView(None, f"it was not read within {self._seconds:g} s")
        except (ClusterError, ValueError) as error:
            return PlanningView(None, str(error))
        return PlanningView(None, f"it {found.problem}") if isinstance(found, Misunderstood) else found

    async def _load_and_read(self, name: WorkerName, source: WorkerKubeconfigSource) -> PlanningView:
        access = await self._loader.load(source)
        return PlanningView(None, access.message) if isinstance(access, Health) else await self._read(name, access)

    async def _read(self, name: WorkerName, access: ClusterAccess) -> PlanningView:
        client = ClusterClient(name, access, self._client_context)
        try:
            given = self._kueues.get(name)
            kueue = await KueueDetector(client, version_given(given)).detect()
            if not kueue.schema.is_described:
                return PlanningView(None, f"it {NO_DESCRIPTION}")
            detected = detected_configuration(kueue, given)
            cluster = ObservedCluster(detected or given or load_kueue_configuration(None))
            await _list_into(cluster, client, FOLLOWED_KINDS)
            cluster.observe_topology(await self._topology_gap(name, cluster, client))
            known = Findings(
                knows_gates=kueue.knows_gates,
                configured=agreed(switches_gates(given), kueue.gates_switched),
                default_on=kueue.has_gates_on,
            )
            served = await client.served_kinds([api_kind(kind) for kind in self._kinds.values()])
            unserved = frozenset(gvk for gvk, kind in self._kinds.items() if not served[api_kind(kind)])
            notes = (_NO_PODS,) if name in self._with_pods else ()
            return PlanningView(
                cluster,
                skew_ns=certain_skew_ns(client.skew),
                gates=known.verdict,
                unserved=unserved,
                notes=notes,
                most_pod_sets=kueue.schema.most_pod_sets,
            )
        finally:
            await client.close()

    async def _topology_gap(self, name: WorkerName, cluster: ObservedCluster, client: ClusterClient) -> str:
        """List what decides where pods go, and return why it is not known; an empty text if it is."""
        if name not in self._with_topology:
            return NOT_FOLLOWED
        try:
            await _list_into(cluster, client, FOLLOWED_FOR_TOPOLOGY)
        except (Forbidden, NotFound) as error:
            return f"{error}; apply {TOPOLOGY_ROLE} on the worker"
        except ValueError as error:
            return str(error)
        return ""


async def _list_into(cluster: ObservedCluster, client: ClusterClient, kinds: Iterable[ApiKind]) -> None:
    for kind in kinds:
        async for page in client.resource(kind).pages(patience=_PATIENCE):
            for identity, raw in page.items:
                value = cluster.read(kind.kind, raw)
                cluster.put(kind.kind, identity.key.namespace, identity.key.name, value)


def certain_skew_ns(skew: Skew | None) -> int:
    """Return how far a cluster's clock runs ahead of ours, as far as that is certain."""
    if skew is None or abs(skew.seconds) <= skew.uncertainty_seconds:
        return 0
    return int(skew.seconds * NANOSECONDS)


async def listed_planner(
    configuration: Configuration,
    hub: ClusterClient,
    settings: tuple[Settings, Mapping[WorkerName, UngatedPolicy], Mapping[WorkerName, KueueConfiguration]],
    context: ClientContext,
    seconds: float,
) -> Planner:
    """Return what makes plans from the clusters themselves; raises a `ClusterError` of the hub."""
    decides, policies, kueues = settings
    clusters = [cluster_record(raw) async for page in hub.resource(CLUSTERS).pages() for _, raw in page.items]
    loader = AccessLoader(hub, configuration)
    kinds = {kind.gvk: kind for kind in job_kinds(configuration.jobs)}
    with_pods = {worker.name for worker in configuration.workers if worker.pod_forecast}
    with_topology = {worker.name for worker in configuration.workers if worker.topology}
    sources = known_sources(configuration, clusters)
    workers = ListedWorkers(sources, kinds, loader, kueues, context, seconds, with_pods, with_topology)
    traits = listed_traits(configuration, clusters)
    side = HubSide(hub, configuration.hub.controller_name, lambda config: resolve_config(config, traits))
    rules = PlanRules(kinds, decides, policies, lambda name: traits.get(name, WorkerTraits()))
    return Planner(side, workers, lambda: rules, context.clock)
