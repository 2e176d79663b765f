"""What every daemon is built on: the hub, the workers, and the Workloads that wait to be reconciled."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from gates.jobs.kinds import JobKind
from gates.model.marks import HubIdentity
from manager.app.cluster_events import ClusterEvents
from manager.app.connection_log import ConnectionLog
from manager.app.reload_targets import Reconfigurable
from manager.app.worker_factory import ModelOptions, WorkerLinkFactory
from manager.base.from_configuration import KueueConfigurations
from manager.clusters.access import AccessLoader, WorkerSources
from manager.clusters.cluster_identity import ClusterIdentities
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.worker_context import WorkerContext
from manager.clusters.worker_table import ConfiguredWorkers
from manager.queueing.queue import KeyedQueue
from workerclient.base.backoff import Jitter
from workerclient.base.clock import Clock
from workerclient.cluster import ClientContext
from workerclient.objects.connection_report import ConnectionReport, ConnectionState


@dataclass(frozen=True, slots=True)
class CoreOptions:
    """How a daemon uses its clusters."""

    identity: HubIdentity
    controller_name: str
    kinds: tuple[JobKind, ...]
    acts: bool
    """One that acts has to know which cluster each worker is and what it may do there; one that only observes follows
    which victims each preemption had."""


class ClusterCore:
    """The connections of one daemon. To be made inside the running loop."""

    def __init__(
        self, configuration: Configuration, access: ClusterAccess, context: ClientContext, options: CoreOptions
    ) -> None:
        self.context = context
        self.identity = options.identity
        self.kinds = options.kinds
        self.events = ClusterEvents()
        self.connected = asyncio.Event()
        """Set once the hub's caches were complete for the first time."""
        self._connection_log = ConnectionLog()
        self.events.hub_connection.subscribe(self._note_hub)
        self.events.worker_connection.subscribe(self._note_worker)
        self.events.worker_changed.subscribe(self._note_worker)
        self.workloads = KeyedQueue[ObjectKey](self.clock)
        """The Workloads to reconcile."""
        self._configured = ConfiguredWorkers(configuration)
        self.hub = HubLink(
            access,
            context,
            configuration.hub.namespace,
            options.controller_name,
            options.kinds,
            self.events.of_hub(),
            follow_profiles=configuration.cluster_profiles.enabled,
            configured=self._configured,
        )
        self.lost_workers = LostWorkers(self.hub, context, configuration)
        self.kueues = KueueConfigurations(configuration)
        self._sources = WorkerSources(configuration, self.hub)
        self._loader = AccessLoader(self.hub.client, configuration, context.in_thread)
        self.identities = self._identities() if options.acts else None
        self._factory = self._link_factory(configuration, options)
        self.fleet = Fleet(
            self._sources.wanted,
            self._loader,
            self._factory.make,
            self.lost_workers,
            self.clock,
            self.jitter,
            self.events.worker_changed,
            self.identities,
        )

    @property
    def clock(self) -> Clock:
        """Return the clock of all parts."""
        return self.context.clock

    @property
    def jitter(self) -> Jitter:
        """Return the source of chance of all parts."""
        return self.context.jitter

    @property
    def reconfigurable(self) -> tuple[Reconfigurable, ...]:
        """Return the parts that read the configuration."""
        return (
            self._configured,
            self._sources,
            self._loader,
            self.lost_workers,
            LinkUpdates(self._factory, self.fleet),
        )

    def unready(self) -> str:
        """Return why the hub cannot be read; empty while it can."""
        return "" if self.hub.is_connected else f"the hub cannot be read: {self.hub.client.report.message}"

    async def load_records(self) -> None:
        """Read what earlier processes recorded on the hub about workers."""
        await self.lost_workers.load()
        if self.identities is not None:
            await self.identities.load()
        for name in self.fleet.links:
            self.fleet.note_connection(name)

    async def write_records(self) -> None:
        """Record on the hub what is known about workers, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.lost_workers.run())
            if self.identities is not None:
                group.create_task(self.identities.run())

    def _identities(self) -> ClusterIdentities:
        return ClusterIdentities(
            self.hub,
            self.identity.hub,
            self._sources.seniority,
            self.lost_workers,
            self.context,
            self.events.worker_changed,
        )

    def _link_factory(self, configuration: Configuration, options: CoreOptions) -> WorkerLinkFactory:
        shared = WorkerContext(
            self.context,
            self.identity.origin,
            self.kinds,
            self.events.of_workers(),
            self.identities,
            asks_permissions=options.acts,
        )
        models = ModelOptions(with_pods=options.acts, reports_victims=not options.acts)
        return WorkerLinkFactory(configuration, self.kueues, shared, self._workloads_on_hub, models, self._renew)

    def _renew(self, names: Iterable[WorkerName]) -> None:
        self.fleet.renew(names)

    def _workloads_on_hub(self) -> int:
        return len(self.hub.workloads.cache)

    def _note_hub(self, report: ConnectionReport) -> None:
        self._connection_log.note_hub(report)
        if report.connection is ConnectionState.CONNECTED:
            self.connected.set()

    def _note_worker(self, name: WorkerName) -> None:
        link = self.fleet.links.get(name)
        self._connection_log.note_worker(name, link.report if link is not None else None)


class LinkUpdates:
    """Brings connections in line with another configuration: a budget at once, a model with a new connection."""

    def __init__(self, factory: WorkerLinkFactory, fleet: Fleet) -> None:
        self._factory = factory
        self._fleet = fleet

    def reconfigure(self, configuration: Configuration) -> None:
        """Go by another configuration; a worker that is configured as before keeps its connection."""
        renewed = self._factory.change(configuration)
        for name, link in self._fleet.links.items():
            link.change_budget(self._factory.budget(name))
        self._fleet.renew(renewed)
