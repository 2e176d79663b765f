"""Writes a man page for every command into a directory: `python -P deploy/release/man.py dist/man`."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from manager.cli.app import app
from manager.cli.examples import EXAMPLES


def pages(command: Any, names: tuple[str, ...] = ("turnstile",)) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of a command's page and of those below it."""
    children = {name: each for name, each in getattr(command, "commands", {}).items() if not each.hidden}
    yield f"{'-'.join(names)}.1", _page(command, names, children)
    for name, child in children.items():
        yield from pages(child, (*names, name))


def _page(command: Any, names: tuple[str, ...], children: dict[str, Any]) -> str:
    title = "-".join(names)
    text = re.sub(r"\s*\n\s*\n\s*", "\n.PP\n", _quoted(str(command.help or "").replace("\b", "").strip()))
    first = re.split(r"(?<=[.:])\s", str(command.help or "").strip(), maxsplit=1)[0].rstrip(".")
    lines = [
        f'.TH "{title.upper()}" 1 "" "turnstile {version("multikueue-turnstile")}"',
        ".SH NAME",
        rf"{title} \- {_quoted(' '.join(first.split()))}",
        ".SH SYNOPSIS",
        rf".B {' '.join(names)}",
        _quoted(" ".join(_usage(command, children))),
        ".SH DESCRIPTION",
        text,
    ]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    if options:
        lines.append(".SH OPTIONS")
    for option in options:
        lines += [
            ".TP",
            rf"\fB{_quoted(', '.join((*option.opts, *option.secondary_opts)))}\fR",
            _quoted(option.help or ""),
        ]
    if children:
        lines.append(".SH COMMANDS")
    for name, child in sorted(children.items()):
        lines += [".TP", rf"\fB{title}-{name}\fR(1)", _quoted(child.get_short_help_str(200))]
    if shown := EXAMPLES.get(" ".join(names[1:])):
        lines += [".SH EXAMPLES", ".nf", *map(_quoted, shown), ".fi"]
    return "\n".join(line for line in lines if line) + "\n"


def _usage(command: Any, children: dict[str, Any]) -> Iterator[str]:
    yield "[OPTIONS]"
    for each in command.params:
        if each.param_type_name == "argument":
            name = str(each.metavar or each.name).upper()
            yield name if each.required else f"[{name}]"
    if children:
        yield "COMMAND"


def _quoted(text: str) -> str:
    """Return a text that troff prints as it is."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for file_name, page in pages(typer.main.get_command(app)):
        (directory / file_name).write_text(page)
