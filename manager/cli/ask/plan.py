"""`turnstile plan`: which worker would take a job now, what it would preempt, and how large the job could be."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.ask.plan_report import lines_of, names_of
from manager.cli.conventions.configuration import (
    ConfigFile,
    Seconds,
    client_context_of_command,
    configuration_and_hub,
)
from manager.cli.conventions.daemon import NoDaemonError, daemon_of
from manager.cli.conventions.errors import BadInputError, NoAnswerError, refusing
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.hub import namespace_of
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import DaemonOptions, NamespaceOption, Presentation
from manager.cli.conventions.output import Report, show
from manager.cli.conventions.progress import working

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from config.sections.settings import Configuration
    from manager.cli.reading.manifests import Manifest

_ANSWER_SECONDS = 60.0
"""A daemon with many workers tries many sizes."""


@with_option_groups
def plan(
    *,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--filename", "-f", metavar="PATH", help="File or directory of jobs, or - for standard input; repeatable."
        ),
    ] = None,
    pod_set: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The pod set whose size is varied; by default the one with the most pods."),
    ] = None,
    config: ConfigFile = None,
    timeout: Seconds = 30.0,
    chosen: NamespaceOption,
    connection: DaemonOptions,
    presentation: Presentation,
) -> None:
    """Show which worker would take a job now, what it would preempt, and the largest size that still fits.

    Asks the running daemon; with --config, or if no daemon answers, the clusters of the configuration.
    Exits with 1 if no worker takes it, with 3 if neither daemon nor clusters answer.
    """
    manifests = _manifests(files)
    namespace = namespace_of(chosen, connection) or "default"
    _refuse_other_namespaces(manifests, chosen)
    if config is not None:
        clusters = configuration_and_hub(config, connection)
        source, plans = "clusters", _without_daemon(manifests, namespace, pod_set, clusters, timeout)
    else:
        source, plans = _of_daemon_or_clusters(manifests, namespace, pod_set, connection, timeout)
    body = {"source": source, **(plans[0] if len(plans) == 1 else {"items": plans})}
    kind = "Plan" if len(plans) == 1 else "PlanList"
    report = Report(kind, body, lambda screen, wide: lines_of(plans, screen, is_wide=wide), names_of(plans))
    show(report, presentation.output)
    if not all(each["takes"] for each in plans):
        raise typer.Exit(Exit.NEGATIVE if all(each["reachable"] for each in plans) else Exit.NO_ANSWER)


def _manifests(files: list[str] | None) -> "list[Manifest]":
    from manager.cli.reading.manifests import read_manifests

    if not files:
        raise BadInputError("nothing to plan: give a file with -f, or - for standard input")
    with refusing(ValueError), working("reading manifests"):
        found = read_manifests(files)
    if not found:
        raise BadInputError(f"{', '.join(files)}: no job found")
    return found


def _of_daemon_or_clusters(
    manifests: "list[Manifest]", namespace: str, pod_set: str | None, connection: DaemonOptions, timeout: float
) -> tuple[str, list[Obj]]:
    try:
        with working("planning"):
            return "daemon", [_asked(manifest, namespace, pod_set, connection) for manifest in manifests]
    except NoDaemonError as error:
        if connection.server is not None:
            raise
        typer.echo(f"{printable(error.problem)}; planning from the clusters instead", err=True)
        try:
            clusters = configuration_and_hub(None, connection)
        except BadInputError as problem:
            raise NoAnswerError(f"the clusters cannot be read: {problem}") from None
        return "clusters", _without_daemon(manifests, namespace, pod_set, clusters, timeout)


def _refuse_other_namespaces(manifests: "list[Manifest]", chosen: NamespaceOption) -> None:
    """Refuse an -n that a manifest contradicts, as kubectl does."""
    for manifest in manifests:
        metadata = manifest.raw.get("metadata")
        stated = metadata.get("namespace") if isinstance(metadata, dict) else None
        if chosen.namespace is not None and stated not in (None, chosen.namespace):
            where = f"{manifest.source}: the manifest states the namespace {stated}, and -n {chosen.namespace} another"
            raise BadInputError(f"{where}; leave out -n, or change the manifest")


def _asked(manifest: "Manifest", namespace: str, pod_set: str | None, connection: DaemonOptions) -> Obj:
    import json

    from gates.jobs.reading import LARGEST_MANIFEST

    body = {"manifest": manifest.raw, "namespace": namespace, "podSet": pod_set}
    size = len(json.dumps(manifest.raw))
    if size > LARGEST_MANIFEST:
        message = f"the manifest has {size} bytes: must be at most {LARGEST_MANIFEST}"
        raise BadInputError(f"{manifest.source}: {message}")
    try:
        found: Obj = daemon_of(connection, _ANSWER_SECONDS).ask("plan", body=body)
    except BadInputError as error:
        raise BadInputError(f"{manifest.source}: {error}") from None
    return found


def _without_daemon(
    manifests: "list[Manifest]",
    namespace: str,
    pod_set: str | None,
    clusters: "tuple[Configuration, ClusterAccess]",
    timeout: float,
) -> list[Obj]:
    import asyncio

    from gates.jobs.reading import ManifestFieldError
    from manager.base.errors import StartupError
    from manager.base.from_configuration import kueues_of, policies_of, settings_of
    from manager.planning.errors import PlanError
    from manager.planning.listed import listed_planner
    from workerclient.base.errors import ClusterError
    from workerclient.cluster import ClusterClient

    configuration, access = clusters
    client_context = client_context_of_command()

    async def planned() -> list[Any]:
        hub = ClusterClient("hub", access, client_context)
        try:
            rules = (settings_of(configuration), policies_of(configuration), kueues_of(configuration))
            planner = await listed_planner(configuration, hub, rules, client_context, timeout)
            return [await _one(planner, manifest) for manifest in manifests]
        finally:
            await hub.close()

    async def _one(planner: Any, manifest: "Manifest") -> Any:
        try:
            return await planner.plan(manifest.raw, namespace, pod_set)
        except (ManifestFieldError, PlanError) as error:
            raise BadInputError(f"{manifest.source}: {error}") from None

    try:
        with working("reading the clusters"):
            return asyncio.run(planned())
    except ClusterError as error:
        raise NoAnswerError(f"the hub cannot be asked: {error}") from None
    except (StartupError, ValueError) as error:
        raise BadInputError(str(error)) from None
