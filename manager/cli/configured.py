"""What commands take from the daemon's configuration file, where they do a daemon's work without one."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from manager.cli.config import default_file
from manager.cli.conventions.errors import BadInputError

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess
    from config.settings import Configuration
    from manager.cli.conventions.options import HubOptions
    from workerclient.cluster import Surroundings

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help=f"The configuration file; without it ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}."
    ),
]
Seconds = Annotated[
    float, typer.Option("--timeout", min=1, max=600, help="How many seconds each cluster has to answer.")
]


def configuration_of(path: Path | None) -> "Configuration":
    """Load the configuration; raises `BadInputError` with everything that is wrong with it."""
    from config.loading import load_configuration
    from config.problems import ConfigurationError

    try:
        return load_configuration(path or default_file(), os.environ).configuration
    except ConfigurationError as error:
        raise BadInputError("; ".join(str(problem) for problem in error.problems)) from None


def configured_hub(configuration: "Configuration", options: "HubOptions") -> "ClusterAccess":
    """Return the access to the hub: by the options if they name one, else by the configuration."""
    from manager.cli.conventions.hub import hub_access as chosen_hub
    from manager.errors import StartupError
    from manager.service import hub_access

    if options.kubeconfig is not None or options.context is not None:
        return chosen_hub(options)
    try:
        return hub_access(configuration)
    except StartupError as error:
        raise BadInputError(str(error)) from None


def surroundings_of_command() -> "Surroundings":
    """Return time, chance and environment, as a command has them."""
    import random

    from manager.clock import SystemClock
    from workerclient.cluster import Surroundings

    return Surroundings(SystemClock(), random.SystemRandom().random, dict(os.environ))
