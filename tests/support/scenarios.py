"""Which acceptance scenarios tests name, and the page that describes the scenarios.

A test names a scenario by its number, at the beginning of its name or of the id of one of its cases. The folder tells
the series. `python -m tests.support.scenarios docs/scenarios.md` lists the tests in the page again.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SERIES_BY_FOLDER = {
    "tests/unit/engine/topology": "TAS",
    "tests/unit/engine": "PE",
    "tests/integration/cost": "PE",
    "tests/unit/gates": "MK",
    "tests/integration/orchestrator": "MK",
    "tests/integration/kueue": "MK",
}
"""Of plain numbers. A number with a letter has the same series everywhere."""
_LETTERED = re.compile(r"[FSrtv]\d+")
_ROW = re.compile(r"^\| ([A-Z]+-?\d+) \| (.+) \| (.*) \|$")


def series_of(path: str) -> str:
    """Return the series of plain numbers in a test file, nothing if it has none."""
    return next((series for folder, series in _SERIES_BY_FOLDER.items() if path.startswith(f"{folder}/")), "")


def in_name(name: str, series: str) -> Iterator[str]:
    """Return the scenarios that the name of a test begins with."""
    words = name.removeprefix("test_").split("_")
    if words[0] in ("fault", "faults"):
        series = "K"
    elif words[0] == "w":
        series = "W"
    for word in words[1:] if words[0] in ("fault", "faults", "w", "scenario") else words:
        if _LETTERED.fullmatch(word):
            yield word.upper()
        elif word.isdecimal() and series:
            yield f"{series}-{int(word)}"
        else:
            return


def in_case(text: str, series: str) -> Iterator[str]:
    """Return the scenarios that the id of a case begins with."""
    if lettered := re.match(r"([FS]\d+): ", text):
        yield lettered[1]
    elif pods := re.match(r"W-(\d+)[ :]", text):
        yield f"W-{int(pods[1])}"
    elif fault := re.match(r"fault[- ](\d+)\b", text):
        yield f"K-{int(fault[1])}"
    elif numbered := re.match(r"(?:scenario )?((?:\d+ )+|\d+(?=:))(?:\((T\d)\))?", text):
        yield from (f"{series}-{int(number)}" for number in numbered[1].split() if series)
        if numbered[2]:
            yield numbered[2]


def named_in(tree: ast.Module, series: str) -> Iterator[str]:
    """Return the scenarios that the tests of a file name; one that all of them hold begins its description."""
    yield from in_case(ast.get_docstring(tree) or "", "")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from in_name(node.name, series)
        for case in _ids(node):
            yield from in_case(case, series)


def _ids(node: ast.AST) -> Iterator[str]:
    """Return texts that become ids of cases: keys of tables, and what `pytest.param` is given."""
    found: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        found = node.keys
    if isinstance(node, ast.Call):
        found = [keyword.value for keyword in node.keywords if keyword.arg == "id"]
    yield from (each.value for each in found if isinstance(each, ast.Constant) and isinstance(each.value, str))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file as Python reads it."""
    return ast.parse(path.read_text())


@cache
def files_by_scenario() -> dict[str, list[str]]:
    """Return for every scenario that a test names the files with such tests, or with tables of their cases."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests").rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        for scenario in named_in(tree_of(path), series_of(name)):
            found.setdefault(scenario, set()).add(name)
    return {scenario: sorted(files) for scenario, files in found.items()}


def described(page: str) -> dict[str, tuple[str, str]]:
    """Return the scenarios of the page, each with its description and the files listed for it."""
    rows = (_ROW.match(line) for line in page.splitlines())
    return {row[1]: (row[2], row[3]) for row in rows if row}


def listed(page: str) -> str:
    """Return the page with the files that name each scenario now."""
    files = files_by_scenario()

    def row(line: str) -> str:
        found = _ROW.match(line)
        if not found:
            return line
        return f"| {found[1]} | {found[2]} | {', '.join(_short(file) for file in files.get(found[1], []))} |"

    return "\n".join(map(row, page.splitlines())) + "\n"


def _short(file: str) -> str:
    return file.removeprefix("tests/").removesuffix(".py")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(listed(target.read_text()))
