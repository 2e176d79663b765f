"""`turnstile worker`: registers clusters as workers of a hub, lists them, renews their tokens, removes them."""

from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.group import CommandGroup
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Presentation
from manager.cli.conventions.output import TableColumn, TableView, show
from manager.cli.display.fitting import Priority
from manager.cli.examples import examples_of
from manager.cli.worker_options import (
    Adopt,
    DryRun,
    HubAdministrator,
    MoveWorker,
    Name,
    Namespace,
    Server,
    ValidFor,
    WorkerAdministrator,
    object_name,
)

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from manager.onboarding.workers import Onboarding

_COLUMNS: Final = (
    TableColumn("NAME", lambda each: each["name"], priority=Priority.ESSENTIAL),
    TableColumn("KUBECONFIG", lambda each: each["kubeconfig"], priority=Priority.EXTRA),
    TableColumn("ACTIVE", lambda each: each["active"], priority=Priority.ESSENTIAL),
    TableColumn("TOKEN UNTIL", lambda each: each["tokenUntil"], priority=Priority.ESSENTIAL),
    TableColumn("CONFIGS", lambda each: each["configs"]),
)
_KIND: Final = "multikueuecluster.kueue.x-k8s.io"

app = typer.Typer(
    name="worker",
    help="Register clusters as workers of a hub; list them, take them out of service, renew their tokens, remove them.",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog=examples_of("worker add"))
@with_option_groups
def add(
    name: Name,
    *,
    cluster: WorkerAdministrator,
    hub: HubAdministrator,
    namespace: Namespace = "turnstile-system",
    server: Server = None,
    to_config: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A MultiKueueConfig to add the worker to; it is created if it does not exist.",
            callback=object_name,
        ),
    ] = None,
    pod_forecast: Annotated[
        bool,
        typer.Option("--pod-forecast", help="Also grant read access to nodes and pods, for podForecast."),
    ] = False,
    topology: Annotated[
        bool,
        typer.Option("--topology", help="Also grant read access to topologies, nodes and pods, for topology."),
    ] = False,
    valid_for: ValidFor = "8760h",
    move: MoveWorker = False,
    adopt: Adopt = False,
    dry_run: DryRun = False,
) -> None:
    """Create roles and a token on a worker, and register it on the hub. Can be repeated safely."""
    from manager.onboarding.objects import OptionalRole
    from manager.onboarding.workers import WorkerCluster

    onboarding = onboarding_of(hub, namespace, is_rehearsal=dry_run, adopts=adopt)
    worker = WorkerCluster(name, cluster.access(), server)
    wanted = {OptionalRole.POD_FORECASTS: pod_forecast, OptionalRole.TOPOLOGY: topology}
    optional = [role for role, is_wanted in wanted.items() if is_wanted]
    carry_out(onboarding.add(worker, _seconds(valid_for), to_config, optional=optional, move=move))


@app.command(epilog=examples_of("worker rotate"))
@with_option_groups
def rotate(
    name: Name,
    *,
    cluster: WorkerAdministrator,
    hub: HubAdministrator,
    namespace: Namespace = "turnstile-system",
    server: Server = None,
    revoke: Annotated[
        bool,
        typer.Option("--revoke", help="Revoke all older tokens by replacing the service account, and verify it."),
    ] = False,
    valid_for: ValidFor = "8760h",
    move: MoveWorker = False,
    adopt: Adopt = False,
    dry_run: DryRun = False,
) -> None:
    """Write a new token to the worker's Secret on the hub; a running daemon picks it up."""
    from manager.onboarding.workers import WorkerCluster

    onboarding = onboarding_of(hub, namespace, is_rehearsal=dry_run, adopts=adopt)
    worker = WorkerCluster(name, cluster.access(), server)
    carry_out(onboarding.rotate(worker, _seconds(valid_for), revoke=revoke, move=move))


