"""Completes names while they are typed: from the daemon, the hub or the kubeconfig, quickly or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from manager.cli.conventions.options import DaemonOptions

SECONDS: Final = 1.0
_PATHS: Final = ("socket", "token_file", "certificate_authority")


def complete_workload(ctx: Any, incomplete: str) -> list[str]:
    """Return Workloads with this prefix, as NAMESPACE/NAME, or as NAME with -n; none if there is no answer."""
    namespace = ctx.params.get("namespace")
    found = _listed(ctx, "workloads", namespace)
    names = [each["name"] if namespace else f"{each['namespace']}/{each['name']}" for each in found]
    return [name for name in names if name.startswith(incomplete)]


def complete_namespace(ctx: Any, incomplete: str) -> list[str]:
    """Return the namespaces of Workloads that Turnstile handles."""
    names = {each["namespace"] for each in _listed(ctx, "workloads", None)}
    return sorted(name for name in names if name.startswith(incomplete))


def complete_worker(ctx: Any, incomplete: str) -> list[str]:
    """Return the names of workers."""
    return sorted(each["name"] for each in _listed(ctx, "workers", None) if each["name"].startswith(incomplete))


def complete_context(ctx: Any, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfigs that would be used for the hub."""
    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.hub import contexts_of

    try:
        return [name for name in contexts_of(_options(ctx)) if name.startswith(incomplete)]
    except CommandError:
        return []


def _options(ctx: Any) -> "DaemonOptions":
    """Return what the command line names so far; during completion, options may still be plain strings."""
    from manager.cli.conventions.options import DaemonOptions

    given = {name: value for name, value in ctx.params.items() if value is not None}
    kubeconfig = given.get("hub_kubeconfig") or given.get("kubeconfig")
    return DaemonOptions(
        **{name: Path(given[name]) for name in _PATHS if name in given},
        kubeconfig=Path(kubeconfig) if kubeconfig else None,
        context=given.get("hub_context") or given.get("context"),
        server=given.get("server"),
    )


def _listed(ctx: Any, subject: str, namespace: str | None) -> list[dict[str, Any]]:
    from dataclasses import replace

    from manager.cli.conventions.daemon import daemon_of
    from manager.cli.conventions.errors import CommandError

    options = _options(ctx)
    try:
        query = {"namespace": namespace} if namespace else None
        found: list[dict[str, Any]] = replace(daemon_of(options, SECONDS), tries=1).ask(subject, query=query)[subject]
    except CommandError:
        return _of_hub(options, subject, namespace)
    return found


def _of_hub(options: "DaemonOptions", subject: str, namespace: str | None) -> list[dict[str, Any]]:
    if options.server is not None:
        return []
    import asyncio

    from manager.cli.conventions.errors import CommandError
    from manager.cli.conventions.hub import hub_access
    from manager.cli.conventions.hub_view import hub_answer
    from manager.cli.conventions.sources import read_cluster
    from workerclient.cluster import ClusterClient

    async def listed(client: ClusterClient) -> list[dict[str, Any]]:
        async with asyncio.timeout(SECONDS):
            answer = await hub_answer(client, (subject,), namespace)
            found: list[dict[str, Any]] = answer[subject]
            return found

    try:
        return read_cluster("hub", hub_access(options), listed)
    except (CommandError, TimeoutError):
        return []
