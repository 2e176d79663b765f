"""The options that commands share, as groups; docs/cli.md explains them once for all commands."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from config.names import SOCKET_VARIABLE
from manager.cli.conventions.completion import complete_context, complete_namespace
from manager.cli.conventions.errors import BadInputError

DEFAULT_SOCKET: Final = Path("/run/turnstile/api.sock")
_PATH: Final = "FILE"


class Form(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class HubOptions:
    """Which hub, for commands that read it themselves."""

    kubeconfig: Annotated[
        Path | None,
        typer.Option(metavar=_PATH, help="The hub's kubeconfig; by default $KUBECONFIG, else ~/.kube/config."),
    ] = None
    context: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The context in it; by default its current-context.", autocompletion=complete_context
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class DaemonOptions(HubOptions):
    """What to ask: a daemon by its socket or address, or the hub if no daemon answers on the socket."""

    socket: Annotated[
        Path | None,
        typer.Option(
            metavar=_PATH,
            readable=False,  # whether it may be opened is for the connection to find out, and to explain
            help=f"The daemon's socket (api.socket); by default ${SOCKET_VARIABLE}, else {DEFAULT_SOCKET}.",
        ),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The daemon's address, such as https://turnstile.example:8443, instead of the socket."
        ),
    ] = None
    token_file: Annotated[
        Path | None, typer.Option(metavar=_PATH, help="A file with the bearer token for --server.")
    ] = None
    certificate_authority: Annotated[
        Path | None, typer.Option(metavar=_PATH, help="CA certificates to trust for --server; by default the system's.")
    ] = None


@dataclass(frozen=True, slots=True)
class ConfiguredDaemonOptions(DaemonOptions):
    """The same, and the daemon's configuration, which names its socket."""

    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar=_PATH, help="The daemon's configuration: its api.socket is asked."),
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceOption:
    """Which namespace, for commands about one thing."""

    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            help="The namespace; by default that of the kubeconfig's context.",
            autocompletion=complete_namespace,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceScope(NamespaceOption):
    """Which namespaces, for lists."""

    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")] = False


@dataclass(frozen=True, slots=True)
class Presentation:
    """Output format."""

    output: Annotated[Form, typer.Option("--output", "-o", help="Output format.")] = Form.TABLE

    def without_names(self, instead: str) -> Form:
        """Return the form, for what has no names that kubectl takes; raises `BadInputError` if they are asked for."""
        if self.output is Form.NAME:
            raise BadInputError(f"-o name: there are no names to print here; {instead}")
        return self.output


@dataclass(frozen=True, slots=True)
class Watching:
    """Whether to go on."""

    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep running and print changes until Ctrl-C.")] = False
