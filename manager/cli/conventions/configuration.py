"""What commands take from the daemon's configuration file, where they do a daemon's work without one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from manager.cli.conventions.errors import BadInputError

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from config.sections.settings import Configuration
    from manager.cli.conventions.options import HubOptions
    from workerclient.cluster import ClientContext

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help=f"The configuration file; by default ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}."
    ),
]
Seconds = Annotated[float, typer.Option("--timeout", min=1, max=600, help="Seconds to wait for each cluster.")]


def default_file() -> Path:
    """Return the file that is used when the user names none."""
    return Path(os.environ.get(CONFIG_FILE_VARIABLE) or CONFIG_FILE)


def configuration_of(path: Path | None) -> "Configuration":
    """Load the configuration; raises `BadInputError` with everything that is wrong with it."""
    from config.loading.loading import load_configuration
    from config.reading.problems import ConfigurationError

    try:
        return load_configuration(path or default_file(), os.environ).configuration
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


def client_context_of_command() -> "ClientContext":
    """Return time, chance and environment, as a command has them."""
    import random

    from manager.base.clock import SystemClock
    from workerclient.cluster import ClientContext

    return ClientContext(SystemClock(), random.SystemRandom().random, dict(os.environ))
