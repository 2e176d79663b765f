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
        Path | None, typer.Option(help="The hub's kubeconfig; without it $KUBECONFIG, else ~/.kube/config.")
    ] = None
    context: Annotated[str | None, typer.Option(help="The context in it; without it, its current-context.")] = None


@dataclass(frozen=True, slots=True)
class Connection(HubOptions):
    """Whom to ask: a daemon by its socket or address, or the hub when no daemon answers on the socket."""

    socket: Annotated[Path, typer.Option(help="The daemon's socket, as api.socket names it.")] = DEFAULT_SOCKET
    server: Annotated[
        str | None,
        typer.Option(help="The daemon's address, such as https://turnstile.example:8443, instead of the socket."),
    ] = None
    token_file: Annotated[Path | None, typer.Option(help="A file with the bearer token for --server.")] = None
    certificate_authority: Annotated[
        Path | None, typer.Option(help="A file with the authorities to trust for --server; else the system's.")
    ] = None


@dataclass(frozen=True, slots=True)
class NamespaceOption:
    """Which namespace, for commands about one thing."""

    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="The namespace; without it, that of the kubeconfig's context."),
    ] = None


@dataclass(frozen=True, slots=True)
class Scope(NamespaceOption):
    """Which namespaces, for lists."""

    all_namespaces: Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")] = False


@dataclass(frozen=True, slots=True)
class Presentation:
    """How to print."""

    output: Annotated[Form, typer.Option("--output", "-o", help="How to print.")] = Form.TABLE


@dataclass(frozen=True, slots=True)
class Watching:
    """Whether to go on."""

    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on, and print what changes, until Ctrl-C.")] = False
