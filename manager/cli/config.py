"""`turnstile config`: check a configuration, print the defaults, print the schema."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.api.meta import Obj
from config.names import CONFIG_FILE, CONFIG_FILE_VARIABLE
from config.types.syntax import printable
from manager.cli.conventions.configuration import default_file
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.group import CommandGroup
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Form, Presentation
from manager.cli.conventions.output import Report, as_json, show
from manager.cli.examples import examples_of

if TYPE_CHECKING:
    from config.loading.loading import Loaded
    from config.reading.problems import Problem

STANDARD_INPUT = Path("/dev/stdin")

app = typer.Typer(
    name="config",
    help="Check the configuration; print its defaults and its schema.",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog=examples_of("config validate"))
@with_option_groups
def validate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help=f"The file, or - for standard input; by default ${CONFIG_FILE_VARIABLE}, else {CONFIG_FILE}.",
        ),
    ] = None,
    *,
    config: Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help="The same as FILE.")] = None,
    file_option: Annotated[Path | None, typer.Option("--file", "-f", hidden=True)] = None,
    kubeconfigs: Annotated[
        bool,
        typer.Option("--kubeconfigs", help="Also check the kubeconfig files it names against the policy."),
    ] = False,
    presentation: Presentation,
) -> None:
    """Check a configuration file and the TURNSTILE_ variables; print every error with its line and exit with 2."""
    from config.loading.loading import load_configuration
    from config.reading.problems import ConfigurationError

    given = [each for each in (file, config, file_option) if each is not None]
    if len(given) > 1:
        raise typer.BadParameter("give the file once, as FILE or with --config")
    path = given[0] if given else default_file()
    try:
        loaded = load_configuration(STANDARD_INPUT if str(path) == "-" else path, os.environ)
        _check_cost_model(loaded, path)
        if kubeconfigs:
            _check_kubeconfigs(loaded)
    except ConfigurationError as error:
        _show(path, error.problems, (), presentation.output)
        raise typer.Exit(Exit.BAD_INPUT) from None
    _show(path, (), loaded.warnings, presentation.output)


@app.command(epilog=examples_of("config defaults"))
def defaults() -> None:
    """Print the default configuration with comments. It is a valid file to start from."""
    from config.loading.reference import commented_defaults

    typer.echo(commented_defaults(), nl=False)


@app.command(epilog=examples_of("config schema"))
def schema() -> None:
    """Print the JSON Schema of the configuration file, for editors."""
    from config.loading.reference import json_schema

    typer.echo(as_json(json_schema()))


def _check_cost_model(loaded: "Loaded", path: Path) -> None:
    """Check that the cost model is installed here, which the configuration alone cannot tell."""
    from config.reading.problems import ConfigurationError, Problem
    from manager.cost.models import ModelError, find_model

    try:
        find_model(loaded.configuration.cost_controller.model)
    except ModelError as error:
        raise ConfigurationError([Problem(str(error), "costController.model", str(path))]) from error


def _check_kubeconfigs(loaded: "Loaded") -> None:
    from config.kubeconfig.sources import kubeconfig_problems
    from config.reading.problems import ConfigurationError

    if problems := tuple(kubeconfig_problems(loaded.configuration)):
        raise ConfigurationError(problems)


def _show(path: Path, errors: tuple["Problem", ...], warnings: tuple["Problem", ...], form: Form) -> None:
    if form in (Form.TABLE, Form.WIDE):
        for problem in errors:
            typer.echo(str(problem), err=True)
        for problem in warnings:
            typer.echo(f"warning: {problem}", err=True)
    body = {
        "file": str(path),
        "valid": not errors,
        "errors": [_document(problem) for problem in errors],
        "warnings": [_document(problem) for problem in warnings],
    }
    lines = [] if errors else [printable(f"{path}: valid")]
    show(Report("ConfigurationCheck", body, lambda _screen, _wide: lines, [str(path)] if not errors else []), form)


def _document(problem: "Problem") -> Obj:
    return {
        "message": problem.message,
        "field": problem.field,
        "file": problem.file,
        "line": problem.line,
        "variable": problem.variable,
    }
