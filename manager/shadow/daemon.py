"""The composition root of shadow mode: the caches and forecasts of the daemon, and nothing that acts.

Every client but the election's is made with `reads_only`, so a write cannot leave the process whatever the code says.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from prometheus_client import CollectorRegistry

from config.api.identifiers import ClusterUID
from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.names import MULTIKUEUE_NAME
from config.sections.settings import Configuration
from gates.model.marks import HubIdentity
from gates.model.settings import GatePolicy, Settings
from gates.shadow.hindsight import Episode
from manager.app.cluster_core import ClusterCore, CoreOptions
from manager.app.reload_targets import ReloadTargets
from manager.base.errors import StartupError
from manager.base.from_configuration import settings_of
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.election.leadership import Leadership, NoElection
from manager.queueing.action_slots import ActionSlots
from manager.queueing.queue import KeyedQueue
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.local_actions import LocalActions
from manager.reconcile.removals import Removals
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.reconcile.unlisted import UnlistedWorkers
from manager.serving.inspection import DaemonState, Inspector
from manager.shadow.episode_log import EpisodeLog
from manager.shadow.event_router import ShadowEventRouter
from manager.shadow.evidence import Memories, ShadowEvidence, shadow_forecasts
from manager.shadow.metrics import ShadowMetrics
from manager.shadow.report import live_report
from manager.shadow.shadow_reconciler import ShadowReconciler, ShadowRecords, ShadowSources
from manager.shadow.snapshots import shadow_snapshots
from workerclient.cluster import ClientContext

OnEpisode = Callable[[Episode], None]


class ShadowDaemon:
    """The shadow. To be made inside the running loop; `run` once."""

    def __init__(
        self,
        configuration: Configuration,
        access: ClusterAccess,
        context: ClientContext,
        episodes: EpisodeLog,
        leadership: Leadership | None = None,
        on_episode: OnEpisode | None = None,
    ) -> None:
        _refuse_what_writes(configuration)
        self._leadership: Leadership = leadership or NoElection()
        self._on_episode = on_episode
        self.episodes = episodes
        self.elected = asyncio.Event()
        """Set once this instance is the one that reports."""
        identity, memories = HubIdentity(configuration.shadow.origin, ClusterUID("shadow")), Memories()
        options = CoreOptions(identity, MULTIKUEUE_NAME, (), acts=False)
        self.core = core = ClusterCore(configuration, access, replace(context, reads_only=True), options)
        self._router = ShadowEventRouter(core)
        core.events.subscribe(self._router)
        self._rules = Rules.of(configuration, identity, _comparing)
        links, clock = core.fleet.links, core.clock
        self.forecasts = Forecasts(configuration.forecast, self._rules, links, clock, shadow_forecasts(memories))
        unlisted = UnlistedWorkers(clock)
        snapshots = _snapshots(core, self.forecasts, unlisted)
        local = LocalActions(links, core.lost_workers, unlisted, self.forecasts)
        self.metrics = ShadowMetrics(episodes, links)
        report = DaemonState(lambda: False, configuration.journal.path, self._report, self._leadership.leader)
        self.inspector = Inspector(core.hub, core.fleet, snapshots, self._rules, self.forecasts, clock, report)
        core.events.subscribe_viewers(self.inspector.streams.mark, self.inspector.streams.feed.mark_all)
        sources = ShadowSources(core.hub, snapshots, self.forecasts, local, ShadowEvidence(links), self._rules)
        records = ShadowRecords(memories, episodes, self._note_episode)
        self._reconciler = ShadowReconciler(sources, records, core.workloads, core.context)
        self._reload_targets = ReloadTargets(
            access,
            (*core.reconfigurable, self._rules, self.forecasts.history),
            (core.hub.client.reconfigure, self._leadership.reconfigure),
            self._router.everything,
            core.kueues,
        )

    @property
    def identity(self) -> HubIdentity:
        """Return whose replicas are observed."""
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
        """Return the Workloads that wait to be observed."""
        return self.core.workloads

    @property
    def connected(self) -> asyncio.Event:
        """Return what is set once the hub's caches were complete for the first time."""
        return self.core.connected

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Return all registries of metrics."""
        return (self.metrics.registry,)

    def unready(self) -> str:
        """Return why the hub cannot be followed; empty while it can."""
        return self.core.unready()

    async def run(self) -> None:
        """Observe until cancelled; raises `LeadershipLostError` when another instance takes over."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.hub.client.run())
                group.create_task(self._work())
                group.create_task(self._leadership.run(self.elected.set))
        finally:
            await self.hub.client.close()

    async def prepare(self, configuration: Configuration, access: ClusterAccess) -> Callable[[], Awaitable[None]]:
        """Check another configuration, and return what applies it; raises `StartupError` if it cannot be used."""
        return await self._reload_targets.prepare(configuration, access)

    async def drain(self, seconds: float) -> None:
        """Take nothing new up; there is nothing to be finished."""
        del seconds
        self.workloads.close()
        await self._leadership.release()

    async def _work(self) -> None:
        await self.connected.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.fleet.run())
            await self.elected.wait()
            await self.fleet.settled.wait()
            group.create_task(self.workloads.serve(self._reconciler.reconcile))

    def _report(self) -> Callable[[], Obj]:
        standby = "" if self.elected.is_set() else self._leadership.why_standby() or "the election is not over"
        return live_report(self.episodes, self.hub, self.fleet, standby)

    def _note_episode(self, before: Episode | None, after: Episode) -> None:
        self.metrics.note(before, after)
        if self._on_episode is not None:
            self._on_episode(after)


def _snapshots(core: ClusterCore, forecasts: Forecasts, unlisted: UnlistedWorkers) -> Snapshots:
    no_slots = ActionSlots(core.clock, core.jitter, core.workloads.add_after, lambda *_: None)
    return Snapshots(
        core.hub,
        core.fleet.links,
        core.lost_workers,
        unlisted,
        no_slots,
        core.clock,
        core.identity,
        Removals(core.clock),
        forecasts=forecasts,
        scope=shadow_snapshots(core.identity),
    )


def _comparing(configuration: Configuration) -> Settings:
    """Compare all workers, whatever the policy of the configuration."""
    return replace(settings_of(configuration), policy=GatePolicy.LEAST_DISRUPTION)


def _refuse_what_writes(configuration: Configuration) -> None:
    if configuration.cost_controller.enabled:
        raise StartupError("costController.enabled: must be false in shadow mode, which writes nothing")
    if not configuration.forecast.enabled:
        raise StartupError("forecast.enabled: must be true in shadow mode: victims are detected through forecasts")
