"""What is declared is used, and docs/dependencies.md names it: no more, no less."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SHIPPED = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()


def normal(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[\s<>=!~\[;]", requirement, maxsplit=1)[0]) for requirement in requirements}


def imported() -> set[str]:
    """Return every distribution that a module of a shipped package imports, at its top or later."""
    modules: set[str] = set()
    for path in (path for package in SHIPPED for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    distributions = packages_distributions()
    return {normal(each) for module in modules for each in distributions.get(module, ())}


def rows(heading: str) -> set[str]:
    """Return the names in the first column of the table under a heading."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")][2:]
    return {normal(name.strip()) for cell in cells for name in re.sub(r"\(.*\)", "", cell).split(",")}


def test_every_declared_dependency_is_imported_by_a_shipped_package() -> None:
    assert declared(PROJECT["project"]["dependencies"]) - imported() == set()


def test_the_page_names_the_dependencies_at_run_time_and_no_others() -> None:
    assert rows("At run time") == declared(PROJECT["project"]["dependencies"])


def test_the_page_names_every_declared_tool() -> None:
    assert declared(PROJECT["project"]["optional-dependencies"]["dev"]) - rows("For development") == set()


def test_the_page_names_what_tracing_needs() -> None:
    extras = PROJECT["project"]["optional-dependencies"]["tracing"]
    assert [name for name in declared(extras) if name not in PAGE] == []
