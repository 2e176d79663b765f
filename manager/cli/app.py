"""The command tree. Commands import what they need when they run, so that `--help` answers at once."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from manager.cli import config, local, shadow, worker_drain
from manager.cli.ask.explain import explain
from manager.cli.ask.plan import plan
from manager.cli.ask.status import status
from manager.cli.ask.timeline import timeline
from manager.cli.completion import completion
from manager.cli.conventions.group import CommandGroup
from manager.cli.cost_controller import cost_controller
from manager.cli.demo import demo
from manager.cli.doctor import doctor
from manager.cli.examples import examples_of
from manager.cli.healthcheck import healthcheck
from manager.cli.help import help_
from manager.cli.predict import pods, workloads
from manager.cli.replay import replay
from manager.cli.run import run
from manager.cli.simulate import command
from manager.cli.top.command import top
from manager.cli.ui import ui

_GROUPS: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    "Run": {"run": run, "healthcheck": healthcheck, "cost-controller": cost_controller},
    "Ask a fleet": {
        "status": status,
        "top": top,
        "ui": ui,
        "explain": explain,
        "timeline": timeline,
        "plan": plan,
        "doctor": doctor,
    },
    "Without clusters": {
        "predict": workloads.predict,
        "simulate": command.simulate,
        "predict-pods": pods.predict_pods,
        "replay": replay,
    },
    "Try it": {"demo": demo},
    "This program": {"completion": completion, "help": help_},
}
"""The commands as `--help` shows them."""

app = typer.Typer(
    name="turnstile",
    cls=CommandGroup,
    help="Hub-side MultiKueue orchestration: one cluster preempts at a time.",
    epilog="`turnstile help COMMAND` shows options and examples. Every command is described in docs/cli.md.",
    no_args_is_help=True,
    add_completion=False,  # `completion` prints the script of any shell; typer's options know only the current one
    rich_markup_mode=None,  # plain help and errors, as kubectl prints them, without loading rich
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for title, commands in _GROUPS.items():
    for name, function in commands.items():
        app.command(name, rich_help_panel=title, epilog=examples_of(name))(function)
app.add_typer(local.app, rich_help_panel="Try it")
app.add_typer(worker_drain.app, rich_help_panel="Run")
app.add_typer(config.app, rich_help_panel="Run")
app.add_typer(shadow.app, rich_help_panel="Ask a fleet")


def _print_version(is_asked: bool) -> None:
    from importlib.metadata import version as installed_version

    if is_asked:
        typer.echo(f"turnstile {installed_version('multikueue-turnstile')}")
        raise typer.Exit


@app.callback()
def turnstile(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Take the options that need no command."""


@app.command(rich_help_panel="This program")
def version() -> None:
    """Print the version."""
    _print_version(is_asked=True)
