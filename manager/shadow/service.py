"""Runs shadow mode as a service."""

import asyncio
import os
import random
import signal
from collections.abc import Iterable

from config.kubeconfig.access import ClusterAccess
from config.settings import Configuration
from gates.hindsight import Episode
from manager.answers import api_routes
from manager.clock import SystemClock
from manager.errors import StartupError
from manager.journal import Journal
from manager.journal_file import JournalError
from manager.logs import configure_logging, get_log
from manager.reloading import Followers, Reloading, Reread
from manager.service import Signals, endpoints_of, hub_access, journal_of, leadership_of, run_until, set_by, stop_signal
from manager.shadow.book import Book, recorded_episodes
from manager.shadow.daemon import ShadowDaemon
from manager.systemd import Supervisor
from manager.telemetry.process import ProcessMetrics
from workerclient.cluster import Surroundings


async def serve_shadow(configuration: Configuration, reread: Reread) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be.

    On SIGHUP the configuration is read again.
    """
    configure_logging(configuration.logging)
    asked = Signals(stop_signal(), set_by(signal.SIGHUP))
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    access = hub_access(configuration)
    endpoints = endpoints_of(configuration, access, surroundings)
    async with endpoints.open(configuration.http) as board:
        journal = journal_of(configuration, surroundings)
        book = Book(await asyncio.to_thread(_recorded, configuration))
        try:
            leadership = leadership_of(with_own_lease(configuration), access, surroundings)
            on_episode = journal.note_episode if journal is not None else None
            daemon = ShadowDaemon(configuration, access, surroundings, book, leadership, on_episode)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error
        process = ProcessMetrics(surroundings.clock.now_ns, journal)
        await board.show((*daemon.registries, process.registry), daemon.unready, api_routes(daemon.inspector))
        get_log().info("shadow.started_up", origin=daemon.identity.origin, http=board.addresses)
        followers = Followers((endpoints.prepare, daemon.prepare), process.reloads.note)
        reloading = Reloading(configuration, reread, hub_access, followers)
        await _run(daemon, journal, asked, surroundings, reloading)
    get_log().info("daemon.stopped")


def with_own_lease(configuration: Configuration) -> Configuration:
    """Let an orchestrator and a shadow run side by side: each has its Lease."""
    election = configuration.leader_election.model_copy(update={"lease_name": configuration.shadow.lease_name})
    return configuration.model_copy(update={"leader_election": election})


async def _run(
    daemon: ShadowDaemon,
    journal: Journal | None,
    asked: Signals,
    surroundings: Surroundings,
    reloading: Reloading[ClusterAccess],
) -> None:
    if journal is not None:
        journal.start()
    try:
        supervisor, socket = Supervisor.from_environment(os.environ), reloading.configuration.api.socket
        await run_until(daemon, asked, supervisor, surroundings.clock, socket, reloading)
    finally:
        if journal is not None:
            journal.close()


def _recorded(configuration: Configuration) -> Iterable[Episode]:
    """Return what an earlier process wrote down; a journal that cannot be read costs that, and a warning."""
    path = configuration.journal.path
    if path is None or not path.exists():
        return []
    try:
        return list(recorded_episodes(path))
    except JournalError as error:
        get_log().warning("journal.unread", error=str(error))
        return []
