"""Rules for the tests: helpers are not in test files, private members stay private, numbers are explained."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import scenarios

ROOT = Path(__file__).parents[3]
HERE = Path(__file__)
"""Whose texts are examples of what is not allowed."""
FILES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "tests").rglob("*.py") if path != HERE}
SCENARIOS = ROOT / "docs" / "scenarios.md"


def imported(tree: ast.Module) -> Iterator[str]:
    """Return the modules that a file imports, also in programs that it holds as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"(?:from|import) (tests\.[\w.]+)", node.value)


def renamed(tree: ast.Module) -> Iterator[str]:
    """Return the names of attributes that a file reads or sets by their name as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(name := node.args[1], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("setattr", "getattr", "delattr") and isinstance(name.value, str):
                yield name.value


def is_test_module(module: str) -> bool:
    return module.startswith("tests.") and any(part.startswith("test_") for part in module.split("."))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_file_imports_from_a_test_file() -> None:
    found = {file: list(filter(is_test_module, imported(scenarios.tree_of(path)))) for file, path in FILES.items()}
    assert {file: modules for file, modules in found.items() if modules} == {}


def test_no_test_reaches_a_private_member_by_its_name_as_text() -> None:
    """What is written with a dot is found by ruff (SLF001)."""
    found = {
        (file, name) for file, path in FILES.items() for name in renamed(scenarios.tree_of(path)) if is_private(name)
    }
    assert found == set()


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("from tests.unit.test_a import b", ["tests.unit.test_a.b"]),
        ("import tests.unit.test_a", ["tests.unit.test_a"]),
        ("code = 'import x; from tests.unit.test_a import b'", ["tests.unit.test_a"]),
    ],
)
def test_imports_from_test_files_are_found(source: str, modules: list[str]) -> None:
    assert [module for module in imported(ast.parse(source)) if is_test_module(module)] == modules


def test_private_members_are_found() -> None:
    assert list(renamed(ast.parse("patch.setattr(link, '_notices', 1); getattr(x, '_y')"))) == ["_notices", "_y"]


def test_what_a_package_of_tests_shares_ends_with_the_package() -> None:
    """Without `__init__.py` a folder is no package, and its servers would run until the last test of all."""
    sharing = [path.parent for path in FILES.values() if 'scope="package"' in path.read_text()]
    assert sharing
    assert [folder for folder in sharing if not (folder / "__init__.py").exists()] == []


def test_every_scenario_that_a_test_names_is_described_and_every_described_one_has_a_test() -> None:
    assert set(scenarios.described(SCENARIOS.read_text())) == set(scenarios.files_by_scenario())


def test_the_page_of_scenarios_lists_the_tests_that_there_are() -> None:
    page = SCENARIOS.read_text()
    assert scenarios.listed(page) == page, "run make docs"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("test_95_103_a_missing_secret", ["MK-95", "MK-103"]),
        ("test_scenario_80_of_two", ["MK-80"]),
        ("test_F10_a_watch", ["F10"]),
        ("test_S4_F13_an_unchanged_secret", ["S4", "F13"]),
        ("test_r6_132_two_looks", ["R6", "MK-132"]),
        ("test_w_26_the_unit", ["W-26"]),
        ("test_faults_8_the_default", ["K-8"]),
        ("test_release_36_nominates", []),
        ("test_v1beta1_plugins", []),
    ],
)
def test_scenarios_are_found_in_the_name_of_a_test(name: str, found: list[str]) -> None:
    assert list(scenarios.in_name(name, "MK")) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("130 a real worker takes the latest", ["PE-130"]),
        ("54 56 deleted while w2 is away", ["PE-54", "PE-56"]),
        ("137 (T5) exactly the duration", ["PE-137", "T5"]),
        ("scenario 78: the free flavor is taken", ["PE-78"]),
        ("W-31 either", ["W-31"]),
        ("S1: a forecast is awaited", ["S1"]),
        ("fault-11 reverted", ["K-11"]),
        ("1.36", []),
        ("a plain case", []),
    ],
)
def test_scenarios_are_found_in_the_id_of_a_case(text: str, found: list[str]) -> None:
    assert list(scenarios.in_case(text, "PE")) == found
