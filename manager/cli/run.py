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
    from manager.reloading import Reread

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
    """Run the daemon until SIGTERM or Ctrl-C; SIGHUP has it read its configuration again.

    Exits with 2 for a wrong configuration, with 1 if it cannot work.
    """
    from functools import partial

    run_service(config, partial(_serve, shadow=shadow))


async def _serve(configuration: "Configuration", reread: "Reread", *, shadow: bool) -> None:
    from manager.service import serve
    from manager.shadow.service import serve_shadow

    if shadow or configuration.shadow.enabled:
        await serve_shadow(configuration, reread)
    else:
        await serve(configuration, reread=reread)


def run_service(config: Path | None, serve: "Callable[[Configuration, Reread], Coroutine[None, None, None]]") -> None:
    """Load the configuration and run what serves until the process is told to stop; it may read it again."""
    from functools import partial

    from config.loading import load_configuration
    from config.problems import ConfigurationError
    from manager import service
    from manager.errors import StartupError
    from manager.leadership import LeadershipLostError

    reread = partial(load_configuration, config or default_file(), os.environ)
    try:
        loaded = reread()
    except ConfigurationError as error:
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        raise typer.Exit(INVALID) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    try:
        service.run(serve(loaded.configuration, reread))
    except (StartupError, LeadershipLostError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_FAILED) from None
