"""`turnstile run`: the daemon."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from manager.cli.config import INVALID, default_file

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from config.settings import Configuration

_FAILED = 1


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help=f"The configuration file; without it ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}."
    ),
]


def run(
    config: ConfigOption = None,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Beside Kueue's own controller: read, forecast and compare, write nothing.")
    ] = False,
) -> None:
    """Run the daemon until SIGTERM or Ctrl-C. Exits with 2 for a wrong configuration, with 1 if it cannot work."""
    run_service(config, _serve_shadow if shadow else _serve)


async def _serve(configuration: "Configuration") -> None:
    from manager.service import serve

    await (_serve_shadow(configuration) if configuration.shadow.enabled else serve(configuration))


async def _serve_shadow(configuration: "Configuration") -> None:
    from manager.shadow.service import serve_shadow

    await serve_shadow(configuration)


def run_service(config: Path | None, serve: "Callable[[Configuration], Coroutine[None, None, None]]") -> None:
    """Load the configuration and run what serves until the process is told to stop."""
    from config.loading import load_configuration
    from config.problems import ConfigurationError
    from manager import service
    from manager.errors import StartupError
    from manager.leadership import LeadershipLostError

    try:
        loaded = load_configuration(config or default_file(), os.environ)
    except ConfigurationError as error:
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        raise typer.Exit(INVALID) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    try:
        service.run(serve(loaded.configuration))
    except (StartupError, LeadershipLostError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_FAILED) from None
