"""The composition root: builds the daemon out of its parts and runs them until it is told to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from prometheus_client import CollectorRegistry

from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.configuration import KueueConfiguration
from engine.cost.models import CostModel
from gates.marks import HubIdentity
from manager.absences import Absences
from manager.access import AccessLoader, sources
from manager.choices import kueues_of, policies_of, settings_of
from manager.cost.clusters import ConnectedClusters
from manager.cost.fleet import CostFleet
from manager.cost.models import configured_model
from manager.errors import StartupError
from manager.fleet import Fleet
from manager.forecasts import Forecasts
from manager.garbage import GarbageCollector
from manager.gauges import DaemonGauges
from manager.hub import HubLink, HubNotices
from manager.hubpermissions import HubPermissions
from manager.hubwrites import HubHand
from manager.inspection import Inspector, Standing
from manager.kinds import NAMESPACES, job_kinds
from manager.lanes import Lanes
from manager.leadership import Alone, Leadership
from manager.links import LinkMaker
from manager.logs import get_log
from manager.metrics import Metrics, Role
from manager.observers import Observers
from manager.permissions import needs_on_hub
from manager.queue import KeyedQueue
from manager.reconciler import Hands, Pulse, Reconciler, Rules
from manager.remote import RemoteHand
from manager.rivals import Rivals
from manager.snapshots import Snapshots
from manager.statuses import Place, Statuses
from manager.telemetry.watching import Watcher
from manager.wakeups import Wakeups
from workerclient.cluster import ClusterClient, Surroundings
from workerclient.endpoint import endpoint_for
from workerclient.errors import ClusterError, Forbidden
from workerclient.kind import Key
from workerclient.preflight import Need


def check_usable(access: ClusterAccess) -> None:
    """Raise `StartupError` if the hub cannot be connected to with this, whether or not it is there."""
    try:
        endpoint_for(access)
    except ValueError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error


async def identify(configuration: Configuration, access: ClusterAccess, surroundings: Surroundings) -> HubIdentity:
    """Find out which hub this is."""
    client = ClusterClient("hub", access, surroundings)
    try:
        namespace = await client.resource(NAMESPACES).get(Key("", "kube-system"))
    except ClusterError as error:
        raise StartupError(f"the hub does not say who it is: {error}") from error
    finally:
        await client.close()
    uid = str(namespace["metadata"]["uid"])
    return HubIdentity(configuration.hub.origin or f"hub-{uid}", uid)


class Daemon:
    """The orchestrator. To be made inside the running loop; `run` once."""

    def __init__(
        self,
        configuration: Configuration,
        access: ClusterAccess,
        identity: HubIdentity,
        surroundings: Surroundings,
        observers: Observers | None = None,
        leadership: Leadership | None = None,
    ) -> None:
        model = configured_model(configuration) if configuration.cost_controller.enabled else None
        self._configuration = configuration
        self._access = access
        self._cost_clusters: ConnectedClusters | None = None
        self._leadership: Leadership = leadership or Alone()
        self._surroundings = surroundings = replace(surroundings, may_write=self._leadership.may_write)
        self.elected = asyncio.Event()
        """Set once this instance may act."""
        self._kinds = job_kinds(configuration.jobs)
        self.identity = identity
        clock, jitter = surroundings.clock, surroundings.jitter
        self.workloads: KeyedQueue[Key] = KeyedQueue(clock)
        self.conditions: KeyedQueue[Place] = KeyedQueue(clock)
        self._wakeups = wakeups = Wakeups(self.workloads, self.conditions)
        self.connected = wakeups.hub_is_there
        self.hub = wakeups.hub = HubLink(
            access,
            surroundings,
            configuration.hub.namespace,
            configuration.hub.controller_name,
            self._kinds,
            HubNotices(
                on_workload=wakeups.hub_workload,
                on_job=wakeups.hub_job,
                on_check=wakeups.check,
                on_config=wakeups.config,
                on_cluster=wakeups.cluster,
                on_source=wakeups.source,
                on_connection=wakeups.hub_connection,
            ),
            follow_profiles=configuration.cluster_profiles.enabled,
        )
        settings = settings_of(configuration)
        self._links = LinkMaker(
            configuration, kueues_of(configuration), surroundings, identity.origin, self._kinds, wakeups
        )
        self._absences = Absences(self.hub, clock, settings.worker_lost_ns)
        self._loader = AccessLoader(self.hub.client, configuration)
        self.fleet = wakeups.fleet = Fleet(
            lambda: sources(self._configuration, self.hub),
            self._loader,
            self._links.make,
            self._absences,
            clock,
            self._worker_changed,
        )
        self.forecasts = (
            Forecasts(configuration.forecast, settings, identity, self.fleet.links, clock)
            if configuration.forecast.enabled
            else None
        )
        self.costs = self._cost_fleet(access, model) if model is not None else None
        self.lanes = Lanes(clock, jitter, self.workloads.add_after, self._note_failure)
        role = Role.STANDALONE if isinstance(self._leadership, Alone) else Role.LEADER
        self.metrics = Metrics(role, self.fleet.names)
        self.watcher = Watcher(self.metrics)
        self.metrics.registry.register(DaemonGauges(self))
        remote = RemoteHand(self.hub, identity, clock, self._leadership.confirm, self.metrics)
        links, missing_since = self.fleet.links, self._absences.missing_since
        snapshots = Snapshots(self.hub, links, missing_since, self.lanes, clock, self.forecasts)
        self._rules = rules = Rules(identity, settings, policies_of(configuration))
        standing = Standing(lambda: self.may_act, configuration.journal.path)
        self.inspector = Inspector(self.hub, self.fleet, snapshots, rules, self.forecasts, clock, standing)
        self._reconciler = Reconciler(
            self.hub,
            links,
            snapshots,
            Hands(HubHand(self.hub, clock, self.metrics), remote, self.lanes),
            rules,
            self.workloads,
            Pulse(clock, jitter),
            listeners=(observers or Observers()).listeners(self.forecasts, self.watcher),
        )
        self._permissions = HubPermissions(self.hub.client, self._needs_on_hub(), clock)
        self._rivals = wakeups.rivals = Rivals(self.hub, configuration.hub.controller_name, clock)
        self._statuses = Statuses(self.hub, self.fleet, self.conditions, self._rivals, clock, jitter)
        interval = configuration.gc_interval.total_seconds()
        self.garbage = GarbageCollector(self.hub, self.fleet, remote, self.lanes, identity, interval, clock)

    @property
    def may_act(self) -> bool:
        """Tell whether this instance may act now."""
        return self.elected.is_set() and self._leadership.may_write()

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Return everything that is counted and shown here."""
        return (self.metrics.registry, *(() if self.costs is None else (self.costs.metrics.registry,)))

    def now_ns(self) -> int:
        """Return the time on this daemon's clock."""
        return self._surroundings.clock.now_ns()

    def missing_since(self, worker: str) -> int:
        """Return since when a worker that is away has been so."""
        return self._absences.missing_since(worker)

    def unready(self) -> str:
        """Return why the daemon cannot do its work now; nothing while it can, or stands by."""
        return "" if self.hub.is_connected else f"the hub cannot be read: {self.hub.client.report.message}"

    async def run(self) -> None:
        """Work until cancelled; raises `LeadershipLostError` when another instance takes over."""
        try:
            async with self.lanes, asyncio.TaskGroup() as group:
                group.create_task(self.hub.client.run())
                group.create_task(self._run_fleet())
                group.create_task(self._permissions.run(self.connected))
                group.create_task(self._work())
                group.create_task(self._leadership.run(self.elected.set))
        finally:
            await self.hub.client.close()  # a client that was never run closes nothing itself

    async def drain(self, seconds: float) -> None:
        """Take no new Workload up, and wait until what is on its way has ended, but not longer than that."""
        self.workloads.close()
        try:
            async with self._surroundings.clock.timeout(seconds):
                await self.workloads.emptied.wait()
                await self.lanes.emptied.wait()
        except TimeoutError:
            get_log().warning("daemon.undrained", actions=self.lanes.in_flight)
        await self._leadership.release()

    async def _run_fleet(self) -> None:
        """Wait for the hub's lists before the first look at the workers, so that none is missed."""
        await self._wakeups.hub_is_there.wait()
        await self.fleet.run()

    async def _work(self) -> None:
        """Act, once it is certain that nobody else does; until then only the caches are kept warm."""
        await self._wakeups.hub_is_there.wait()
        await self.elected.wait()
        await self._absences.load()
        await self._rivals.refuse_present()
        await self.fleet.settled.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.workloads.serve(self._reconciler.look))
            group.create_task(self.conditions.serve(self._statuses.look))
            group.create_task(self.garbage.run())
            group.create_task(self._absences.run())
            group.create_task(self._rivals.run())
            if self.costs is not None:
                group.create_task(self.costs.run())

    def prepare(self, configuration: Configuration, access: ClusterAccess) -> Callable[[], Awaitable[None]]:
        """Make ready for what may change, and return what goes over to it; raises `StartupError` if that cannot be."""
        kueues = kueues_of(configuration)
        check_usable(access)
        return partial(self._go_over, configuration, access, kueues)

    async def _go_over(
        self, configuration: Configuration, access: ClusterAccess, kueues: Mapping[str, KueueConfiguration]
    ) -> None:
        self._configuration = configuration
        renewed = self._links.change(configuration, kueues)
        self._loader.reconfigure(configuration)
        settings = self._rules.settings = settings_of(configuration)
        self._rules.policies = policies_of(configuration)
        self._absences.change_grace(settings.worker_lost_ns)
        if self.forecasts is not None:
            self.forecasts.reconfigure(configuration.forecast, settings)
        if self.costs is not None:
            self.costs.reconfigure(configuration)
        self.garbage.change_interval(configuration.gc_interval.total_seconds())
        for name, link in self.fleet.links.items():
            link.change_budget(self._links.budget(name))
        await self._change_hub(access)
        self.fleet.renew(renewed)
        self._wakeups.everything()

    async def _change_hub(self, access: ClusterAccess) -> None:
        if access == self._access:
            return
        self._access = access
        self.hub.client.reconfigure(access)
        await self._leadership.reconfigure(access)
        if self.costs is not None and self._cost_clusters is not None:
            self._cost_clusters.change_hub(access)
            self.costs.poke()

    def _cost_fleet(self, access: ClusterAccess, model: CostModel) -> CostFleet:
        places = self._configuration.cost_controller.clusters
        self._cost_clusters = ConnectedClusters(places, access, self.fleet.links)
        return CostFleet(self._configuration, model, self._cost_clusters, self._surroundings)

    def _needs_on_hub(self) -> tuple[Need, ...]:
        hub, election = self._configuration.hub, self._configuration.leader_election
        lease = Key(election.namespace or hub.namespace, election.lease_name)
        return needs_on_hub(self._kinds, hub.namespace, lease)

    def _worker_changed(self, name: str) -> None:
        self._wakeups.worker(name)
        if self.costs is not None:
            self.costs.poke()

    def _note_failure(self, key: Key, cluster: str, error: Exception) -> None:
        unforeseen = None if isinstance(error, ClusterError) else error
        get_log().warning("action.failed", workload=str(key), worker=cluster, error=str(error), exc_info=unforeseen)
        self.metrics.count_failure(cluster)
        link = self.fleet.links.get(cluster)
        if isinstance(error, Forbidden) and link is not None:
            link.doubt_permissions()
