"""The composition root of shadow mode: the caches and forecasts of the daemon, and nothing that acts.

Every client but the election's is made with `reads_only`, so a write cannot leave the process whatever the code says.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from prometheus_client import CollectorRegistry

from config.kubeconfig.access import ClusterAccess
from config.names import MULTIKUEUE_NAME
from config.settings import Configuration
from engine.configuration import KueueConfiguration
from gates.forecasts import ForecastRecord
from gates.hindsight import Episode
from gates.marks import HubIdentity
from gates.settings import GatePolicy, Settings
from manager.absences import Absences
from manager.access import AccessLoader, sources
from manager.choices import budget_of, kueues_of, policies_of, settings_of
from manager.daemon import check_usable
from manager.errors import StartupError
from manager.fleet import Fleet
from manager.hub import HubLink, HubNotices
from manager.inspection import Standing
from manager.kueue_configuration import load_kueue_configuration
from manager.lanes import Lanes
from manager.leadership import Alone, Leadership
from manager.observation import Observation
from manager.queue import KeyedQueue
from manager.reconciler import Rules
from manager.shadow.book import Book
from manager.shadow.forecasts import ShadowForecasts
from manager.shadow.inspection import ShadowInspector
from manager.shadow.metrics import ShadowMetrics
from manager.shadow.snapshots import ShadowSnapshots
from manager.shadow.wakeups import ShadowWakeups
from manager.shadow.watcher import Watcher
from manager.worker import Notices, WorkerLink
from workerclient.cluster import ClientLimits, Surroundings
from workerclient.kind import Key

OnEpisode = Callable[[Episode], None]


class ShadowDaemon:
    """The shadow. To be made inside the running loop; `run` once."""

    def __init__(
        self,
        configuration: Configuration,
        access: ClusterAccess,
        surroundings: Surroundings,
        book: Book,
        leadership: Leadership | None = None,
        on_episode: OnEpisode | None = None,
    ) -> None:
        _refuse_what_writes(configuration)
        self._configuration = configuration
        self._access = access
        self._leadership: Leadership = leadership or Alone()
        self._surroundings = surroundings = replace(surroundings, reads_only=True)
        self._kueues = kueues_of(configuration)
        self._on_episode = on_episode
        self.book = book
        self.elected = asyncio.Event()
        """Set once this instance is the one that reports."""
        self.identity = HubIdentity(configuration.shadow.origin, "shadow")
        clock = surroundings.clock
        self.workloads: KeyedQueue[Key] = KeyedQueue(clock)
        self._wakeups = wakeups = ShadowWakeups(self.workloads)
        self.connected = wakeups.hub_is_there
        self.hub = wakeups.hub = _hub_link(configuration, access, surroundings, self.workloads, wakeups)
        settings = _comparing(configuration)
        self._absences = absences = Absences(self.hub, clock, settings.worker_lost_ns)
        self._loader = AccessLoader(self.hub.client, configuration)
        self.fleet = wakeups.fleet = Fleet(
            lambda: sources(self._configuration, self.hub),
            self._loader,
            self._make_link,
            absences,
            clock,
            wakeups.worker,
        )
        links = self.fleet.links
        self.forecasts = ShadowForecasts(configuration.forecast, settings, self.identity, links, clock)
        self.forecasts.trials = self._trial
        no_lanes = Lanes(clock, surroundings.jitter, self.workloads.add_after, lambda *_: None)
        snapshots = ShadowSnapshots(self.hub, links, absences.missing_since, no_lanes, clock, self.forecasts)
        snapshots.identity = self.identity
        self._rules = rules = Rules(self.identity, settings, policies_of(configuration))
        self.metrics = ShadowMetrics(book)
        standing = Standing(lambda: False, configuration.journal.path)
        self.inspector = ShadowInspector(self.hub, self.fleet, snapshots, rules, self.forecasts, clock, standing)
        self.inspector.book = book
        self._watcher = Watcher(
            self.hub, snapshots, self.forecasts, rules, self.workloads, clock, book, self._note_episode
        )

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Return everything that is counted and shown here."""
        return (self.metrics.registry,)

    def unready(self) -> str:
        """Return why the hub cannot be followed; nothing while it can."""
        return "" if self.hub.is_connected else f"the hub cannot be read: {self.hub.client.report.message}"

    async def run(self) -> None:
        """Look on until cancelled; raises `LeadershipLostError` when another instance takes over."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.hub.client.run())
                group.create_task(self._work())
                group.create_task(self._leadership.run(self.elected.set))
        finally:
            await self.hub.client.close()

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
        settings = self._rules.settings = _comparing(configuration)
        self._rules.policies = policies_of(configuration)
        self._absences.change_grace(settings.worker_lost_ns)
        self.forecasts.reconfigure(configuration.forecast, settings)
        for name, link in self.fleet.links.items():
            link.change_budget(budget_of(configuration, name))
        if access != self._access:
            self._access = access
            self.hub.client.reconfigure(access)
            await self._leadership.reconfigure(access)
        self.fleet.renew(renewed)
        self._wakeups.everything()

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
            group.create_task(self.workloads.serve(self._watcher.look))

    def _trial(self, key: Key, cluster: str) -> ForecastRecord | None:
        memory = self._watcher.memory(key)
        return memory.trial(cluster) if memory is not None else None

    def _note_episode(self, before: Episode | None, after: Episode) -> None:
        self.metrics.note(before, after)
        if self._on_episode is not None:
            self._on_episode(after)

    def _make_link(self, name: str, access: ClusterAccess) -> WorkerLink:
        wakeups, surroundings = self._wakeups, self._surroundings
        kueue = self._kueues.get(name) or load_kueue_configuration(None)
        return WorkerLink(
            name,
            access,
            surroundings,
            ClientLimits(budget=budget_of(self._configuration, name)),
            self.identity.origin,
            (),
            Notices(wakeups.copy, wakeups.job, wakeups.worker),
            Observation(name, access, surroundings, kueue, wakeups.copy, tells_victims=True),
            asks_permissions=False,
        )


def _comparing(configuration: Configuration) -> Settings:
    """Return what is looked at with: all workers are compared, whatever the policy of the configuration."""
    return replace(settings_of(configuration), policy=GatePolicy.LEAST_DISRUPTION)


def _hub_link(
    configuration: Configuration,
    access: ClusterAccess,
    surroundings: Surroundings,
    workloads: KeyedQueue[Key],
    wakeups: ShadowWakeups,
) -> HubLink:
    notices = HubNotices(
        on_workload=workloads.add,
        on_job=wakeups.job,
        on_check=wakeups.check,
        on_config=wakeups.config,
        on_cluster=wakeups.source,
        on_source=wakeups.source,
        on_connection=wakeups.hub_connection,
    )
    profiles = configuration.cluster_profiles.enabled
    namespace = configuration.hub.namespace
    return HubLink(access, surroundings, namespace, MULTIKUEUE_NAME, (), notices, follow_profiles=profiles)


def _refuse_what_writes(configuration: Configuration) -> None:
    if configuration.cost_controller.enabled:
        raise StartupError("costController.enabled: must be false in shadow mode, which writes nothing")
    if not configuration.forecast.enabled:
        raise StartupError("forecast.enabled: must be true in shadow mode, which sees victims by it")
