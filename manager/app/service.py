"""Runs the daemon as a service: from a configuration to the end of the process."""

import asyncio
import os
import random
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from config.api.meta import NANOSECONDS, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.sources import load_hub_kubeconfig
from config.sections.settings import Configuration
from gates.upkeep.leadership import LeaseTimings
from manager.app.daemon import Daemon, identify
from manager.app.listeners import Observers
from manager.app.reloading import Followers, Reloading, Reread
from manager.base.clock import SystemClock
from manager.base.errors import StartupError
from manager.election.elector import Candidacy, ElectionThread
from manager.election.leadership import Leadership, LeadershipLostError, NoElection
from manager.journal.writer import Journal, JournalLimits
from manager.logging.logs import configure_logging, get_log
from manager.metrics.process import ProcessMetrics
from manager.metrics.retries import RetryMetrics
from manager.process.cyclic_collection import collect_rarely
from manager.process.event_loop import new_loop
from manager.process.loop_watch import LoopWatch
from manager.process.systemd import Supervisor
from manager.serving.endpoints import Endpoints
from manager.serving.inspection import Inspector
from manager.serving.routes import api_routes
from manager.serving.socket_server import serve_api
from manager.telemetry.tracing import Traces
from workerclient.base.clock import Clock
from workerclient.cluster import ClientContext
from workerclient.transport.incluster import in_cluster_access

NO_HUB_KUBECONFIG: Final = "hub.kubeconfig is not set"
_DRAIN_SECONDS: Final = 10.0


def run(service: Coroutine[None, None, None]) -> None:
    """Run a service as the business of this process."""
    collect_rarely()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(service)


async def serve(configuration: Configuration, observers: Observers | None = None, reread: Reread | None = None) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be.

    On SIGHUP the configuration is read again, if there is something to read.
    """
    configure_logging(configuration.logging)
    stopped, hung_up = stop_signal(), set_by(signal.SIGHUP)
    retries = RetryMetrics()
    client_context = ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ), on_retry=retries.note)
    access = hub_access(configuration)
    endpoints = endpoints_of(configuration, access, client_context)
    async with endpoints.open(configuration.http) as http_app:
        try:
            identity = await identify(configuration, access, client_context)
            journal = journal_of(configuration, client_context)
            leadership = leadership_of(configuration, access, client_context)
            traces = traces_of(configuration)
            observed = _observed(journal, traces, observers or Observers())
            daemon = Daemon(configuration, access, identity, client_context, observed, leadership=leadership)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error
        process = ProcessMetrics(client_context.clock.now_ns, journal)
        registries = (*daemon.registries, process.registry, retries.registry)
        await http_app.show(registries, daemon.unready, api_routes(daemon.inspector))
        get_log().info("daemon.started", origin=identity.origin, http=http_app.addresses)
        if journal is not None:
            journal.start()
        try:
            supervisor, socket = Supervisor.from_environment(os.environ), configuration.api.socket
            followers = Followers((endpoints.prepare, daemon.prepare), process.reloads.note)
            reloading = Reloading(configuration, reread, hub_access, followers) if reread is not None else None
            asked = Signals(stopped, hung_up)
            async with watched_loop(client_context.clock, process.note_hold):
                await run_until(daemon, asked, supervisor, client_context.clock, socket, reloading)
        finally:
            if journal is not None:
                journal.close()
            if traces is not None:
                traces.close()
    get_log().info("daemon.stopped")


@asynccontextmanager
async def watched_loop(clock: Clock, note: Callable[[float], None]) -> AsyncIterator[None]:
    """Note how long the event loop is held during the enclosed block."""
    watching = asyncio.create_task(LoopWatch(clock, note).run())
    try:
        yield
    finally:
        watching.cancel()


def stop_signal() -> asyncio.Event:
    """Return what SIGINT and SIGTERM set from now on."""
    return set_by(signal.SIGINT, signal.SIGTERM)


def set_by(*numbers: signal.Signals) -> asyncio.Event:
    """Return what these signals set from now on."""
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in numbers:
        loop.add_signal_handler(number, event.set)
    return event


def endpoints_of(configuration: Configuration, access: ClusterAccess | None, context: ClientContext) -> Endpoints:
    """Return what answers over HTTP; it does nothing yet."""
    try:
        return Endpoints(configuration.http, access, context)
    except ValueError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error


def journal_of(configuration: Configuration, context: ClientContext) -> Journal | None:
    """Return the journal that the configuration asks for; it writes nothing yet. Raises `TakenPathError`."""
    section = configuration.journal
    if section.path is None:
        return None
    clock, limits = context.clock, JournalLimits(section.max_age, section.max_size)
    journal = Journal(section.path, limits, clock.now_ns, clock.monotonic, context.jitter, context.on_retry)
    journal.claim()
    return journal


def traces_of(configuration: Configuration) -> Traces | None:
    """Return what sends traces, if the configuration asks for it."""
    endpoint = configuration.tracing.endpoint
    return None if endpoint is None else Traces(endpoint, socket.gethostname())


def _observed(journal: Journal | None, traces: Traces | None, observers: Observers) -> Observers:
    if traces is not None:
        observers = replace(observers, on_executed=traces.note_executed)
    return observers if journal is None else journaled(journal, observers)


def journaled(journal: Journal, observers: Observers) -> Observers:
    """Let a journal take what the daemon decides and forecasts."""
    return replace(
        observers,
        on_reconciliation=journal.note_reconciliation,
        on_forecast=journal.note_forecast,
        on_forgotten=journal.forget,
    )


@dataclass(frozen=True, slots=True)
class Signals:
    """Which signals the process got."""

    stopped: asyncio.Event
    hung_up: asyncio.Event


class Runs(Protocol):
    """A daemon, whatever it does."""

    elected: asyncio.Event

    @property
    def connected(self) -> asyncio.Event: ...
    @property
    def inspector(self) -> Inspector: ...
    async def run(self) -> None: ...
    async def drain(self, seconds: float) -> None: ...


async def run_until(
    daemon: Runs,
    asked: Signals,
    supervisor: Supervisor,
    clock: Clock,
    socket: Path | None = None,
    reloading: Reloading[ClusterAccess] | None = None,
) -> None:
    """Run a daemon until it is told to stop; then let it finish what it is doing, in bounded time."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks: list[asyncio.Task[None]] = []
            if socket is not None:  # first: if its place is taken, the daemon does not begin
                tasks.append(group.create_task(serve_api(socket, daemon.inspector)))
            tasks += [group.create_task(daemon.run()), group.create_task(_report(daemon, supervisor, clock))]
            if reloading is not None:
                tasks.append(group.create_task(_reload(reloading, asked.hung_up, daemon, supervisor, clock)))
            await asked.stopped.wait()
            supervisor.stopping()
            await daemon.drain(_DRAIN_SECONDS)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        foreseen, others = failures.split((StartupError, LeadershipLostError))
        if foreseen is None or others is not None:
            raise
        raise _first(foreseen) from None


