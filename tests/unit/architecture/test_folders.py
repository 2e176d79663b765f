"""No cycle between folders: what import-linter's layers do not name is held here."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.source_tree import PACKAGES, ROOT

MOST_MODULES = 20
MOST_LINES = 350
ALIAS = re.compile(r"[A-Z][a-z]+[A-Za-z]*")
HIGHEST_PRIORITIES = {"engine.pods.values.priorities", "localcluster.catalogue.builtin_kinds.scheduling"}
"""Hold the highest priority that a user may give, which is the same number."""


def modules(package: str) -> dict[str, Path]:
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for block in [node for node in ast.walk(tree) if isinstance(node, ast.If)]:
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            block.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield module if module in known else node.module


def folder(module: str, known: dict[str, Path]) -> str:
    return module if known[module].name == "__init__.py" else module.rpartition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_of_a_package_form_no_cycle(package: str) -> None:
    known = modules(package)
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        here = folder(module, known)
        targets = {folder(target, known) for target in imported(path, known) if target in known}
        graph.setdefault(here, set()).update(targets - {here})
    assert set(TopologicalSorter(graph).static_order()) >= set(graph)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_at_most_twenty_modules(package: str) -> None:
    folders = {path.parent for path in modules(package).values()}
    sizes = {str(each.relative_to(ROOT)): len(list(each.glob("*.py"))) - 1 for each in folders}
    assert {name: size for name, size in sizes.items() if size > MOST_MODULES} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_has_at_most_350_lines(package: str) -> None:
    lengths = {module: len(path.read_text().splitlines()) for module, path in modules(package).items()}
    assert {module: length for module, length in lengths.items() if length > MOST_LINES} == {}


def test_a_class_name_is_used_once() -> None:
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for module, path in modules(package).items():
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def aliases(path: Path) -> Iterator[str]:
    """Yield the names that a module gives to types: `Obj = dict[str, Any]`, `NextGate = Open | Wait`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
            names = (target.id for target in node.targets if isinstance(target, ast.Name))
            yield from (name for name in names if ALIAS.fullmatch(name))


def test_a_type_alias_is_declared_once() -> None:
    places: dict[str, list[str]] = {}
    for package in PACKAGES:
        for module, path in modules(package).items():
            for name in aliases(path):
                places.setdefault(name, []).append(module)
    assert "Obj" in places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_nanoseconds_per_second_are_written_once() -> None:
    places = set()
    for package in PACKAGES:
        for module, path in modules(package).items():
            numbers = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
            places |= {module for number in numbers if type(number) in (int, float) and number == 10**9}
    assert places - HIGHEST_PRIORITIES == {"config.api.meta"}
