"""`turnstile worker`: make clusters workers of a hub, see them, renew their tokens, let them go."""

import re
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from manager.onboarding.workers import Onboarding
    from workerclient.cluster import Surroundings

_FAILED: Final = 1
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_LEAST_VALIDITY: Final = timedelta(minutes=10)
"""The API server refuses shorter ones."""

app = typer.Typer(
    name="worker",
    help="Make clusters workers of a hub; list them, renew their tokens, let them go.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _object_name(text: str | None) -> str | None:
    if text is not None and (len(text) > _LONGEST_NAME or not _NAME.fullmatch(text)):
        raise typer.BadParameter('a DNS-1123 name: lower case letters, digits, "-" and "." (for example "worker-1")')
    return text


def _validity(text: str) -> str:
    from config.duration import DurationError, parse_duration

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
Kubeconfig = Annotated[Path, typer.Option(help="A kubeconfig of the worker's administrator; it stays here.")]
Context = Annotated[str | None, typer.Option(help="The context in it; without it, its current-context.")]
HubKubeconfig = Annotated[Path, typer.Option(envvar="KUBECONFIG", help="A kubeconfig of the hub's administrator.")]
HubContext = Annotated[str | None, typer.Option(help="The context in it; without it, its current-context.")]
Namespace = Annotated[str, typer.Option(help="The namespace of Turnstile on the hub.", callback=_object_name)]
ValidFor = Annotated[
    str, typer.Option(help="How long the token shall be good; the worker may allow less.", callback=_validity)
]
Server = Annotated[
    str | None, typer.Option(help="The worker's address as the hub sees it, if it is another.", callback=_address)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only read, and tell what would be done.")]


@app.command()
def add(
    name: Name,
    *,
    kubeconfig: Kubeconfig,
    hub_kubeconfig: HubKubeconfig,
    context: Context = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    server: Server = None,
    to_config: Annotated[
        str | None,
        typer.Option(
            help="A MultiKueueConfig to add the worker to; it is made if it is not there.", callback=_object_name
        ),
    ] = None,
    pod_forecast: Annotated[
        bool,
        typer.Option("--pod-forecast", help="Also let nodes and pods be read, for forecasts with podForecast."),
    ] = False,
    valid_for: ValidFor = "8760h",
    dry_run: DryRun = False,
) -> None:
    """Create roles and a token on a worker, and register it on the hub. May be repeated: what is right stays."""
    from manager.onboarding.workers import Worker

    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run)
    worker = Worker(name, _access("--kubeconfig", kubeconfig, context), server)
    _carry_out(onboarding.add(worker, _seconds(valid_for), to_config, with_pods=pod_forecast))


@app.command()
def rotate(
    name: Name,
    *,
    kubeconfig: Kubeconfig,
    hub_kubeconfig: HubKubeconfig,
    context: Context = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    server: Server = None,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="End all older tokens at once, by making the service account anew.")
    ] = False,
    valid_for: ValidFor = "8760h",
    dry_run: DryRun = False,
) -> None:
    """Put a new token into the worker's Secret on the hub; a running daemon takes it over."""
    from manager.onboarding.workers import Worker

    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run)
    worker = Worker(name, _access("--kubeconfig", kubeconfig, context), server)
    _carry_out(onboarding.rotate(worker, _seconds(valid_for), revoke=revoke))


@app.command()
def remove(
    name: Name,
    *,
    hub_kubeconfig: HubKubeconfig,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="The worker's administrator: also delete the account and the roles there.")
    ] = None,
    context: Context = None,
    hub_context: HubContext = None,
    namespace: Namespace = "turnstile-system",
    dry_run: DryRun = False,
) -> None:
    """Take a worker off the hub; refused while a MultiKueueConfig names it."""
    onboarding = _onboarding(hub_kubeconfig, hub_context, namespace, is_rehearsal=dry_run)
    access = None if kubeconfig is None else _access("--kubeconfig", kubeconfig, context)
    _carry_out(onboarding.remove(name, access))


@app.command("list")
def list_workers(
    hub_kubeconfig: HubKubeconfig, hub_context: HubContext = None, namespace: Namespace = "turnstile-system"
) -> None:
    """Print the hub's workers, whether they are connected, and until when their tokens are good."""
    from manager.onboarding.listing import rows

    async def show() -> None:
        found = await rows(_access("--hub-kubeconfig", hub_kubeconfig, hub_context), namespace, _surroundings())
        lines = [("NAME", "KUBECONFIG", "ACTIVE", "TOKEN UNTIL", "CONFIGS")]
        lines += [(row.name, row.kubeconfig, row.active, row.token_until, row.configs) for row in found]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        for line in lines:
            typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())

    _carry_out(show())


def _onboarding(hub: Path, context: str | None, namespace: str, *, is_rehearsal: bool) -> "Onboarding":
    from manager.onboarding.workers import Onboarding

    access = _access("--hub-kubeconfig", hub, context)
    return Onboarding(access, namespace, _surroundings(), typer.echo, is_rehearsal)


def _access(option: str, path: Path, context: str | None) -> "ClusterAccess":
    """Load a kubeconfig of whoever runs this; it is their own, so it may name commands and files of theirs."""
    from config.kubeconfig.errors import KubeconfigError
    from config.kubeconfig.sources import load_hub_kubeconfig
    from config.sections import KubeconfigPolicy

    own = tuple(directory for directory in (path.resolve().parent, Path.home()) if directory != Path("/"))
    policy = KubeconfigPolicy(allowed_directories=own, allow_exec_plugins=True, allow_file_references=True)
    try:
        return load_hub_kubeconfig(path.resolve(), policy, context)
    except KubeconfigError as error:
        typer.echo(f"error: {option}: {error}", err=True)
        raise typer.Exit(2) from None


def _surroundings() -> "Surroundings":
    import os
    import random

    from manager.clock import SystemClock
    from workerclient.cluster import Surroundings

    return Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))


def _seconds(valid_for: str) -> int:
    from config.duration import parse_duration

    return int(parse_duration(valid_for).total_seconds())


def _carry_out(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; whatever a cluster or an object has against it becomes one line."""
    import asyncio

    from manager.onboarding.errors import OnboardingError
    from workerclient.errors import ClusterError

    try:
        asyncio.run(work)
    except (ClusterError, OnboardingError, ValueError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_FAILED) from None
