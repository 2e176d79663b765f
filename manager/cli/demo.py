"""`turnstile demo`: shows Turnstile at work on clusters that exist only while the demo runs."""

from pathlib import Path
from typing import Annotated

import typer

from manager.cli.conventions.errors import BadInputError, CommandError, innermost
from manager.cli.conventions.exits import Exit
from manager.cli.display.streams import OutputError


def demo(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the clusters running after the story, for kubectl, until Ctrl-C.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="For kubeconfigs and the daemon's log; by default a temporary directory, removed at the end.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print plain lines even on a terminal; other outputs always get them.")
    ] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    no_page: Annotated[bool, typer.Option("--no-page", help="Do not serve the page.")] = False,
) -> None:
    """Show Turnstile at work on a hub and three workers in this process. Exits with 0 only if every invariant held."""
    if opens and no_page:
        raise BadInputError("--open and --no-page exclude each other")
    try:
        raise typer.Exit(_perform(directory, keep=keep, plain=plain, opens=opens, page=not no_page))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _perform(directory: Path | None, *, keep: bool, plain: bool, opens: bool, page: bool) -> int:
    import asyncio

    from manager.cli.ui import open_browser
    from manager.demo.clusters import LocalClusterError
    from manager.demo.interrupts import Interrupts
    from manager.demo.performance import Options, perform
    from manager.demo.stage import StuckError

    interrupts = Interrupts()
    where = directory.absolute() if directory is not None else None
    options = Options(where, keep=keep, plain=plain, page=page, on_page=open_browser if opens else None)
    try:
        return asyncio.run(perform(options, interrupts))
    except BaseException as error:
        if interrupts.received is not None:
            typer.echo("ended before the story was over; the clusters are gone, and nothing is left behind")
            return interrupts.exit_code
        match innermost(error):
            case LocalClusterError() as problem:
                raise BadInputError(str(problem)) from None
            case StuckError() as problem:
                raise CommandError(str(problem)) from None
            case OutputError() as problem:
                raise problem from None
            case _:  # a bug: show where it comes from
                raise
