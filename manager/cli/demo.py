"""`turnstile demo`: shows Turnstile at work on clusters that exist only while the demo runs."""

from pathlib import Path
from typing import Annotated

import typer

from manager.cli.conventions.errors import BadInputError, CommandError
from manager.cli.conventions.exits import Exit


def demo(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the clusters running after the story, for kubectl, until Ctrl-C.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            help="Where to keep kubeconfigs and the daemon's log; by default a temporary directory, removed at the end."
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print plain lines even on a terminal; other outputs always get them.")
    ] = False,
) -> None:
    """Show Turnstile at work on a hub and three workers in this process. Exits with 0 only if every invariant held."""
    try:
        raise typer.Exit(_perform(directory, keep=keep, plain=plain))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _perform(directory: Path | None, *, keep: bool, plain: bool) -> int:
    import asyncio

    from manager.demo.clusters import LocalClusterError
    from manager.demo.interrupts import Interrupts
    from manager.demo.performance import Options, perform
    from manager.demo.stage import StuckError

    interrupts = Interrupts()
    options = Options(directory.absolute() if directory is not None else None, keep=keep, plain=plain)
    try:
        return asyncio.run(perform(options, interrupts))
    except BaseException as error:
        if interrupts.received is not None:
            return interrupts.exit_code
        match _innermost(error):
            case LocalClusterError() as problem:
                raise BadInputError(str(problem)) from None
            case StuckError() as problem:
                raise CommandError(str(problem)) from None
            case BrokenPipeError() as problem:
                raise problem from None
            case _:  # a bug: show where it comes from
                raise


def _innermost(error: BaseException) -> BaseException:
    """Unpack a failure out of the groups that it travelled in."""
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
