"""Runs the daemon as a service: from a configuration to the end of the process."""

import asyncio
import os
import random
import signal
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.sources import load_hub_kubeconfig
from config.settings import Configuration
from manager.clock import SystemClock
from manager.daemon import Daemon, Observers, StartupError, identify
from manager.journal import Journal, JournalLimits
from manager.logs import configure_logging, get_log
from workerclient.cluster import Surroundings
from workerclient.incluster import in_cluster_access

_DRAIN_SECONDS: Final = 10.0


async def serve(configuration: Configuration) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be."""
    configure_logging(configuration.logging)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    access = hub_access(configuration)
    try:
        identity = await identify(configuration, access, surroundings)
        journal = journal_of(configuration, surroundings)
        daemon = Daemon(configuration, access, identity, surroundings, _observers(journal))
    except ValueError as error:
        raise StartupError(f"hub.kubeconfig: {error}") from error
    get_log().info("daemon.started", origin=identity.origin)
    if journal is not None:
        journal.start()
    try:
        await run_until(daemon, stopped)
    finally:
        if journal is not None:
            journal.close()
    get_log().info("daemon.stopped")


def journal_of(configuration: Configuration, surroundings: Surroundings) -> Journal | None:
    """Return the journal that the configuration asks for; it does nothing yet."""
    section = configuration.journal
    if section.path is None:
        return None
    clock = surroundings.clock
    return Journal(section.path, JournalLimits(section.max_age, section.max_size), clock.now_ns, clock.monotonic)


def _observers(journal: Journal | None) -> Observers:
    if journal is None:
        return Observers()
    return Observers(on_look=journal.note_look, on_forecast=journal.note_forecast, on_forgotten=journal.forget)


async def run_until(daemon: Daemon, stopped: asyncio.Event) -> None:
    """Run a daemon until it is told to stop; then let it finish what it is doing, in bounded time."""
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(daemon.run())
            await stopped.wait()
            await daemon.drain(_DRAIN_SECONDS)
            running.cancel()
    except BaseExceptionGroup as failures:
        startup, others = failures.split(StartupError)
        if startup is None or others is not None:
            raise
        raise _first(startup) from None


def _first(failures: BaseExceptionGroup[StartupError]) -> StartupError:
    found = failures.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found


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
