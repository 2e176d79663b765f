"""One back-off: no shipped module but one imports tenacity, and no other computes doubling waits in the shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BACKOFF = Path("workerclient/base/backoff.py")
PACKAGES = ("manager", "workerclient", "gates", "engine", "config", "localcluster")
SHELL = ("manager", "workerclient")
"""Where I/O is retried. A delay in `gates` is part of a decision, and `engine` computes as Kueue does."""


def sources(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.relative_to(ROOT) != BACKOFF:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def doublings(tree: ast.AST) -> Iterator[str]:
    """Yield powers of two with an exponent that varies, and `x = min(2 * x, …)`."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=ast.Constant(value=2 | 2.0), op=ast.Pow(), right=right):
                if not isinstance(right, ast.Constant):
                    yield ast.unparse(node)
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id="min"), args=args)):
                twice = {f"2 * {ast.unparse(target)}", f"2.0 * {ast.unparse(target)}", f"{ast.unparse(target)} * 2"}
                if not twice.isdisjoint(map(ast.unparse, args)):
                    yield ast.unparse(node)


def test_tenacity_is_used_through_one_module() -> None:
    found = {name for name, tree in sources(*PACKAGES) if any(m.split(".")[0] == "tenacity" for m in imports(tree))}
    assert found == set()
    assert "tenacity" in set(imports(ast.parse((ROOT / BACKOFF).read_text())))


def test_no_other_module_of_the_shell_doubles_a_wait() -> None:
    found = {f"{name}: {each}" for name, tree in sources(*SHELL) for each in doublings(tree)}
    assert found == {"workerclient/objects/reflector.py: self._patience = min(2.0 * self._patience, _MOST_PATIENCE)"}, (
        "a deadline that grows for a slow cluster, not a wait"
    )


@pytest.mark.parametrize(
    "code", ["a = 5.0 * 2.0 ** min(n, 6)", "b = first * 2 ** (n - 1)", "wait = min(2 * wait, 60.0)"]
)
def test_the_check_sees_doubling(code: str) -> None:
    assert list(doublings(ast.parse(code)))


@pytest.mark.parametrize("code", ["a = 2 ** 31", "a = n ** 2", "a = min(2 * b, 60)"])
def test_the_check_lets_other_arithmetic_pass(code: str) -> None:
    assert not list(doublings(ast.parse(code)))
