"""Completes names of Workloads while they are typed: from the daemon or the hub, quickly or not at all."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from manager.cli.conventions.options import Connection

_SECONDS: Final = 1.0


def complete_workload(ctx: Any, incomplete: str) -> list[str]:
    """Return the Workloads that begin so, as NAMESPACE/NAME, or as NAME where -n is given. Silent if nobody answers."""
    from manager.cli.conventions.daemon import daemon_of
    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.options import DEFAULT_SOCKET, Connection

    given = {name: value for name, value in ctx.params.items() if value is not None}
    namespace = given.get("namespace")
    fields = ("kubeconfig", "context", "socket", "server", "token_file", "certificate_authority")
    options = Connection(**{"socket": DEFAULT_SOCKET} | {name: given[name] for name in fields if name in given})
    try:
        query = {"namespace": namespace} if namespace else None
        found = daemon_of(options, _SECONDS).ask("workloads", query=query)["workloads"]
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
        async with asyncio.timeout(_SECONDS):
            return await HubView(client).workloads(namespace)

    try:
        return read_cluster("hub", hub_access(options), names)
    except (CommandError, TimeoutError):
        return []
