"""`turnstile run`: the daemon."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from manager.cli.conventions.configuration import ConfigFile, existing_default_file
from manager.cli.conventions.errors import BadInputError, CommandError
from manager.cli.conventions.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from config.sections.settings import Configuration
    from manager.app.reloading import Reread


def run(
    config: ConfigFile = None,
    shadow: Annotated[
        bool, typer.Option("--shadow", help="Beside Kueue's own controller: read, forecast, compare, write nothing.")
    ] = False,
) -> None:
    """Run the daemon until SIGTERM or Ctrl-C; SIGHUP reloads its configuration.

    Exits with 2 for an invalid configuration, with 1 if it cannot continue.
    """
    from functools import partial

    run_service(config, partial(_serve, shadow=shadow))


async def _serve(configuration: "Configuration", reread: "Reread", *, shadow: bool) -> None:
    from manager.app.service import serve
    from manager.shadow.service import serve_shadow

    if shadow or configuration.shadow.enabled:
        await serve_shadow(configuration, reread)
    else:
        await serve(configuration, reread=reread)


def run_service(config: Path | None, serve: "Callable[[Configuration, Reread], Coroutine[None, None, None]]") -> None:
    """Load the configuration and run what serves until the process is told to stop; it may read it again."""
    from functools import partial

    from config.loading.loading import load_configuration
    from config.reading.problems import ConfigurationError
    from manager.app import service
    from manager.base.errors import StartupError, TakenPathError
    from manager.election.leadership import LeadershipLostError

    reread = partial(load_configuration, config or existing_default_file(), os.environ)
    try:
        loaded = reread()
    except ConfigurationError as error:
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        raise typer.Exit(Exit.BAD_INPUT) from None
    for warning in loaded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    try:
        service.run(serve(loaded.configuration, reread))
    except TakenPathError as error:
        _end(loaded.configuration, BadInputError(str(error)))
    except (StartupError, LeadershipLostError) as error:
        _end(loaded.configuration, CommandError(str(error)))


def _end(configuration: "Configuration", error: CommandError) -> NoReturn:
    """End with a line that whatever reads the log understands: of the log, unless a person is there to read it."""
    from config.types.choices import LogFormat
    from manager.logging.logs import get_log

    if configuration.logging.format is not LogFormat.JSON or sys.stderr.isatty():
        raise error
    get_log().error("daemon.failed", error=str(error))
    raise typer.Exit(error.code)
