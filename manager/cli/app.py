"""The command tree. Commands import what they need when they run, so that `--help` answers at once."""

import typer

from manager.cli import predict, simulate

app = typer.Typer(
    name="turnstile",
    help="Hub-side MultiKueue orchestration: one cluster preempts at a time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """Keep `version` a subcommand even while it is the only one."""


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    typer.echo(f"turnstile {installed_version('multikueue-turnstile')}")


app.command()(predict.predict)
app.command()(simulate.simulate)
