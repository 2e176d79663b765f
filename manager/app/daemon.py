"""The composition root: builds the daemon out of its parts and runs them until it is told to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from prometheus_client import CollectorRegistry

from config.api.identifiers import ClusterUID
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from gates.model.marks import HubIdentity
from manager.app.cluster_core import ClusterCore, CoreOptions
from manager.app.daemon_costs import DaemonCosts
from manager.app.decision_loop import DecisionLoop
from manager.app.event_router import EventRouter, RouterTargets
from manager.app.gauges import DaemonGauges, GaugeSources
from manager.app.listeners import Observers
from manager.app.reload_targets import ReloadTargets
from manager.base.errors import StartupError
from manager.base.kinds import NAMESPACES, job_kinds
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.clusters.permissions import needs_on_hub
from manager.cost.fleet import CostFleet
from manager.cost.models import configured_model
from manager.election.leadership import Leadership, NoElection
from manager.logging.logs import get_log
from manager.metrics.metrics import Metrics, Role
from manager.queueing.action_slots import ActionSlots
from manager.queueing.queue import KeyedQueue
from manager.reconcile.decision_limit import DecisionLimit
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.reconciler import WorkloadMemory
from manager.reconcile.rules import Rules
from manager.reconcile.windows import Windows
from manager.reconcile.worker_writer import RemoteNotices
from manager.serving.inspection import DaemonState, Inspector
from manager.upkeep.conditions import ActiveConditions, ConditionTarget
from manager.upkeep.credential_expiry import CredentialWatch
from manager.upkeep.garbage import GarbageCollector
from manager.upkeep.hub_permissions import HubPermissions
from manager.upkeep.rivals import Rivals
from manager.upkeep.stranded_jobs import StrandedJobs
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.questions.preflight import Need

_HUB_CHANGED: Final = "the hub's address or credentials changed, so that records may be from an earlier time"


async def identify(configuration: Configuration, access: ClusterAccess, context: ClientContext) -> HubIdentity:
    """Identify the hub."""
    client = ClusterClient("hub", access, context)
    try:
        namespace = await client.resource(NAMESPACES).get(ObjectKey("", "kube-system"))
    except ClusterError as error:
        raise StartupError(f"cannot identify the hub (reading namespace kube-system failed): {error}") from error
    finally:
        await client.close()
    uid = ClusterUID(str(namespace["metadata"]["uid"]))
    return HubIdentity(configuration.hub.origin or f"hub-{uid}", uid)


class Daemon:
    """The orchestrator. To be made inside the running loop; `run` once."""

    def __init__(
        self,
        configuration: Configuration,
        access: ClusterAccess,
        identity: HubIdentity,
        context: ClientContext,
        observers: Observers | None = None,
        leadership: Leadership | None = None,
    ) -> None:
        model = configured_model(configuration) if configuration.cost_controller.enabled else None
        self._leadership: Leadership = leadership or NoElection()
        self.elected = asyncio.Event()
        """Set once this instance may act."""
        context = replace(context, may_write=self._leadership.may_write)
        options = CoreOptions(identity, configuration.hub.controller_name, job_kinds(configuration.jobs), acts=True)
        self.core = core = ClusterCore(configuration, access, context, options)
        self._rules = Rules.of(configuration, identity)
        self._memory = WorkloadMemory(Windows(core.clock), DecisionLimit(core.clock))
        self.forecasts = _forecasts(configuration, self._rules, core)
        self._rivals = Rivals(core.hub, configuration.hub.controller_name, core.clock)
        self.conditions: KeyedQueue[ConditionTarget] = KeyedQueue(core.clock)
        """The objects whose condition is to be written."""
        self.router = EventRouter(core, RouterTargets(self.conditions, self._rivals, self._memory))
        core.events.subscribe(self.router)
        self._costs = DaemonCosts(configuration, model, access, core) if model is not None else None
        self.metrics = Metrics(_role(self._leadership), core.fleet.names)
        notices = RemoteNotices(self._leadership.confirm, self.router.job_removed)
        self.loop = loop = DecisionLoop(
            core, self._rules, self.forecasts, self._memory, notices, self.metrics, observers or Observers()
        )
        gauges = GaugeSources(lambda: self.may_act, core, loop.slots, loop.listener, self.forecasts)
        self.metrics.registry.register(DaemonGauges(gauges))
        self.inspector = self._inspector(configuration)
        core.events.subscribe_viewers(self.inspector.streams.mark, self.inspector.streams.feed.mark_all)
        self._permissions = HubPermissions(core.hub.client, _needs_on_hub(configuration), core.context)
        self._conditions = ActiveConditions(
            core.hub, core.fleet, self.conditions, self._rivals, core.clock, core.jitter, core.context.on_retry
        )
        stranded = StrandedJobs(core.hub, core.fleet, core.lost_workers, self._rules, core.clock)
        self.garbage = GarbageCollector(
            core.hub, core.fleet, loop.worker_writer, loop.slots, identity, configuration, core.clock, stranded
        )
        self._reload_targets = self._reached_by_reload(access)

    def _inspector(self, configuration: Configuration) -> Inspector:
        core, leader, decisions = self.core, self._leadership.leader, self.loop.decisions
        state = DaemonState(lambda: self.may_act, configuration.journal.path, leader=leader, decisions=decisions)
        return Inspector(core.hub, core.fleet, self.loop.snapshots, self._rules, self.forecasts, core.clock, state)

    def _reached_by_reload(self, access: ClusterAccess) -> ReloadTargets:
        forecasts = () if self.forecasts is None else (self.forecasts.history,)
        costs = () if self._costs is None else (self._costs,)
        return ReloadTargets(
            access,
            (*self.core.reconfigurable, self._rules, *forecasts, self.garbage, *(each.fleet for each in costs)),
            (
                self.core.hub.client.reconfigure,
                lambda _access: self._memory.windows.restart(_HUB_CHANGED),
                self._leadership.reconfigure,
                *(each.change_hub for each in costs),
            ),
            self.router.everything,
            self.core.kueues,
            self.core.context.in_thread,
        )

    @property
    def identity(self) -> HubIdentity:
        """Return which hub this is, and whose replicas are ours."""
        return self.core.identity

    @property
    def hub(self) -> HubLink:
        """Return the connection to the hub."""
        return self.core.hub

    @property
    def fleet(self) -> Fleet:
        """Return the connections to the workers."""
        return self.core.fleet

    @property
    def workloads(self) -> KeyedQueue[ObjectKey]:
        """Return the Workloads that wait to be reconciled."""
        return self.core.workloads

    @property
    def connected(self) -> asyncio.Event:
        """Return what is set once the hub's caches were complete for the first time."""
        return self.core.connected

    @property
    def slots(self) -> ActionSlots:
        """Return the actions that are carried out now."""
        return self.loop.slots

    @property
    def costs(self) -> CostFleet | None:
        """Return the cost controllers, if they are switched on."""
        return None if self._costs is None else self._costs.fleet

    @property
    def may_act(self) -> bool:
        """Return whether this instance may act now."""
        return self.elected.is_set() and self._leadership.may_write()

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Return all registries of metrics."""
        return (self.metrics.registry, *(() if self.costs is None else (self.costs.metrics.registry,)))

    def unready(self) -> str:
        """Return why the daemon cannot do its work now; empty while it can, also as a standby."""
        return self.core.unready()

    async def run(self) -> None:
        """Work until cancelled; raises `LeadershipLostError` when another instance takes over."""
        try:
            async with self.slots, asyncio.TaskGroup() as group:
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
            async with self.core.clock.timeout(seconds):
                await self.workloads.emptied.wait()
                await self.slots.emptied.wait()
        except TimeoutError:
            get_log().warning("daemon.undrained", actions=self.slots.in_flight)
        await self._leadership.release()

    async def _run_fleet(self) -> None:
        """Wait for the hub's lists before the first reconcile of the workers, so that none is missed."""
        await self.connected.wait()
        await self.fleet.run()

    async def _work(self) -> None:
        """Act, once it is certain that no other instance does; until then only the caches are kept warm."""
        await self.connected.wait()
        await self.elected.wait()
        await self.core.load_records()
        await self._rivals.refuse_present()
        await self.fleet.settled.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.workloads.serve(self.loop.reconciler.reconcile))
            group.create_task(self.conditions.serve(self._conditions.reconcile))
            group.create_task(self.garbage.run())
            group.create_task(self.core.write_records())
            group.create_task(CredentialWatch(self.fleet.links, self.core.clock).run())
            group.create_task(self._rivals.run())
            if self.costs is not None:
                group.create_task(self.costs.run())

    async def prepare(self, configuration: Configuration, access: ClusterAccess) -> Callable[[], Awaitable[None]]:
        """Check another configuration, and return what applies it; raises `StartupError` if it cannot be used."""
        return await self._reload_targets.prepare(configuration, access)


def _forecasts(configuration: Configuration, rules: Rules, core: ClusterCore) -> Forecasts | None:
    if not configuration.forecast.enabled:
        return None
    return Forecasts(configuration.forecast, rules, core.fleet.links, core.clock)


def _role(leadership: Leadership) -> Role:
    return Role.STANDALONE if isinstance(leadership, NoElection) else Role.LEADER


def _needs_on_hub(configuration: Configuration) -> tuple[Need, ...]:
    hub, election = configuration.hub, configuration.leader_election
    lease = ObjectKey(election.namespace or hub.namespace, election.lease_name)
    return needs_on_hub(job_kinds(configuration.jobs), hub.namespace, lease)
