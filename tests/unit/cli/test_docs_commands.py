"""Every command line that the documents show is one that the program takes: commands, options, arguments."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from manager.cli.app import app

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "deploy").rglob("*.md"))]
SHOWN = re.compile(r"^\s*\$ (turnstile .*)$|`(turnstile [^`\n]*)`", re.MULTILINE)
ANYTHING = {"COMMAND", "…", "..."}


def shown() -> Iterator[tuple[str, str]]:
    """Yield each page with each line that it shows, without comments, pipes and redirections."""
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        for prompted, quoted in dict.fromkeys(SHOWN.findall(text)):
            yield page.name, re.split(r"\s(?:#|\||>|2>|&&)", prompted or quoted)[0].strip()


LINES = sorted(set(shown()))


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line}" for page, line in LINES])
def test_it_is_taken(page: str, line: str) -> None:
    command: Any = typer.main.get_command(app)
    words = [word for word in shlex.split(line)[1:] if word not in ANYTHING]
    while getattr(command, "commands", None) and words and not words[0].startswith("-"):
        name = words.pop(0)
        assert name in command.commands, f"{page}: there is no {name}"
        command = command.commands[name]
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.partition("=")[0] in options_of(command), f"{page}: there is no {word}"


def options_of(command: Any) -> set[str]:
    """Return the options of a command; of a group, those of all its commands, as a page may speak of them together."""
    found = {spelling for each in command.params for spelling in each.opts} | {"--help", "-h"}
    return found.union(*(options_of(inner) for inner in getattr(command, "commands", {}).values()))


def test_many_are_shown() -> None:
    assert len(LINES) > 50
