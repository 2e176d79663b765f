"""`turnstile help`: the same as `--help` behind the command."""

from typing import Annotated, Any

import typer

from manager.cli.conventions.errors import BadInputError


def help_(
    ctx: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(metavar="COMMAND", help="Such as `worker add`.")] = None,
) -> None:
    """Show the options and examples of a command."""
    inner: Any = ctx.find_root()
    for word in command or ():
        found = getattr(inner.command, "commands", {}).get(word)
        if found is None:
            raise BadInputError(f'there is no command "{" ".join(command or ())}"; `turnstile help` lists all')
        inner = type(inner)(found, info_name=word, parent=inner)
    typer.echo(inner.command.get_help(inner))
