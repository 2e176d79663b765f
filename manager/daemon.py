"""The composition root: builds the daemon out of its parts and runs them until it is told to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from prometheus_client import CollectorRegistry

from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from engine.configuration import KueueConfiguration
from engine.cost.models import CostModel
from gates.actions import Decision
from gates.forecasts import ForecastRecord
from gates.marks import HubIdentity
from gates.settings import Dispatcher, GatePolicy, Settings, UngatedPolicy
from gates.view import Group
from manager.absences import Absences
from manager.access import AccessLoader, sources
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
from manager.kueue_configuration import KueueConfigurationError, load_kueue_configuration
from manager.lanes import Lanes
from manager.leadership import Alone, Leadership
from manager.logs import get_log
from manager.metrics import Metrics, Role
from manager.observation import Observation
from manager.permissions import needs_on_hub
from manager.queue import KeyedQueue
from manager.reconciler import Deed, Hands, Listeners, Look, Pulse, Reconciler, Rules
from manager.remote import RemoteHand
from manager.rivals import Rivals
from manager.snapshots import Snapshots
from manager.statuses import Place, Statuses
from manager.telemetry.deedlog import log_deed
from manager.telemetry.watching import Watcher
from manager.wakeups import Wakeups
from manager.worker import Notices, WorkerLink
from workerclient.budget import BudgetLimits
from workerclient.cluster import ClientLimits, ClusterClient, Surroundings
from workerclient.endpoint import endpoint_for
from workerclient.errors import ClusterError, Forbidden
from workerclient.kind import Key
from workerclient.preflight import Need


@dataclass(frozen=True, slots=True)
class Observers:
    """Who is told what the daemon does; for journals and tests."""

    on_decision: Callable[[Group, Decision], None] | None = None
    on_look: Callable[[Look], None] | None = None
    on_forecast: Callable[[Key, ForecastRecord], None] | None = None
    on_forgotten: Callable[[Key], None] | None = None
    on_deed: Callable[[Deed], None] | None = None

    def listeners(self, forecasts: Forecasts | None, watcher: Watcher) -> Listeners:
        """Return who listens to the reconciler."""
        tell = self.on_decision
        looks: list[Callable[[Look], None]] = [watcher.note_look]
        looks += [] if tell is None else [lambda look: tell(look.group, look.decision)]
        looks += [] if self.on_look is None else [self.on_look]
        records = [] if self.on_forecast is None else [self.on_forecast]
        endings = [watcher.forget, *([] if self.on_forgotten is None else [self.on_forgotten])]
        deeds = [watcher.note_deed, log_deed, *([] if self.on_deed is None else [self.on_deed])]
        if forecasts is not None:
            looks.append(lambda look: forecasts.note_decision(look.group, look.decision))
            records.append(lambda _key, record: forecasts.note_record(record))
            endings.append(forecasts.forget)
        return Listeners(tuple(looks), tuple(deeds), (watcher.note_duration,), tuple(records), tuple(endings))


def settings_of(configuration: Configuration) -> Settings:
    """Return what decisions depend on."""
    gates, dispatcher = configuration.gates, configuration.dispatcher
    return Settings(
        timeout_ns=_ns(gates.single_cluster_preemption_timeout.total_seconds()),
        non_preempting_grace_ns=_ns(gates.non_preempting_grace.total_seconds()),
        hold_while_quota_reserved=gates.hold_while_quota_reserved,
        gate_single_target=gates.gate_single_target,
        dispatcher=Dispatcher(dispatcher.mode),
        step_size=dispatcher.step_size,
        round_ns=_ns(dispatcher.round_timeout.total_seconds()),
        worker_lost_ns=_ns(configuration.worker_lost_timeout.total_seconds()),
        reject_ownerless=configuration.jobs.ownerless_workloads == "Reject",
        policy=GatePolicy(gates.policy),
        grace_ns=_ns(gates.grace_period.total_seconds()),
        skip_futile=gates.skip_futile,
        forecast_round_ns=_ns(dispatcher.forecast_round_timeout.total_seconds()),
    )


def policies_of(configuration: Configuration) -> Mapping[str, UngatedPolicy]:
    """Return what to do with each worker whose Kueue does not know gates."""
    return {worker.name: UngatedPolicy(worker.gates_unsupported) for worker in configuration.workers}


def kueues_of(configuration: Configuration) -> Mapping[str, KueueConfiguration]:
    """Return the Kueue Configurations that are known, by worker."""
    found = {}
    for index, worker in enumerate(configuration.workers):
        if worker.kueue_configuration is not None:
            try:
                found[worker.name] = load_kueue_configuration(worker.kueue_configuration)
            except KueueConfigurationError as error:
                raise StartupError(f"workers[{index}].kueueConfiguration: {error}") from error
    return found


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
        self._kueues = kueues_of(configuration)
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
        self._absences = Absences(self.hub, clock, settings.worker_lost_ns)
        self._loader = AccessLoader(self.hub.client, configuration)
        self.fleet = wakeups.fleet = Fleet(
            lambda: sources(self._configuration, self.hub),
            self._loader,
            self._make_link,
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
        known = self._kueues
        renewed = {name for name in {*known, *kueues} if known.get(name) != kueues.get(name)}
        self._configuration, self._kueues = configuration, kueues
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
            link.change_budget(budget_of(configuration, name))
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

    def _make_link(self, name: str, access: ClusterAccess) -> WorkerLink:
        budget = budget_of(self._configuration, name)
        notices = Notices(self._wakeups.remote_workload, self._wakeups.remote_job, self._wakeups.worker)
        return WorkerLink(
            name,
            access,
            self._surroundings,
            ClientLimits(budget=budget),
            self.identity.origin,
            self._kinds,
            notices,
            self._observe(name, access),
        )

    def _observe(self, name: str, access: ClusterAccess) -> Observation | None:
        if self.forecasts is None:
            return None
        kueue = self._kueues.get(name) or load_kueue_configuration(None)
        return Observation(name, access, self._surroundings, kueue, self._wakeups.remote_workload)


def budget_of(configuration: Configuration, name: str) -> BudgetLimits:
    """Return what may be asked of a worker."""
    options = next((worker for worker in configuration.workers if worker.name == name), None)
    return BudgetLimits(float(options.qps), options.burst) if options is not None else BudgetLimits()


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
