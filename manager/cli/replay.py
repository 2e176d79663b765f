"""`turnstile replay`: makes the decisions of a journal again, and says where they differ."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

_DIFFERENT = 1
_UNUSABLE = 2


def replay(
    file: Annotated[Path, typer.Argument(help="A journal, as journal.path names it, or a copy of one.")],
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", help="Only decisions about this Workload, as NAMESPACE/NAME.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every decision.")] = False,
) -> None:
    """Make every recorded decision again, offline. Exits with 1 if one differs, with 2 for a journal of no use."""
    from manager.journal_file import JournalError
    from manager.replaying import replayed

    made = differing = 0
    try:
        for each in replayed(file, workload):
            made += 1
            if verbose:
                typer.echo(each.line)
            if not each.is_identical:
                differing += 1
                typer.echo(each.difference)
    except JournalError as error:
        _fail(str(error))
    if workload is not None and not made:
        _fail(f"{file}: no decision about Workload {workload} is recorded; Workloads are named NAMESPACE/NAME")
    typer.echo(f"{made} decisions replayed, {made - differing} identical, {differing} different")
    if differing:
        raise typer.Exit(_DIFFERENT)


def _fail(reason: str) -> NoReturn:
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(_UNUSABLE)
