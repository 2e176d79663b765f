"""`turnstile shadow report`: what shadow mode saw, from the running daemon or from a journal."""

from pathlib import Path
from typing import Annotated

import typer

from config.api.meta import Obj
from manager.cli.conventions.errors import refusing
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.group import CommandGroup
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import ConfiguredDaemonOptions, Presentation
from manager.cli.conventions.output import Report, show
from manager.cli.examples import examples_of
from manager.cli.shadow_report import lines_of

app = typer.Typer(
    name="shadow",
    help="Show what `turnstile run --shadow` observed.",
    cls=CommandGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def shadow() -> None:
    """Keep `report` a command of its own, though it is the only one."""


@app.command(epilog=examples_of("shadow report"))
@with_option_groups
def report(
    *,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A journal (journal.path), or a copy of one: read it instead of asking a daemon."
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="List only the last N episodes; totals always include all."),
    ] = None,
    presentation: Presentation,
    connection: ConfiguredDaemonOptions,
) -> None:
    """Show which workers were allowed to preempt, what it cost, and what other policies would have saved.

    Exits with 3 if the shadow that was asked observes nothing.
    """
    found = _from_daemon(connection) if journal is None else _from_journal(journal)
    if last is not None:
        found["episodes"] = found["episodes"][-last:]
    names = [f"workload.kueue.x-k8s.io/{episode['workload'].partition('/')[2]}" for episode in found["episodes"]]
    shown = Report("ShadowReport", found, lambda screen, wide: lines_of(found, screen, is_wide=wide), names)
    show(shown, presentation.output)
    if found["observes"] is False:
        raise typer.Exit(Exit.NO_ANSWER)


def _from_daemon(connection: ConfiguredDaemonOptions) -> Obj:
    from manager.cli.conventions.daemon import daemon_of

    found: Obj = daemon_of(connection).ask("shadow")
    return found


def _from_journal(path: Path) -> Obj:
    from manager.journal.reader import blamed_on
    from manager.journal.schema import JournalError
    from manager.shadow.report import journal_report

    with refusing(JournalError), blamed_on(path):
        return journal_report(path)