@app.command(epilog=examples_of("worker remove"))
@with_option_groups
def remove(
    name: Name,
    *,
    cluster: WorkerAdministrator,
    hub: HubAdministrator,
    namespace: Namespace = "turnstile-system",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Even if replicas and jobs of this hub are unfinished there.")
    ] = False,
    adopt: Adopt = False,
    dry_run: DryRun = False,
) -> None:
    """Remove a worker from the hub; refused while a MultiKueueConfig names it or jobs of the hub run there.

    With --worker-kubeconfig the hub's account and roles on the worker are deleted as well.
    """
    onboarding = onboarding_of(hub, namespace, is_rehearsal=dry_run, adopts=adopt)
    carry_out(onboarding.remove(name, cluster.access_if_given(), abandon=abandon))


@app.command(epilog=examples_of("worker cordon"))
@with_option_groups
def cordon(
    name: Name, *, hub: HubAdministrator, namespace: Namespace = "turnstile-system", dry_run: DryRun = False
) -> None:
    """Send nothing new to a worker, for maintenance; jobs that run there stay."""
    carry_out(onboarding_of(hub, namespace, is_rehearsal=dry_run, adopts=False).cordon(name))


@app.command(epilog=examples_of("worker uncordon"))
@with_option_groups
def uncordon(
    name: Name, *, hub: HubAdministrator, namespace: Namespace = "turnstile-system", dry_run: DryRun = False
) -> None:
    """Use a worker again."""
    carry_out(onboarding_of(hub, namespace, is_rehearsal=dry_run, adopts=False).uncordon(name))


@app.command("list", epilog=examples_of("worker list"))
@with_option_groups
def list_workers(
    *,
    hub: HubAdministrator,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The same as --hub-kubeconfig.", hidden=True)
    ] = None,
    namespace: Namespace = "turnstile-system",
    presentation: Presentation,
) -> None:
    """Print the hub's workers, whether they are connected, and when their tokens expire."""
    from manager.onboarding.listing import rows
    from workerclient.operator.cluster import OperatorCluster

    access = (replace(hub, hub_kubeconfig=kubeconfig) if kubeconfig is not None else hub).access()

    async def listed() -> None:
        cluster = OperatorCluster("hub", access)
        try:
            found = await rows(cluster, namespace)
        finally:
            await cluster.close()
        items = [
            {
                "name": row.name,
                "kubeconfig": row.kubeconfig,
                "active": row.active,
                "tokenUntil": row.token_until,
                "configs": row.configs,
            }
            for row in found
        ]
        view = TableView(
            "RegisteredWorkerList", items, _COLUMNS, lambda each: f"{_KIND}/{each['name']}", "the hub has no workers"
        )
        show(view, presentation.output)

    carry_out(listed())


def onboarding_of(hub: HubAdministrator, namespace: str, *, is_rehearsal: bool, adopts: bool) -> "Onboarding":
    """Return the operations on a hub."""
    from manager.cli.conventions.configuration import client_context_of_command
    from manager.onboarding.clusters import Connections
    from manager.onboarding.workers import Onboarding
    from workerclient.cluster import ClusterClient
    from workerclient.operator.cluster import OperatorCluster

    access, client_context = hub.access(), client_context_of_command()

    def as_granted(name: str, access: "ClusterAccess") -> ClusterClient:
        return ClusterClient(name, access, client_context)

    connections = Connections(OperatorCluster, as_granted)
    return Onboarding(access, namespace, connections, client_context.clock, typer.echo, is_rehearsal, adopts)


def _seconds(valid_for: str) -> int:
    from config.types.duration import parse_duration

    return int(parse_duration(valid_for).total_seconds())


def carry_out(work: Coroutine[Any, Any, None]) -> None:
    """Run an operation; its errors become one line and an exit code."""
    import asyncio

    from manager.onboarding.errors import OnboardingError, UnfitInputError
    from workerclient.base.errors import ClusterError

    try:
        asyncio.run(work)
    except ClusterError as error:
        raise NoAnswerError(str(error)) from None
    except UnfitInputError as error:
        raise BadInputError(str(error)) from None
    except OnboardingError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        raise BadInputError(f"kubeconfig: {error}") from None
