"""`turnstile worker`: registers clusters as workers of a hub, lists them, renews their tokens, removes them."""

import re
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import HubOptions, Presentation
from manager.cli.conventions.output import TableColumn, TableView, show

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from manager.onboarding.workers import Onboarding

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_COLUMNS: Final = (
    TableColumn("NAME", lambda each: each["name"]),
    TableColumn("KUBECONFIG", lambda each: each["kubeconfig"]),
    TableColumn("ACTIVE", lambda each: each["active"]),
    TableColumn("TOKEN UNTIL", lambda each: each["tokenUntil"]),
    TableColumn("CONFIGS", lambda each: each["configs"]),
)
_KIND: Final = "multikueuecluster.kueue.x-k8s.io"
_LEAST_VALIDITY: Final = timedelta(minutes=10)
"""The API server rejects shorter ones."""

app = typer.Typer(
    name="worker",
    help="Register clusters as workers of a hub; list them, renew their tokens, remove them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _object_name(text: str | None) -> str | None:
    if text is not None and (len(text) > _LONGEST_NAME or not _NAME.fullmatch(text)):
        raise typer.BadParameter('a DNS-1123 name: lower case letters, digits, "-" and "." (for example "worker-1")')
    return text


def _validity(text: str) -> str:
    from config.types.duration import DurationError, parse_duration

    try:
        if parse_duration(text) >= _LEAST_VALIDITY:
            return text
    except DurationError as error:
        raise typer.BadParameter(f'a duration of at least 10m (for example "8760h"); it {error}') from None
    raise typer.BadParameter('a duration of at least 10m (for example "8760h")')


def _address(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"https://[^\s/]+(/\S*)?", text):
        raise typer.BadParameter('an https address (for example "https://worker-1.example:6443")')
    return text


Name = Annotated[str, typer.Argument(help="The worker's name on the hub.", callback=_object_name)]
Kubeconfig = Annotated[Path, typer.Option(help="A kubeconfig of the worker's administrator; it stays on this machine.")]
Context = Annotated[str | None, typer.Option(help="The context in it; by default its current-context.")]
HubKubeconfig = Annotated[
    Path | None,
    typer.Option(help="A kubeconfig of the hub's administrator; by default $KUBECONFIG, else ~/.kube/config."),
]
HubContext = Annotated[str | None, typer.Option(help="The context in it; by default its current-context.")]
Namespace = Annotated[str, typer.Option(help="The namespace of Turnstile on the hub.", callback=_object_name)]
ValidFor = Annotated[
    str, typer.Option(help="How long the token is valid; the worker may grant less.", callback=_validity)
]
Server = Annotated[
    str | None, typer.Option(help="The worker's address as seen from the hub, if different.", callback=_address)
]
MoveWorker = Annotated[
    bool, typer.Option("--move", help="Let the name refer to another cluster; only while no MultiKueueConfig names it.")
]
Adopt = Annotated[
    bool,
    typer.Option(
        "--adopt",
        help="Take over an account and roles on the worker that have the shipped names but were created otherwise.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing; print what would be done.")]


@app.command()
def add(
    name: Name,
    *,
    kubeconfig: Kubeconfig,
    hub_kubeconfig: HubKubeconfig = None,
    context: Context = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    server: Server = None,
    to_config: Annotated[
        str | None,
        typer.Option(
            help="A MultiKueueConfig to add the worker to; it is created if it does not exist.", callback=_object_name
        ),
    ] = None,
    pod_forecast: Annotated[
        bool,
        typer.Option("--pod-forecast", help="Also grant read access to nodes and pods, for podForecast."),
    ] = False,
    valid_for: ValidFor = "8760h",
    move: MoveWorker = False,
    adopt: Adopt = False,
    dry_run: DryRun = False,
) -> None:
    """Create roles and a token on a worker, and register it on the hub. Can be repeated safely."""
    from manager.onboarding.workers import WorkerCluster

    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run, adopts=adopt)
    worker = WorkerCluster(name, _access("--", kubeconfig, context), server)
    _carry_out(onboarding.add(worker, _seconds(valid_for), to_config, with_pods=pod_forecast, move=move))


@app.command()
def rotate(
    name: Name,
    *,
    kubeconfig: Kubeconfig,
    hub_kubeconfig: HubKubeconfig = None,
    context: Context = None,
    hub_context: HubContext = None,
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

    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run, adopts=adopt)
    worker = WorkerCluster(name, _access("--", kubeconfig, context), server)
    _carry_out(onboarding.rotate(worker, _seconds(valid_for), revoke=revoke, move=move))


@app.command()
def remove(
    name: Name,
    *,
    hub_kubeconfig: HubKubeconfig = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="The worker's administrator: also deletes the account and the roles there.")
    ] = None,
    context: Context = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Even if replicas and jobs of this hub are unfinished there.")
    ] = False,
    adopt: Adopt = False,
    dry_run: DryRun = False,
) -> None:
    """Remove a worker from the hub; refused while a MultiKueueConfig names it or jobs of the hub run there."""
    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run, adopts=adopt)
    access = None if kubeconfig is None else _access("--", kubeconfig, context)
    _carry_out(onboarding.remove(name, access, abandon=abandon))


@app.command("list")
@with_option_groups
def list_workers(
    *,
    hub_kubeconfig: HubKubeconfig = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    presentation: Presentation,
) -> None:
    """Print the hub's workers, whether they are connected, and when their tokens expire."""
    from manager.onboarding.listing import rows
    from workerclient.operator.cluster import OperatorCluster

    access = _access("--hub-", hub_kubeconfig, hub_context)

    async def listed() -> None:
        hub = OperatorCluster("hub", access)
        try:
            found = await rows(hub, namespace)
        finally:
            await hub.close()
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

    _carry_out(listed())


def _onboarding(
    hub: Path | None, context: str | None, namespace: str, *, is_rehearsal: bool, adopts: bool
) -> "Onboarding":
    from manager.cli.conventions.configuration import client_context_of_command
    from manager.onboarding.clusters import Connections
    from manager.onboarding.workers import Onboarding
    from workerclient.cluster import ClusterClient
    from workerclient.operator.cluster import OperatorCluster

    access, client_context = _access("--hub-", hub, context), client_context_of_command()

    def as_granted(name: str, access: "ClusterAccess") -> ClusterClient:
        return ClusterClient(name, access, client_context)

    connections = Connections(OperatorCluster, as_granted)
    return Onboarding(access, namespace, connections, client_context.clock, typer.echo, is_rehearsal, adopts)


def _access(prefix: str, path: Path | None, context: str | None) -> "ClusterAccess":
    """Load the operator's own kubeconfig, for the hub or for a worker; raises `BadInputError`."""
    from manager.cli.conventions.hub import access_of, find_kubeconfig, warn_missing

    try:
        found = find_kubeconfig(HubOptions(path, context), prefix=prefix)
        warn_missing(found)
        return access_of(found)
    except BadInputError as error:
        raise BadInputError(f"{prefix}kubeconfig: {error}") from None


def _seconds(valid_for: str) -> int:
    from config.types.duration import parse_duration

    return int(parse_duration(valid_for).total_seconds())


def _carry_out(work: Coroutine[Any, Any, None]) -> None:
    """Run an operation; its errors become one line and an exit code."""
    import asyncio

    from manager.onboarding.errors import OnboardingError
    from workerclient.base.errors import ClusterError

    try:
        asyncio.run(work)
    except ClusterError as error:
        raise NoAnswerError(str(error)) from None
    except OnboardingError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        raise BadInputError(f"kubeconfig: {error}") from None