async def _reload(
    reloading: Reloading[ClusterAccess], hung_up: asyncio.Event, daemon: Runs, supervisor: Supervisor, clock: Clock
) -> None:
    """Read the configuration again whenever that is asked for; asked for meanwhile, once more."""
    while True:
        await hung_up.wait()
        hung_up.clear()
        supervisor.reloading(round(clock.monotonic() * NANOSECONDS))
        await reloading.reload()
        supervisor.ready("Acting" if daemon.elected.is_set() else "Standing by")


async def _report(daemon: Runs, supervisor: Supervisor, clock: Clock) -> None:
    """Report the state to the service manager; keep-alives come from the loop that does the work."""
    await daemon.connected.wait()
    supervisor.ready("Standing by")
    async with asyncio.TaskGroup() as group:
        if supervisor.watchdog_seconds is not None:
            group.create_task(_give_signs_of_life(supervisor, supervisor.watchdog_seconds, clock))
        await daemon.elected.wait()
        supervisor.status("Acting")


async def _give_signs_of_life(supervisor: Supervisor, seconds: float, clock: Clock) -> None:
    while True:
        supervisor.alive()
        await clock.sleep(seconds / 2)


def _first(failures: BaseExceptionGroup[Exception]) -> Exception:
    found = failures.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


def leadership_of(configuration: Configuration, access: ClusterAccess, context: ClientContext) -> Leadership:
    """Return the leadership implementation that the configuration asks for."""
    election = configuration.leader_election
    if not election.enabled:
        return NoElection()
    timings = LeaseTimings(
        lease_seconds=election.lease_duration.total_seconds(),
        renew_seconds=election.renew_deadline.total_seconds(),
        retry_seconds=election.retry_period.total_seconds(),
    )
    lease = ObjectKey(election.namespace or configuration.hub.namespace, election.lease_name)
    identity = f"{socket.gethostname()}_{uuid4()}"
    return ElectionThread(Candidacy(access, lease, identity, timings), context)


def hub_access(configuration: Configuration) -> ClusterAccess:
    """Return the access to the hub: the kubeconfig that is named, or the pod's service account."""
    hub = configuration.hub
    try:
        if hub.kubeconfig is not None:
            return load_hub_kubeconfig(hub.kubeconfig, configuration.kubeconfig_policy, hub.context)
        return in_cluster_access(os.environ)
    except KubeconfigError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error
    except ValueError as error:
        raise StartupError(f"{NO_HUB_KUBECONFIG}, and {error}") from error
