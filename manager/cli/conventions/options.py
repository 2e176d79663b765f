"""The options that commands share, as groups; docs/cli.md explains them once for all commands."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

DEFAULT_SOCKET: Final = Path("/run/turnstile/api.sock")


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
        Path | None, typer.Option(help="The hub's kubeconfig; by default $KUBECONFIG, else ~/.kube/config.")
    ] = None
    context: Annotated[str | None, typer.Option(help="The context in it; by default its current-context.")] = None


@dataclass(frozen=True, slots=True)
class DaemonOptions(HubOptions):
    """What to ask: a daemon by its socket or address, or the hub if no daemon answers on the socket."""

    socket: Annotated[Path, typer.Option(help="The daemon's socket (api.socket).")] = DEFAULT_SOCKET
    server: Annotated[
        str | None,
        typer.Option(help="The daemon's address, such as https://turnstile.example:8443, instead of the socket."),
    ] = None
    token_file: Annotated[Path | None, typer.Option(help="A file with the bearer token for --server.")] = None
    certificate_authority: Annotated[
        Path | None, typer.Option(help="CA certificates to trust for --server; by default the system's.")
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceOption:
    """Which namespace, for commands about one thing."""

    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="The namespace; by default that of the kubeconfig's context."),
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceScope(NamespaceOption):
    """Which namespaces, for lists."""

    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")] = False


@dataclass(frozen=True, slots=True)
class Presentation:
    """Output format."""

    output: Annotated[Form, typer.Option("--output", "-o", help="Output format.")] = Form.TABLE


@dataclass(frozen=True, slots=True)
class Watching:
    """Whether to go on."""

    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep running and print changes until Ctrl-C.")] = False
