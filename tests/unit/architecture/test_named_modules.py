"""A docstring or comment that names a module names one that exists, and something in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from config.sections.sections import Gates

ROOT = Path(__file__).parents[3]
PACKAGES = ("manager", "workerclient", "gates", "engine", "config", "localcluster")
SETTINGS = {f"gates.{to_camel(name)}" for name in Gates.model_fields}
"""Named in the same way; a package happens to have the name of their section."""
FILES = {f"{package}.py" for package in PACKAGES}
NAMED = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)`")


def sources() -> Iterator[Path]:
    for package in (*PACKAGES, "tests", "benchmarks"):
        yield from sorted((ROOT / package).rglob("*.py"))


def exists(name: str) -> bool:
    """Return whether a dotted name is a module, or defined or imported at the top of one."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:depth])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if file.is_file():
            return depth == len(parts) or (depth == len(parts) - 1 and parts[-1] in defined(file))
    return False


def defined(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names


def test_modules_that_docstrings_name_exist() -> None:
    stale = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in NAMED.findall(path.read_text())
        if not exists(name) and name not in SETTINGS | FILES
    ]
    assert stale == []


@pytest.mark.parametrize(("name", "want"), [("engine.shares", False), ("engine.quota.shares.share_of", True)])
def test_the_test_can_tell(name: str, want: bool) -> None:
    assert exists(name) == want
