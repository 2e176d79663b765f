"""The daemons are composed in one direction: a part is complete when it is made, and shadow mode overrides nothing."""

import ast
from pathlib import Path

import pytest

MANAGER = Path(__file__).parents[3] / "manager"
COMPOSING = sorted((*(MANAGER / "app").glob("*.py"), *(MANAGER / "shadow").glob("*.py")))
LONGEST_CONSTRUCTOR = 45


def targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


@pytest.mark.parametrize("path", COMPOSING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_part_is_assigned_to_another_afterwards(path: Path) -> None:
    assigned = [target for node in ast.walk(ast.parse(path.read_text())) for target in targets(node)]
    attributes = [target for target in assigned if isinstance(target, ast.Attribute)]
    assert [ast.unparse(each) for each in attributes if ast.unparse(each.value) != "self"] == []


def test_constructors_are_short() -> None:
    lengths = {
        f"{path.stem}.{node.name}": function.end_lineno - function.lineno + 1
        for path in MANAGER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, ast.FunctionDef) and function.name == "__init__" and function.end_lineno is not None
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_CONSTRUCTOR} == {}


def test_shadow_mode_inherits_from_no_part_of_the_daemon() -> None:
    parts = {
        node.name
        for folder in ("app", "reconcile", "serving", "clusters")
        for path in (MANAGER / folder).glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    inherited = {
        ast.unparse(base)
        for path in (MANAGER / "shadow").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    assert inherited & parts == set()
