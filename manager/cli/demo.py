"""`turnstile demo`: what Turnstile does, on clusters that exist only for as long as the demo runs."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

_FAILED = 1
_INVALID = 2
_INTERRUPTED = 130


def demo(
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the clusters up after the story, for kubectl, until Ctrl-C.")
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            help="Where kubeconfigs and the daemon's log go and stay; without it a temporary one, removed at the end."
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print lines, also on a terminal; elsewhere it is always so.")
    ] = False,
) -> None:
    """Play a story on a hub and three workers in this process. Exits with 0 only if every invariant held."""
    try:
        raise typer.Exit(_perform(directory, keep=keep, plain=plain))
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None


def _perform(directory: Path | None, *, keep: bool, plain: bool) -> int:
    import asyncio

    from manager.demo.interrupts import Interrupts
    from manager.demo.performance import Options, perform
    from manager.demo.stage import StuckError
    from manager.local import LocalClusterError

    interrupts = Interrupts()
    options = Options(directory.absolute() if directory is not None else None, keep=keep, plain=plain)
    try:
        return asyncio.run(perform(options, interrupts))
    except BaseException as error:
        if interrupts.received is not None:
            return interrupts.exit_code
        match _innermost(error):
            case LocalClusterError() as problem:
                typer.echo(f"error: {problem}", err=True)
                return _INVALID
            case StuckError() as problem:
                typer.echo(f"error: {problem}", err=True)
                return _FAILED
            case BrokenPipeError():
                sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - for the interpreter's last flush
                return _FAILED
        raise


def _innermost(error: BaseException) -> BaseException:
    """Unpack a failure out of the groups that it travelled in."""
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
