"""`turnstile config`: check a configuration, print the defaults, print the schema."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE

if TYPE_CHECKING:
    from config.loading import Loaded
    from config.problems import Problem

STANDARD_INPUT = Path("/dev/stdin")
INVALID = 2
"""The exit code for input that is wrong, the same that a wrong option gives."""

app = typer.Typer(
    name="config",
    help="Check the configuration; print its defaults and its schema.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Output(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


@app.command()
def validate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help=f"The file, or - for standard input; without it ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}."
        ),
    ] = None,
    file_option: Annotated[Path | None, typer.Option("--file", "-f", help="The same as FILE.")] = None,
    kubeconfigs: Annotated[
        bool,
        typer.Option("--kubeconfigs", help="Read the kubeconfig files that are named, and hold them to the policy."),
    ] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")] = Output.TEXT,
) -> None:
    """Check a configuration file and the TURNSTILE_ variables; print every mistake with its line and exit with 2."""
    from config.loading import load_configuration
    from config.problems import ConfigurationError

    if file and file_option:
        raise typer.BadParameter("name the file once, as FILE or with --file")
    path = file_option or file or default_file()
    try:
        loaded = load_configuration(STANDARD_INPUT if str(path) == "-" else path, os.environ)
        _check_cost_model(loaded, path)
        if kubeconfigs:
            _check_kubeconfigs(loaded)
    except ConfigurationError as error:
        _print_result(path, error.problems, (), output)
        raise typer.Exit(INVALID) from None
    _print_result(path, (), loaded.warnings, output)


@app.command()
def defaults() -> None:
    """Print the default configuration, each field with its meaning. It is a valid file to start from."""
    from config.reference import commented_defaults

    typer.echo(commented_defaults(), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration file, for editors."""
    import json

    from config.reference import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


def default_file() -> Path:
    """Return the file that is used when the user names none."""
    return Path(os.environ.get(CONFIG_FILE_VARIABLE) or CONFIG_FILE)


def _check_cost_model(loaded: "Loaded", path: Path) -> None:
    """Look for the model among those that are installed here, which the configuration by itself cannot know."""
    from config.problems import ConfigurationError, Problem
    from manager.cost.models import ModelError, find_model

    try:
        find_model(loaded.configuration.cost_controller.model)
    except ModelError as error:
        raise ConfigurationError([Problem(str(error), "costController.model", str(path))]) from error


def _check_kubeconfigs(loaded: "Loaded") -> None:
    from config.kubeconfig.sources import kubeconfig_problems
    from config.problems import ConfigurationError

    if problems := tuple(kubeconfig_problems(loaded.configuration)):
        raise ConfigurationError(problems)


def _print_result(path: Path, errors: tuple["Problem", ...], warnings: tuple["Problem", ...], output: Output) -> None:
    if output is Output.JSON:
        import json
        from dataclasses import asdict

        result = {
            "file": str(path),
            "valid": not errors,
            "errors": [asdict(problem) for problem in errors],
            "warnings": [asdict(problem) for problem in warnings],
        }
        typer.echo(json.dumps(result, indent=2))
        return
    for problem in errors:
        typer.echo(str(problem), err=True)
    for problem in warnings:
        typer.echo(f"warning: {problem}", err=True)
    if not errors:
        typer.echo(f"{path}: valid")
