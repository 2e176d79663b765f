"""`turnstile top`: the fleet on one screen, every second."""

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Final

import typer

from manager.cli.conventions.errors import BadInputError, NoAnswerError
from manager.cli.conventions.hub import namespace_of
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import ConfiguredDaemonOptions, NamespaceScope

_LEAST_SECONDS: Final = 1.0
_MOST_SECONDS: Final = 3600.0


@with_option_groups
def top(
    *,
    interval: Annotated[
        str, typer.Option(metavar="DURATION", help="How often to ask the daemon, from 1s to 1h.")
    ] = "1s",
    scope: NamespaceScope,
    connection: ConfiguredDaemonOptions,
) -> None:
    """Follow workers, waiting Workloads and decisions on one screen, until q. Needs a daemon and a terminal."""
    seconds = interval_of(interval)
    require_terminal(os.environ, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())
    namespace = namespace_of(scope, connection)
    from manager.cli.conventions.daemon import NoDaemonError, daemon_of
    from manager.cli.top.source import FleetQuestion, TopSource

    source = TopSource(lambda: daemon_of(connection), namespace)
    try:
        first = source.fleet(FleetQuestion())
    except NoDaemonError as error:
        raise NoAnswerError(f"{error}; without a daemon, `turnstile status` reads the hub itself") from None
    from manager.cli.top.app import TopApp

    app = TopApp(source, first, seconds)
    app.run()
    if app.return_code:
        raise typer.Exit(app.return_code)


def interval_of(text: str) -> float:
    """Read --interval; raises `BadInputError`."""
    from config.types.duration import DurationError, parse_duration

    try:
        seconds = parse_duration(text).total_seconds()
    except DurationError:
        seconds = 0.0
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise BadInputError(f'--interval "{text}" is not allowed: must be a duration from 1s to 1h, such as "2s"')
    return seconds


def require_terminal(environment: Mapping[str, str], *, is_terminal: bool) -> None:
    """Refuse an output that nothing can be drawn on; raises `BadInputError`."""
    if not is_terminal or environment.get("TERM") == "dumb":
        remedy = "`turnstile status workloads --watch` prints changes as lines"
        raise BadInputError(f"turnstile top needs a terminal that can move the cursor; {remedy}")
