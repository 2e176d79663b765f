"""The command group: the one place where an error becomes a line and an exit code."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer._click.exceptions import NoArgsIsHelpError, UsageError
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperGroup

from config.types.syntax import printable
from manager.cli.conventions.errors import BadInputError, CommandError
from manager.cli.conventions.exits import Exit
from manager.cli.display.streams import OutputError, discard_output


class CommandGroup(TyperGroup):
    """Runs a command; typer itself turns Ctrl-C into 130."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Parse the command line and run the command that was asked for; this includes `--help` and completion."""
        completion_init()  # makes zsh and fish known, which typer does only for the options that `completion` replaces
        try:
            try:
                return super().main(*args, **options)
            finally:
                sys.stdout.flush()  # what cannot be written shall be noticed here, not at the interpreter's end
        except CommandError as error:
            _end(str(error), error.code)
        except OutputError as error:
            discard_output()
            if error.is_closed_pipe:
                sys.exit(Exit.PIPE_CLOSED)
            _end(f"standard output cannot be written: {error}; redirect it elsewhere", Exit.NO_ANSWER)
        except UnicodeError:
            arguments = options.get("args") or sys.argv[1:]
            if not (undecodable := [each for each in arguments if not _is_text(each)]):
                raise
            _end(f'the argument "{undecodable[0]}" is not valid text in this locale; use UTF-8', Exit.BAD_INPUT)
        except OSError as error:
            _end(*_environment_problem(error))

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse this group's own options."""
        with _told_in_one_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse what is behind the group's name, and run it."""
        with _told_in_one_line():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in groups, each with its whole first sentence."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            if not command.hidden:
                title = getattr(command, "rich_help_panel", None)
                rows = sections.setdefault(title if isinstance(title, str) else "Commands", [])
                rows.append((name, _first_sentence(command.help or "")))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Turn what typer says of a command line, in several lines, into an error like any other."""
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except UsageError as error:
        told = " ".join(error.format_message().split()).removesuffix(".")
        place = f"; `{error.ctx.command_path} --help` shows what there is" if error.ctx is not None else ""
        raise BadInputError(f"{told[:1].lower()}{told[1:]}{place}") from None


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def _end(sentence: str, code: Exit) -> NoReturn:
    typer.echo(f"error: {printable(sentence)}", err=True)
    sys.exit(code)


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _environment_problem(error: OSError) -> tuple[str, Exit]:
    """Say what is wrong with a file or with the system, where no command foresaw it."""
    reason = error.strerror or str(error) or type(error).__name__
    if not _has_working_directory():
        return "the working directory does not exist any more; change to another one", Exit.BAD_INPUT
    if error.filename is None:
        return f"the system refuses: {reason}", Exit.NO_ANSWER
    return f"{os.fsdecode(error.filename)}: {reason}", Exit.BAD_INPUT


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True
