"""Where an answer comes from: the daemon, or the hub itself when no daemon answers on the socket."""

from typing import TYPE_CHECKING, TypeVar

import typer

from config.types.syntax import printable
from manager.cli.conventions.daemon import NoDaemonError
from manager.cli.conventions.errors import BadInputError, NoAnswerError
from manager.cli.conventions.hub import NoKubeconfigError, find_kubeconfig, is_in_pod, warn_missing
from manager.cli.conventions.options import DaemonOptions
from manager.cli.conventions.progress import working

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from config.kubeconfig.access import ClusterAccess
    from workerclient.cluster import ClusterClient

Answer = TypeVar("Answer")


def hub_instead(connection: DaemonOptions, error: NoDaemonError) -> None:
    """Say that the hub answers because no daemon did; raises `NoAnswerError` where it cannot be asked.

    This comes before anything of the hub is read or any client is loaded, so that the user is not left waiting.
    """
    if connection.server is not None:
        raise error
    try:
        found = find_kubeconfig(connection)
        warn_missing(found)
        hub = f"context {found.context} of {found.path}"
    except BadInputError as problem:
        if not isinstance(problem, NoKubeconfigError) or not is_in_pod(connection):
            raise NoAnswerError(f"{error}; the hub cannot be read instead: {problem}") from None
        hub = "the cluster of this pod"
    typer.echo(printable(f"{error.problem}; showing the hub's view ({hub})"), err=True)


def read_cluster(name: str, access: "ClusterAccess", read: "Callable[[ClusterClient], Awaitable[Answer]]") -> Answer:
    """Read a cluster from a command; a `ClusterError` becomes a `NoAnswerError`."""
    import asyncio
    import os
    import random

    from manager.base.clock import SystemClock
    from workerclient.base.errors import ClusterError
    from workerclient.cluster import ClientContext, ClusterClient

    async def reading() -> Answer:
        client_context = ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ))
        client = ClusterClient(name, access, client_context)
        try:
            return await read(client)
        finally:
            await client.close()

    try:
        with working(f"reading {name}"):
            return asyncio.run(reading())
    except ClusterError as error:
        raise NoAnswerError(f"{error}; check --context, the network and the user's permissions") from None
    except ValueError as error:
        raise BadInputError(f"kubeconfig of {name}: {error}") from None
