"""A `match` over classes or enum members names every one of them, or says why the others do not matter."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source_tree import PACKAGES, ROOT

OURS = {
    node.name
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.ClassDef)
}


def is_of_a_sum(pattern: ast.pattern) -> bool:
    """Return whether a pattern names one of our classes, or an enum member."""
    match pattern:
        case ast.MatchClass(cls=ast.Name(id=name)) | ast.MatchValue(value=ast.Attribute(value=ast.Name(id=name))):
            return name in OURS
        case ast.MatchOr(patterns=patterns):
            return any(is_of_a_sum(each) for each in patterns)
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return is_of_a_sum(inner)
        case _:  # sequences, mappings, literals and other libraries' classes
            return False


def is_closed(statement: ast.Match, lines: list[str]) -> bool:
    """Return whether the last case is `case _` with `assert_never`, or with a comment that gives the reason."""
    last = statement.cases[-1]
    if not isinstance(last.pattern, ast.MatchAs) or last.pattern.pattern is not None or last.guard is not None:
        return False
    call = last.body[0].value if isinstance(last.body[0], ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "assert_never":
        return True
    return "  # " in lines[last.pattern.lineno - 1]


def open_matches(path: Path) -> Iterator[str]:
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        is_sum = isinstance(node, ast.Match) and any(is_of_a_sum(case.pattern) for case in node.cases)
        if is_sum and isinstance(node, ast.Match) and not is_closed(node, lines):
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_match_over_a_sum_is_closed(package: str) -> None:
    assert [place for path in sorted((ROOT / package).rglob("*.py")) for place in open_matches(path)] == []


SOURCES = {
    "a class is missing": ("case OpenGate():\n  pass", False),
    "an enum member is missing": ("case CheckState.READY | CheckState.RETRY:\n  pass", False),
    "a default without a reason": ("case OpenGate():\n  pass\n case _:\n  pass", False),
    "a guarded default": ("case OpenGate():\n  pass\n case _ if late:  # late\n  pass", False),
    "all are named": ("case OpenGate():\n  pass\n case _:\n  assert_never(x)", True),
    "the others do not matter": ("case OpenGate():\n  pass\n case _:  # the others wait\n  pass", True),
    "literals": ("case 'a':\n  pass", True),
    "types of libraries": ("case Path():\n  pass", True),
}


@pytest.mark.parametrize(("cases", "want"), SOURCES.values(), ids=SOURCES)
def test_what_counts_as_closed(tmp_path: Path, cases: str, want: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(open_matches.__globals__, "ROOT", tmp_path)
    path = tmp_path / "m.py"
    path.write_text(f"match x:\n {cases}\n")
    assert (list(open_matches(path)) == []) is want
