"""The command tree. Commands import what they need when they run, so that `--help` answers at once."""

import typer

from manager.cli import config, shadow, worker
from manager.cli.ask.explain import explain
from manager.cli.ask.plan import plan
from manager.cli.ask.status import status
from manager.cli.ask.timeline import timeline
from manager.cli.conventions.group import CommandGroup
from manager.cli.cost_controller import cost_controller
from manager.cli.demo import demo
from manager.cli.doctor import doctor
from manager.cli.local import local
from manager.cli.predict import pods, workloads
from manager.cli.replay import replay
from manager.cli.run import run
from manager.cli.simulate import command

app = typer.Typer(
    name="turnstile",
    cls=CommandGroup,
    help="Hub-side MultiKueue orchestration: one cluster preempts at a time.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help and errors, as kubectl prints them, without loading rich
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(status)
app.command()(explain)
app.command()(timeline)
app.command()(plan)
app.command()(doctor)
app.command()(cost_controller)
app.command()(workloads.predict)
app.command()(command.simulate)
app.command()(pods.predict_pods)
app.command()(demo)
app.command()(local)
app.command()(replay)
app.add_typer(config.app)
app.add_typer(shadow.app)
app.add_typer(worker.app)


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    typer.echo(f"turnstile {installed_version('multikueue-turnstile')}")
