"""Where an answer comes from: the daemon, or the hub itself when no daemon answers on the socket."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from manager.cli.conventions.daemon import Daemon, NoDaemonError, daemon_of
from manager.cli.conventions.errors import BadInputError, NoAnswerError
from manager.cli.conventions.hub import find_kubeconfig, hub_access
from manager.cli.conventions.options import Connection
from manager.cli.conventions.terminal import printable

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from workerclient.cluster import ClusterClient

Answer = TypeVar("Answer")


def of_daemon_or_hub(
    connection: Connection,
    of_daemon: Callable[[Daemon], Answer],
    of_hub: "Callable[[ClusterClient], Awaitable[Answer]]",
) -> Answer:
    """Ask the daemon; where none answers and --server names none, read the hub and say so on standard error."""
    try:
        return of_daemon(daemon_of(connection))
    except NoDaemonError as error:
        hub_instead(connection, error)
        return read_cluster("hub", hub_access(connection), of_hub)


def hub_instead(connection: Connection, error: NoDaemonError) -> None:
    """Say that the hub answers because no daemon did; raises `NoAnswerError` where it cannot be asked.

    This comes before anything of the hub is read or any client is loaded, so that the user is not left waiting.
    """
    if connection.server is not None:
        raise error
    try:
        found = find_kubeconfig(connection)
    except BadInputError as problem:
        raise NoAnswerError(f"{error}; the hub cannot be asked instead: {problem}") from None
    why, _, _ = str(error).partition(";")
    hub = printable(f"{why}; this is the view of the hub (context {found.context} of {found.path})")
    typer.echo(hub, err=True)


def read_cluster(name: str, access: "ClusterAccess", read: "Callable[[ClusterClient], Awaitable[Answer]]") -> Answer:
    """Read a cluster from a command; whatever it has against that becomes a `NoAnswerError`."""
    import asyncio
    import os
    import random

    from manager.clock import SystemClock
    from workerclient.cluster import ClusterClient, Surroundings
    from workerclient.errors import ClusterError

    async def reading() -> Answer:
        surroundings = Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
        client = ClusterClient(name, access, surroundings)
        try:
            return await read(client)
        finally:
            await client.close()

    try:
        return asyncio.run(reading())
    except ClusterError as error:
        raise NoAnswerError(f"{error}; is this the right --context, and may this machine and user ask it?") from None
    except ValueError as error:
        raise BadInputError(f"kubeconfig of {name}: {error}") from None
