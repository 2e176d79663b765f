"""`turnstile shadow report`: what shadow mode saw, from the running daemon or from a journal."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Connection, Presentation
from manager.cli.conventions.output import Obj, Report, show
from manager.cli.conventions.terminal import Screen
from manager.cli.shadow_report import lines

app = typer.Typer(name="shadow", help="What `turnstile run --shadow` saw.", no_args_is_help=True)


@app.callback()
def shadow() -> None:
    """Keep `report` a command of its own, though it is the only one."""


@app.command()
@with_option_groups
def report(
    *,
    journal: Annotated[
        Path | None, typer.Option(help="A journal, as journal.path names it, or a copy of one: read it and ask nobody.")
    ] = None,
    last: Annotated[
        int | None, typer.Option(min=1, help="List only the last so many episodes; the totals are of all.")
    ] = None,
    presentation: Presentation,
    connection: Connection,
) -> None:
    """Say who was let preempt, what it cost, and what other policies would have spared."""
    found = _from_daemon(connection) if journal is None else _from_journal(journal)
    if last is not None:
        found["episodes"] = found["episodes"][-last:]

    def screen(_screen: Screen, _is_wide: bool) -> Iterable[str]:
        return lines(found)

    names = [f"workload.kueue.x-k8s.io/{episode['workload'].partition('/')[2]}" for episode in found["episodes"]]
    show(Report("ShadowReport", found, screen, names), presentation.output)


def _from_daemon(connection: Connection) -> Obj:
    from manager.cli.conventions.daemon import daemon_of

    found: Obj = daemon_of(connection).ask("shadow")
    return found


def _from_journal(path: Path) -> Obj:
    from manager.journal_file import JournalError
    from manager.shadow.book import Book, recorded_episodes
    from manager.shadow.report import report_of

    try:
        return report_of(Book(recorded_episodes(path)))
    except JournalError as error:
        raise BadInputError(str(error)) from None
