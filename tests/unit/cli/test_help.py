"""`--help`: whole sentences, examples that work, and one meaning for each option."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from manager.cli.app import app
from manager.cli.examples import EXAMPLES

PROGRAM: Any = typer.main.get_command(app)


def commands(command: Any = PROGRAM, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))
    yield path, command


ALL = dict(commands())
LEAVES = {path: command for path, command in ALL.items() if not getattr(command, "commands", {})}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_no_description_is_cut_and_no_type_is_named_in_the_words_of_python(path: tuple[str, ...]) -> None:
    told = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"}).stdout
    listed = "\n".join(line for line in told.splitlines() if not line.startswith("Usage: "))
    assert not re.search(r"\.\.\.|…|<(str|int|float|path|int range|float range)>", listed), told


def test_a_letter_means_the_same_in_every_command() -> None:
    meanings = defaultdict(set)
    for command in ALL.values():
        for option in command.params:
            for letter in option.opts:
                if re.fullmatch("-[a-zA-Z]", letter) and not option.hidden:
                    meanings[letter].add(max(option.opts, key=len))
    assert {letter: names for letter, names in meanings.items() if len(names) > 1} == {}
    assert set(meanings) == {"-A", "-V", "-c", "-f", "-n", "-o", "-v", "-w", "-y"}, "docs/cli.md lists them"


def test_a_kubeconfig_without_a_prefix_is_the_hubs() -> None:
    for path, command in ALL.items():
        for option in command.params:
            if "--kubeconfig" in option.opts and not option.hidden:
                assert "hub's" in option.help, path


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_examples_that_it_takes(path: tuple[str, ...]) -> None:
    if path == ("version",):
        return
    for line in EXAMPLES[" ".join(path)]:
        words = shlex.split(line.partition(" > ")[0])
        assert words[: len(path) + 1] == ["turnstile", *path]
        options = {spelling for option in LEAVES[path].params for spelling in option.opts if not option.hidden}
        assert {word for word in words if word.startswith("-")} <= options, line
        assert line.strip() in CliRunner().invoke(app, [*path, "--help"]).stdout


def test_the_commands_are_listed_in_groups() -> None:
    told = CliRunner().invoke(app, ["--help"]).stdout
    heads = [line for line in told.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert heads == ["Options:", "Run:", "Ask a fleet:", "Without clusters:", "Try it:", "This program:"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("worker", "rotate", "w1", "--kubeconfig", "none", "--hub-kubeconfig", "none"),
        ("config", "validate", "-f", "none"),
        ("replay", "none", "-w", "a/b"),
        ("predict-pods", "--mode", "1.36", "-f", "none"),
    ],
    ids=" ".join,
)
def test_former_spellings_still_work(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2
    assert "none" in result.stderr
    assert "does not exist" in result.stderr
