"""`turnstile completion`: what a shell needs to complete the commands."""

from enum import StrEnum
from typing import Annotated, Final

import typer

_VARIABLE: Final = "_TURNSTILE_COMPLETE"


class Shell(StrEnum):
    """For which shells there is a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.", metavar="bash|zsh|fish")],
    install: Annotated[
        bool, typer.Option("--install", help="Set it up for the current user instead of printing it.")
    ] = False,
) -> None:
    """Print the script that lets a shell complete commands, options and names."""
    from typer._completion_shared import get_completion_script
    from typer._completion_shared import install as install_script

    if install:
        _, path = install_script(shell.value, prog_name="turnstile", complete_var=_VARIABLE)
        typer.echo(f"installed in {path}; it takes effect in new shells")
        return
    typer.echo(get_completion_script(prog_name="turnstile", complete_var=_VARIABLE, shell=shell.value))
