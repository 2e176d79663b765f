"""Completes names of Workloads while they are typed: from the daemon or the hub, quickly or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from manager.cli.conventions.options import DaemonOptions

SECONDS: Final = 1.0


def complete_workload(ctx: Any, incomplete: str) -> list[str]:
    """Return Workloads with this prefix, as NAMESPACE/NAME, or as NAME with -n; none if there is no answer."""
    from dataclasses import replace

    from manager.cli.conventions.daemon import daemon_of
    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.options import DEFAULT_SOCKET, DaemonOptions

    given = {name: value for name, value in ctx.params.items() if value is not None}
    namespace = given.get("namespace")
    paths = ("kubeconfig", "socket", "token_file", "certificate_authority")
    options = DaemonOptions(  # during completion, options may still be plain strings
        **{"socket": DEFAULT_SOCKET} | {name: Path(given[name]) for name in paths if name in given},
        context=given.get("context"),
        server=given.get("server"),
    )
    try:
        query = {"namespace": namespace} if namespace else None
        daemon = replace(daemon_of(options, SECONDS), tries=1)
        found = daemon.ask("workloads", query=query)["workloads"]
    except CommandError:
        found = _of_hub(options, namespace)
    names = [each["name"] if namespace else f"{each['namespace']}/{each['name']}" for each in found]
    return [name for name in names if name.startswith(incomplete)]


def _of_hub(options: "DaemonOptions", namespace: str | None) -> list[dict[str, Any]]:
    if options.server is not None:
        return []
    import asyncio

    from manager.cli.ask.hub_view import HubView
    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.hub import hub_access
    from manager.cli.conventions.sources import read_cluster
    from workerclient.cluster import ClusterClient

    async def names(client: ClusterClient) -> list[dict[str, Any]]:
        async with asyncio.timeout(SECONDS):
            return await HubView(client).workloads(namespace)

    try:
        return read_cluster("hub", hub_access(options), names)
    except (CommandError, TimeoutError):
        return []
