"""A message of Turnstile's own is spelled out in one test file at most; other tests import it from the product."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import scenarios

ROOT = Path(__file__).parents[3]
HERE = Path(__file__)
SHORTEST = 40
"""Shorter ones are words that many messages share."""
OWN = ("config", "gates", "manager", "workerclient")
"""`engine` and `localcluster` write the words of Kueue and Kubernetes, which tests must not read from there."""
FOREIGN_WORDS = ("config/kubeconfig/policy.py", "gates/model/activity.py", "gates/model/texts.py")
"""The same for these modules."""
SCREENS = ("manager/cli/", "manager/demo/")
"""What commands print is what their tests are about."""


def fragments(tree: ast.Module) -> Iterator[str]:
    """Return the strings of a file, of f-strings their fixed parts; no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def messages(tree: ast.Module) -> Iterator[str]:
    """Return what is long enough, and has the blanks, to be a message."""
    stripped = (text.strip() for text in fragments(tree))
    return (text for text in stripped if len(text) >= SHORTEST and " " in text)


def repeated(known: dict[str, list[str]], text: str) -> Iterator[str]:
    """Return the messages that a string contains; `known` has them by their beginnings."""
    for start in range(len(text) - SHORTEST + 1):
        for message in known.get(text[start : start + SHORTEST], ()):
            if text.startswith(message, start):
                yield message


def owned() -> dict[str, list[str]]:
    """Return the messages of the product by their beginnings."""
    found: dict[str, list[str]] = {}
    for path in (path for package in OWN for path in (ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name in FOREIGN_WORDS or name.startswith(SCREENS):
            continue
        for message in set(messages(scenarios.tree_of(path))):
            found.setdefault(message[:SHORTEST], []).append(message)
    return found


def test_a_message_is_spelled_out_in_one_test_file_at_most() -> None:
    known, users = owned(), dict[str, set[str]]()
    for path in (ROOT / "tests").rglob("*.py"):
        for text in fragments(scenarios.tree_of(path)) if path != HERE else ():
            for message in repeated(known, text):
                users.setdefault(message, set()).add(path.relative_to(ROOT).as_posix())
    assert {message: sorted(files) for message, files in users.items() if len(files) > 1} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = 'the hub has no Secret with this name; create it there'", True),
        ("x = f'error: {y} the hub has no Secret with this name; create it there'", True),
        ("'''the hub has no Secret with this name; create it there'''", False),
        ("x = 'the hub has no Secret with this name'", False),
    ],
)
def test_messages_are_found_in_strings_but_not_in_docstrings(source: str, found: bool) -> None:
    message = "the hub has no Secret with this name; create it there"
    known = {message[:SHORTEST]: [message]}
    assert [each for text in fragments(ast.parse(source)) for each in repeated(known, text)] == [message] * found
