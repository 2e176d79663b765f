"""Runs shadow mode as a service."""

import asyncio
import os
import random
import signal
from collections.abc import Iterable

from config.kubeconfig.access import ClusterAccess
from config.sections.settings import Configuration
from gates.shadow.hindsight import Episode
from manager.app.reloading import Followers, Reloading, Reread
from manager.app.service import (
    Signals,
    endpoints_of,
    hub_access,
    journal_of,
    leadership_of,
    run_until,
    set_by,
    stop_signal,
    watched_loop,
)
from manager.base.clock import SystemClock
from manager.base.errors import StartupError
from manager.journal.schema import JournalError
from manager.journal.writer import Journal
from manager.logging.logs import configure_logging, get_log
from manager.metrics.process import ProcessMetrics
from manager.metrics.retries import RetryMetrics
from manager.process.systemd import Supervisor
from manager.serving.routes import api_routes
from manager.shadow.daemon import ShadowDaemon
from manager.shadow.episode_log import EpisodeLog, recorded_episodes
from workerclient.cluster import ClientContext


async def serve_shadow(configuration: Configuration, reread: Reread) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be.

    On SIGHUP the configuration is read again.
    """
    configure_logging(configuration.logging)
    asked = Signals(stop_signal(), set_by(signal.SIGHUP))
    retries = RetryMetrics()
    client_context = ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ), on_retry=retries.note)
    access = hub_access(configuration)
    endpoints = endpoints_of(configuration, access, client_context)
    async with endpoints.open(configuration.http) as http_app:
        journal = journal_of(configuration, client_context)
        episodes = EpisodeLog(await asyncio.to_thread(_recorded, configuration))
        try:
            leadership = leadership_of(with_own_lease(configuration), access, client_context)
            on_episode = journal.note_episode if journal is not None else None
            daemon = ShadowDaemon(configuration, access, client_context, episodes, leadership, on_episode)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error
        process = ProcessMetrics(client_context.clock.now_ns, journal)
        registries = (*daemon.registries, process.registry, retries.registry)
        await http_app.show(registries, daemon.unready, api_routes(daemon.inspector))
        get_log().info("shadow.started_up", origin=daemon.identity.origin, http=http_app.addresses)
        followers = Followers((endpoints.prepare, daemon.prepare), process.reloads.note)
        reloading = Reloading(configuration, reread, hub_access, followers)
        async with watched_loop(client_context.clock, process.note_hold):
            await _run(daemon, journal, asked, client_context, reloading)
    get_log().info("daemon.stopped")


def with_own_lease(configuration: Configuration) -> Configuration:
    """Let an orchestrator and a shadow run side by side: each has its Lease."""
    election = configuration.leader_election.model_copy(update={"lease_name": configuration.shadow.lease_name})
    return configuration.model_copy(update={"leader_election": election})


async def _run(
    daemon: ShadowDaemon,
    journal: Journal | None,
    asked: Signals,
    context: ClientContext,
    reloading: Reloading[ClusterAccess],
) -> None:
    if journal is not None:
        journal.start()
    try:
        supervisor, socket = Supervisor.from_environment(os.environ), reloading.configuration.api.socket
        await run_until(daemon, asked, supervisor, context.clock, socket, reloading)
    finally:
        if journal is not None:
            journal.close()


def _recorded(configuration: Configuration) -> Iterable[Episode]:
    """Return what an earlier process recorded; if the journal cannot be read, log a warning and start empty."""
    path = configuration.journal.path
    if path is None or not path.exists():
        return []
    try:
        return list(recorded_episodes(path))
    except JournalError as error:
        get_log().warning("journal.unread", error=str(error))
        return []
