"""Runs the daemon as a service: from a configuration to the end of the process."""

import asyncio
import os
import random
import signal
import socket
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

import uvloop

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.sources import load_hub_kubeconfig
from config.settings import Configuration
from gates.leadership import Terms
from manager.api import serve_api
from manager.clock import SystemClock
from manager.daemon import Daemon, Observers, identify
from manager.election import Candidacy, ElectionThread
from manager.errors import StartupError
from manager.http import served
from manager.journal import Journal, JournalLimits
from manager.leadership import Alone, Leadership, LeadershipLostError
from manager.logs import configure_logging, get_log
from manager.systemd import Supervisor
from manager.telemetry.process import ProcessMetrics
from manager.telemetry.tracing import Traces
from workerclient.clock import Clock
from workerclient.cluster import Surroundings
from workerclient.incluster import in_cluster_access
from workerclient.kind import Key

_DRAIN_SECONDS: Final = 10.0


def run(service: Coroutine[None, None, None]) -> None:
    """Run a service as the business of this process."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(service)


async def serve(configuration: Configuration, observers: Observers | None = None) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be."""
    configure_logging(configuration.logging)
    stopped = stop_signal()
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    access = hub_access(configuration)
    async with served(configuration.http) as board:
        try:
            identity = await identify(configuration, access, surroundings)
            journal = journal_of(configuration, surroundings)
            leadership = leadership_of(configuration, access, surroundings)
            traces = traces_of(configuration)
            observed = _observed(journal, traces, observers or Observers())
            daemon = Daemon(configuration, access, identity, surroundings, observed, leadership=leadership)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error
        process = ProcessMetrics(surroundings.clock.now_ns, journal)
        board.show((*daemon.registries, process.registry), daemon.unready)
        get_log().info("daemon.started", origin=identity.origin, http=board.addresses)
        if journal is not None:
            journal.start()
        try:
            supervisor, socket = Supervisor.from_environment(os.environ), configuration.api.socket
            await run_until(daemon, stopped, supervisor, surroundings.clock, socket)
        finally:
            if journal is not None:
                journal.close()
            if traces is not None:
                traces.close()
    get_log().info("daemon.stopped")


def stop_signal() -> asyncio.Event:
    """Return what SIGINT and SIGTERM set from now on."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped


def journal_of(configuration: Configuration, surroundings: Surroundings) -> Journal | None:
    """Return the journal that the configuration asks for; it does nothing yet."""
    section = configuration.journal
    if section.path is None:
        return None
    clock = surroundings.clock
    return Journal(section.path, JournalLimits(section.max_age, section.max_size), clock.now_ns, clock.monotonic)


def traces_of(configuration: Configuration) -> Traces | None:
    """Return what sends traces, if the configuration asks for it."""
    endpoint = configuration.tracing.endpoint
    return None if endpoint is None else Traces(endpoint, socket.gethostname())


def _observed(journal: Journal | None, traces: Traces | None, observers: Observers) -> Observers:
    if traces is not None:
        observers = replace(observers, on_deed=traces.note_deed)
    if journal is None:
        return observers
    return replace(observers, on_look=journal.note_look, on_forecast=journal.note_forecast, on_forgotten=journal.forget)


async def run_until(
    daemon: Daemon, stopped: asyncio.Event, supervisor: Supervisor, clock: Clock, socket: Path | None = None
) -> None:
    """Run a daemon until it is told to stop; then let it finish what it is doing, in bounded time."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(daemon.run()), group.create_task(_report(daemon, supervisor, clock))]
            if socket is not None:
                tasks.append(group.create_task(serve_api(socket, daemon.inspector)))
            await stopped.wait()
            supervisor.stopping()
            await daemon.drain(_DRAIN_SECONDS)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        foreseen, others = failures.split((StartupError, LeadershipLostError))
        if foreseen is None or others is not None:
            raise
        raise _first(foreseen) from None


async def _report(daemon: Daemon, supervisor: Supervisor, clock: Clock) -> None:
    """Tell the service manager how it goes; the signs of life come from the loop that does the work."""
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


def leadership_of(configuration: Configuration, access: ClusterAccess, surroundings: Surroundings) -> Leadership:
    """Return the way to leave to act that the configuration asks for."""
    election = configuration.leader_election
    if not election.enabled:
        return Alone()
    terms = Terms(
        lease_seconds=election.lease_duration.total_seconds(),
        renew_seconds=election.renew_deadline.total_seconds(),
        retry_seconds=election.retry_period.total_seconds(),
    )
    lease = Key(election.namespace or configuration.hub.namespace, election.lease_name)
    identity = f"{socket.gethostname()}_{uuid4()}"
    return ElectionThread(Candidacy(access, lease, identity, terms), surroundings)


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
        raise StartupError(f"hub.kubeconfig is not set, and {error}") from error
