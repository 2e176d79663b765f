"""Runs shadow mode as a service."""

import asyncio
import os
import random
from collections.abc import Iterable

from config.settings import Configuration
from gates.hindsight import Episode
from manager.clock import SystemClock
from manager.errors import StartupError
from manager.http import served
from manager.journal import Journal
from manager.journal_file import JournalError
from manager.logs import configure_logging, get_log
from manager.service import hub_access, journal_of, leadership_of, run_until, stop_signal
from manager.shadow.book import Book, recorded_episodes
from manager.shadow.daemon import ShadowDaemon
from manager.systemd import Supervisor
from workerclient.cluster import Surroundings


async def serve_shadow(configuration: Configuration) -> None:
    """Run until SIGINT or SIGTERM; raises `StartupError` with one sentence if that cannot be."""
    configure_logging(configuration.logging)
    stopped = stop_signal()
    surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
    access = hub_access(configuration)
    async with served(configuration.http) as board:
        journal = journal_of(configuration, surroundings)
        book = Book(await asyncio.to_thread(_recorded, configuration))
        try:
            leadership = leadership_of(with_own_lease(configuration), access, surroundings)
            on_episode = journal.note_episode if journal is not None else None
            daemon = ShadowDaemon(configuration, access, surroundings, book, leadership, on_episode)
        except ValueError as error:
            raise StartupError(f"hub.kubeconfig: {error}") from error
        board.show(daemon.registries, daemon.unready)
        get_log().info("shadow.started_up", origin=daemon.identity.origin, http=board.addresses)
        await _run(daemon, journal, configuration, stopped, surroundings)
    get_log().info("daemon.stopped")


def with_own_lease(configuration: Configuration) -> Configuration:
    """Let an orchestrator and a shadow run side by side: each has its Lease."""
    election = configuration.leader_election.model_copy(update={"lease_name": configuration.shadow.lease_name})
    return configuration.model_copy(update={"leader_election": election})


async def _run(
    daemon: ShadowDaemon,
    journal: Journal | None,
    configuration: Configuration,
    stopped: asyncio.Event,
    surroundings: Surroundings,
) -> None:
    if journal is not None:
        journal.start()
    try:
        supervisor = Supervisor.from_environment(os.environ)
        await run_until(daemon, stopped, supervisor, surroundings.clock, configuration.api.socket)
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
