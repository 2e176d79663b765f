"""What commands take from the daemon's configuration file, where they do a daemon's work without one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from config.types.syntax import printable
from manager.cli.conventions.errors import BadInputError

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from config.sections.settings import Configuration
    from manager.cli.conventions.options import HubOptions
    from workerclient.cluster import ClientContext

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help=f"The configuration file; by default ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}.",
    ),
]
_LONGEST_SECONDS: Final = 600.0


def _seconds(given: str | float) -> float:
    """Read a number of seconds, as a default is given, or a duration as in the configuration."""
    from config.types.duration import DurationError, parse_duration

    text = str(given)
    try:
        seconds = float(text) if text.replace(".", "", 1).isdecimal() else parse_duration(text).total_seconds()
    except DurationError:
        raise typer.BadParameter(f"{text!r} is not a duration: {_ALLOWED}") from None
    if not 1 <= seconds <= _LONGEST_SECONDS:
        raise typer.BadParameter(f"{text!r} is out of range: {_ALLOWED}")
    return seconds


_ALLOWED: Final = 'must be from "1s" to "10m", such as "30s"'
Seconds = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="DURATION", parser=_seconds, help="How long to wait for each cluster, such as 30s or 5m."
    ),
]
_NEEDED: Final = (
    f"name a configuration file with --config (-c) or ${CONFIG_FILE_VARIABLE}; "
    "`turnstile config defaults` prints one to start from"
)


def default_file() -> Path:
    """Return the file that is used when the user names none."""
    return Path(os.environ.get(CONFIG_FILE_VARIABLE) or CONFIG_FILE)


def existing_default_file() -> Path:
    """Return the file that is used when the user names none; raises `BadInputError` if it does not exist."""
    path = default_file()
    if not _exists(path):
        raise BadInputError(f"{path} does not exist; {_NEEDED}")
    return path


def configuration_of(path: Path | None) -> "Configuration":
    """Load the configuration; raises `BadInputError` with everything that is wrong with it."""
    from config.loading.loading import load_configuration
    from config.reading.problems import ConfigurationError

    try:
        return load_configuration(path or existing_default_file(), os.environ).configuration
    except ConfigurationError as error:
        raise BadInputError("; ".join(str(problem) for problem in error.problems)) from None


def configured_hub(configuration: "Configuration", options: "HubOptions") -> "ClusterAccess":
    """Return the access to the hub: by the options if they name one, else by the configuration."""
    from manager.app.service import hub_access
    from manager.base.errors import StartupError
    from manager.cli.conventions.hub import access_of, find_kubeconfig, warn_missing

    if options.kubeconfig is not None or options.context is not None:
        found = find_kubeconfig(options)
        warn_missing(found)
        return access_of(found)
    try:
        return hub_access(configuration)
    except StartupError as error:
        raise BadInputError(str(error)) from None


def configuration_and_hub(path: Path | None, options: "HubOptions") -> tuple["Configuration", "ClusterAccess"]:
    """Return the configuration and the access to its hub, for commands that do without a daemon.

    Without a configuration file the defaults count, with the hub of the user's kubeconfig; standard error says so.
    """
    from manager.cli.conventions.hub import NoKubeconfigError, access_of, find_kubeconfig, warn_missing

    if path is not None or _exists(default_file()) or os.environ.get(CONFIG_FILE_VARIABLE):
        configuration = configuration_of(path)
        return configuration, configured_hub(configuration, options)
    try:
        found = find_kubeconfig(options)
    except NoKubeconfigError as error:
        raise BadInputError(f"{default_file()} does not exist; {_NEEDED}; without one, {error}") from None
    warn_missing(found)
    place = f"context {found.context} of {found.path}"
    typer.echo(printable(f"{default_file()} does not exist; using the defaults and the hub of {place}"), err=True)
    return _defaults(), access_of(found)


def _defaults() -> "Configuration":
    from config.loading.loading import parse_configuration
    from config.names import CONFIG_API_VERSION, CONFIG_KIND
    from config.reading.problems import ConfigurationError

    empty = f"apiVersion: {CONFIG_API_VERSION}\nkind: {CONFIG_KIND}\n".encode()
    try:
        return parse_configuration(empty, "defaults", os.environ).configuration
    except ConfigurationError as error:  # a TURNSTILE_ variable
        raise BadInputError("; ".join(str(problem) for problem in error.problems)) from None


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # reading it says what is wrong
    return True


def client_context_of_command() -> "ClientContext":
    """Return time, chance and environment, as a command has them."""
    import random

    from manager.base.clock import SystemClock
    from workerclient.cluster import ClientContext

    return ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ))
