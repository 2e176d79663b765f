"""The workers without a daemon: everything that decides about their schedules, listed once, all workers side by side.

A worker that does not answer in time costs its own answer alone. What is kept is what the daemon's watches keep.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.configuration import KueueConfiguration
from engine.forecasting.observed import ObservedCluster
from gates.activity import Health, cluster_record
from gates.jobs.kinds import JobKind
from gates.settings import Settings, UngatedPolicy
from gates.support import dialect_served
from gates.view import GateSupport
from manager.access import AccessLoader, Source, known_sources
from manager.kinds import CLUSTERS, WORKLOADS, api_kind, job_kinds
from manager.kueue_configuration import load_kueue_configuration
from manager.observation import FOLLOWED_KINDS
from manager.planning.hubside import HubSide
from manager.planning.planner import Planner, Sight, Terms
from workerclient.cluster import ClusterClient, Surroundings
from workerclient.errors import ClusterError
from workerclient.skew import Skew

_PATIENCE: Final = 3.0
"""Long lists may take so many times the usual deadline."""


_NO_PODS: Final = "pods were not looked at (podForecast): only a daemon follows them"


class ListedWorkers:
    """Reads each worker once."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        kinds: Mapping[str, JobKind],
        loader: AccessLoader,
        kueues: Mapping[str, KueueConfiguration],
        surroundings: Surroundings,
        seconds: float,
        with_pods: Collection[str] = (),
    ) -> None:
        self._sources = sources
        self._with_pods = with_pods
        self._kinds = kinds
        self._loader = loader
        self._kueues = kueues
        self._surroundings = surroundings
        self._seconds = seconds
        self._known: dict[str, Sight] = {}

    async def sights(self, names: Sequence[str]) -> Mapping[str, Sight]:
        """Return what each worker holds; one that was read is not read again."""
        async with asyncio.TaskGroup() as group:
            reads = {name: group.create_task(self._sight(name)) for name in names if name not in self._known}
        self._known |= {name: read.result() for name, read in reads.items()}
        return self._known

    async def _sight(self, name: str) -> Sight:
        source = self._sources.get(name)
        if source is None:
            return Sight(None, "there is neither a MultiKueueCluster nor an entry of `workers` of that name")
        try:
            async with self._surroundings.clock.timeout(self._seconds):
                access = await self._loader.load(source)
                if isinstance(access, Health):
                    return Sight(None, access.message)
                return await self._read(name, access)
        except TimeoutError:
            return Sight(None, f"it was not read within {self._seconds:g} s")
        except (ClusterError, ValueError) as error:
            return Sight(None, str(error))

    async def _read(self, name: str, access: ClusterAccess) -> Sight:
        cluster = ObservedCluster(self._kueues.get(name) or load_kueue_configuration(None))
        client = ClusterClient(name, access, self._surroundings)
        try:
            for kind in FOLLOWED_KINDS:
                async for page in client.resource(kind).pages(patience=_PATIENCE):
                    for identity, raw in page.items:
                        value = cluster.read(kind.kind, raw)
                        cluster.put(kind.kind, identity.key.namespace, identity.key.name, value)
            _, knows_gates = dialect_served(await client.openapi(WORKLOADS))
            gates = GateSupport.HONOURED if knows_gates else GateSupport.MISSING
            served = await client.served_kinds([api_kind(kind) for kind in self._kinds.values()])
            unserved = frozenset(gvk for gvk, kind in self._kinds.items() if not served[api_kind(kind)])
            notes = (_NO_PODS,) if name in self._with_pods else ()
            return Sight(cluster, skew_ns=certain_skew_ns(client.skew), gates=gates, unserved=unserved, notes=notes)
        finally:
            await client.close()


def certain_skew_ns(skew: Skew | None) -> int:
    """Return how far a cluster's clock runs ahead of ours, as far as that is certain."""
    if skew is None or abs(skew.seconds) <= skew.uncertainty_seconds:
        return 0
    return int(skew.seconds * 1e9)


async def listed_planner(
    configuration: Configuration,
    hub: ClusterClient,
    settings: tuple[Settings, Mapping[str, UngatedPolicy], Mapping[str, KueueConfiguration]],
    surroundings: Surroundings,
    seconds: float,
) -> Planner:
    """Return what makes plans from the clusters themselves; raises a `ClusterError` of the hub."""
    decides, policies, kueues = settings
    clusters = [cluster_record(raw) async for page in hub.resource(CLUSTERS).pages() for _, raw in page.items]
    loader = AccessLoader(hub, configuration)
    kinds = {kind.gvk: kind for kind in job_kinds(configuration.jobs)}
    with_pods = {worker.name for worker in configuration.workers if worker.pod_forecast}
    sources = known_sources(configuration, clusters)
    workers = ListedWorkers(sources, kinds, loader, kueues, surroundings, seconds, with_pods)
    side = HubSide(hub, configuration.hub.controller_name)
    return Planner(side, workers, Terms(kinds, decides, policies), surroundings.clock)
