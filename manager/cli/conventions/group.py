"""The command group: the one place where an error becomes a line and an exit code."""

import io
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from config.types.syntax import printable
from manager.cli.conventions.errors import CommandError
from manager.cli.conventions.exits import Exit


class CommandGroup(TyperGroup):
    """Runs a command; typer itself turns Ctrl-C into 130 and wrong options into 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(
                errors="backslashreplace"
            )  # a terminal that lacks a character must not end the command
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # a pipe that was closed shall be noticed here, not at the interpreter's end
        except CommandError as error:
            typer.echo(f"error: {printable(str(error))}", err=True)
            raise typer.Exit(error.code) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the interpreter's last flush
            raise typer.Exit(Exit.PIPE_CLOSED) from None
        return result
