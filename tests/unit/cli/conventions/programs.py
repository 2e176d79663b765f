"""Programs of one command."""

import typer

from manager.cli.conventions.group import CommandGroup


def program(command: object) -> typer.Typer:
    made = typer.Typer(cls=CommandGroup, rich_markup_mode=None, pretty_exceptions_enable=False)
    made.callback()(lambda: None)
    made.command("do")(command)  # type: ignore[type-var]
    return made
