"""`turnstile shadow report`: what shadow mode saw, from the running daemon or from a journal."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from manager.cli.asking import DEFAULT_SOCKET, NO_DAEMON, NoAnswerError, UnknownError, ask
from manager.cli.inspect import Form, Output, Socket
from manager.cli.shadow_report import lines

_UNUSABLE = 2

app = typer.Typer(name="shadow", help="What `turnstile run --shadow` saw.", no_args_is_help=True)


@app.callback()
def shadow() -> None:
    """Keep `report` a command of its own, though it is the only one."""


@app.command()
def report(
    socket: Socket = Path(DEFAULT_SOCKET),
    journal: Annotated[
        Path | None, typer.Option("--journal", help="Read this journal, or a copy of one, and ask no daemon.")
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", min=1, help="List only the last so many episodes; totals are of all.")
    ] = None,
    output: Form = Output.TABLE,
) -> None:
    """Say who was let preempt, what it cost, and what other policies would have spared.

    Exits with 3 if no daemon answers, with 2 for a journal of no use or a daemon that is not in shadow mode.
    """
    found = _from_socket(socket) if journal is None else _from_journal(journal)
    if last is not None:
        found["episodes"] = found["episodes"][-last:]
    if output is Output.JSON:
        typer.echo(json.dumps(found, indent=2))
        return
    for line in lines(found):
        typer.echo(line)


def _from_socket(socket: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = ask(socket, "shadow")
    except NoAnswerError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(NO_DAEMON) from None
    except UnknownError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_UNUSABLE) from None
    return found


def _from_journal(path: Path) -> dict[str, Any]:
    from manager.journal_file import JournalError
    from manager.shadow.book import Book, recorded_episodes
    from manager.shadow.report import report_of

    try:
        return report_of(Book(recorded_episodes(path)))
    except JournalError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(_UNUSABLE) from None
