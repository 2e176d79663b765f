"""`turnstile run`: the daemon."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from manager.cli.config import INVALID, default_file

_FAILED = 1


def run(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", help=f"The configuration file; without it ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}."
        ),
    ] = None,
) -> None:
    """Run the daemon until SIGTERM or Ctrl-C. Exits with 2 for a wrong configuration, with 1 if it cannot work."""
    from config.loading import load_configuration
    from config.problems import ConfigurationError
    from manager.errors import StartupError
    from manager.leadership import LeadershipLostError
    from manager.service import serve

    try:
        loaded = load_configuration(config or default_file(), os.environ)
    except ConfigurationError as error:
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        raise typer.Exit(INVALID) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    try:
        asyncio.run(serve(loaded.configuration))
    except (StartupError, LeadershipLostError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_FAILED) from None
