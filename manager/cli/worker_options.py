"""The options of `turnstile worker`: which hub, which worker, and how a worker is registered."""

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from manager.cli.conventions.completion import complete_context, complete_worker
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.options import HubOptions

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_LEAST_VALIDITY: Final = timedelta(minutes=10)
"""The API server rejects shorter ones."""


def object_name(text: str | None) -> str | None:
    """Return a name that an object may have; raises `BadParameter`."""
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


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The worker's name on the hub.", callback=object_name, autocompletion=complete_worker
    ),
]
Namespace = Annotated[
    str, typer.Option(metavar="NAME", help="The namespace of Turnstile on the hub.", callback=object_name)
]
ValidFor = Annotated[
    str,
    typer.Option(
        metavar="DURATION", help="How long the token is valid; the worker may grant less.", callback=_validity
    ),
]
Server = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The worker's address as seen from the hub, if different.", callback=_address),
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


@dataclass(frozen=True, slots=True)
class HubAdministrator:
    """Which hub, and as which user."""

    hub_kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A kubeconfig of the hub's administrator; by default $KUBECONFIG, else ~/.kube/config.",
        ),
    ] = None
    hub_context: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The context in it; by default its current-context.", autocompletion=complete_context
        ),
    ] = None

    def access(self) -> "ClusterAccess":
        """Return the access to the hub, in a pod of the hub its service account's; raises `BadInputError`."""
        from manager.cli.conventions.hub import hub_access, is_in_pod

        options = HubOptions(self.hub_kubeconfig, self.hub_context)
        if is_in_pod(options):
            return hub_access(options)
        return _access("--hub-", self.hub_kubeconfig, self.hub_context)


@dataclass(frozen=True, slots=True)
class WorkerAdministrator:
    """Which cluster is the worker. `--kubeconfig` and `--context` mean the hub's everywhere else."""

    worker_kubeconfig: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A kubeconfig of the worker's administrator; it stays on this machine."),
    ] = None
    worker_context: Annotated[
        str | None, typer.Option(metavar="NAME", help="The context in it; by default its current-context.")
    ] = None
    kubeconfig: Annotated[Path | None, typer.Option(hidden=True)] = None
    context: Annotated[str | None, typer.Option(hidden=True)] = None

    def access_if_given(self) -> "ClusterAccess | None":
        """Return the access to the worker, None if the options name none; raises `BadInputError`."""
        if self.worker_kubeconfig is not None and self.kubeconfig is not None:
            raise BadInputError("--worker-kubeconfig and --kubeconfig both name the worker; give only the first")
        path = self.worker_kubeconfig or self.kubeconfig
        return None if path is None else _access("--worker-", path, self.worker_context or self.context)

    def access(self) -> "ClusterAccess":
        """Return the access to the worker; raises `BadInputError`."""
        found = self.access_if_given()
        if found is None:
            raise BadInputError("--worker-kubeconfig is missing: name a kubeconfig of the worker's administrator")
        return found


def _access(prefix: str, path: Path | None, context: str | None) -> "ClusterAccess":
    """Load the operator's own kubeconfig, for the hub or for a worker; raises `BadInputError`."""
    from manager.cli.conventions.hub import access_of, find_kubeconfig, warn_missing

    try:
        found = find_kubeconfig(HubOptions(path, context), prefix=prefix)
        warn_missing(found)
        return access_of(found)
    except BadInputError as error:
        raise BadInputError(f"{prefix}kubeconfig: {error}") from None
