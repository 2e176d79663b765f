"""Completes names of Workloads while they are typed: from the daemon or the hub, quickly or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from manager.cli.conventions.options import Connection

SECONDS: Final = 1.0


def complete_workload(ctx: Any, incomplete: str) -> list[str]:
    """Return the Workloads that begin so, as NAMESPACE/NAME, or as NAME where -n is given. Silent if nobody answers."""
    from manager.cli.conventions.daemon import daemon_of
    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.options import DEFAULT_SOCKET, Connection

    given = {name: value for name, value in ctx.params.items() if value is not None}
    namespace = given.get("namespace")
    paths = ("kubeconfig", "socket", "token_file", "certificate_authority")
    options = Connection(  # while a line is completed, options may be plain texts still
        **{"socket": DEFAULT_SOCKET} | {name: Path(given[name]) for name in paths if name in given},
        context=given.get("context"),
        server=given.get("server"),
    )
    try:
        query = {"namespace": namespace} if namespace else None
        found = daemon_of(options, SECONDS).ask("workloads", query=query)["workloads"]
    except CommandError:
        found = _of_hub(options, namespace)
    names = [each["name"] if namespace else f"{each['namespace']}/{each['name']}" for each in found]
    return [name for name in names if name.startswith(incomplete)]


def _of_hub(options: "Connection", namespace: str | None) -> list[dict[str, Any]]:
    if options.server is not None:
        return []
    import asyncio

    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.hub import hub_access
    from manager.cli.conventions.sources import read_cluster
    from manager.cli.hubview import HubView
    from workerclient.cluster import ClusterClient

    async def names(client: ClusterClient) -> list[dict[str, Any]]:
        async with asyncio.timeout(SECONDS):
            return await HubView(client).workloads(namespace)

    try:
        return read_cluster("hub", hub_access(options), names)
    except (CommandError, TimeoutError):
        return []
