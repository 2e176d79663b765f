"""The catalogue of log events agrees with the calls that log them, and docs/logging.md with the catalogue."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from manager.logging import events
from manager.reference.logging import with_tables

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("manager", "workerclient", "localcluster", "gates", "engine", "config")
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
EVERY_EVENT = tuple(chain.from_iterable(events.EVENTS.values()))
EVENTS = {event.name: event for event in EVERY_EVENT}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Call:
    """A call that logs: its event and level, its fields, and the strings of its module if it has others."""

    place: str
    name: str
    level: str
    fields: frozenset[str]
    further: frozenset[str]


SOURCES = {
    path.relative_to(ROOT): path.read_text() for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(SOURCES[path])


def _mentioning(name: str) -> Iterator[tuple[Path, ast.Module]]:
    return ((path, _tree(path)) for path, source in SOURCES.items() if f"{name}(" in source)


def logging_calls() -> Iterator[Call]:
    for path, tree in _mentioning("get_log"):
        loggers = set(_loggers(tree))
        for node, functions in _with_functions(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if not (_is_get_log(node.func.value) or ast.unparse(node.func.value) in loggers):
                continue
            place = f"{path}:{node.lineno}"
            assert node.func.attr in LEVELS, place
            names = [str(word.arg) for word in node.keywords if word.arg is not None]
            spread = {key for word in node.keywords if word.arg is None for key in _strings(tree)}
            fields = frozenset("exception" if name == "exc_info" else name for name in names)
            for name in _texts(node.args[0], tree, functions):
                yield Call(place, name, node.func.attr, fields, frozenset(spread))


def _is_get_log(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("get_log")


def _loggers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_get_log(node.value):
            yield from map(ast.unparse, node.targets)


def _strings(tree: ast.Module) -> set[str]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _with_functions(node: ast.AST, around: tuple[Function, ...] = ()) -> Iterator[tuple[ast.AST, tuple[Function, ...]]]:
    yield node, around
    inner = (*around, node) if isinstance(node, Function) else around
    for child in ast.iter_child_nodes(node):
        yield from _with_functions(child, inner)


def _texts(node: ast.expr, tree: ast.Module, functions: tuple[Function, ...]) -> Iterator[str]:
    """Return what an event's name can be: a literal, a constant of the module, or what callers pass on."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
        return
    assert isinstance(node, ast.Name), ast.unparse(node)
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == node.id:
            assert isinstance(statement.value, ast.Constant)
            yield str(statement.value.value)
            return
    for function in functions:
        parameters = [argument.arg for argument in function.args.args if argument.arg != "self"]
        if node.id in parameters:
            yield from _passed(function.name, parameters.index(node.id))


def _passed(function: str, position: int) -> Iterator[str]:
    found = 0
    for _, tree in _mentioning(function):
        for node, functions in _with_functions(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == function:
                found += 1
                yield from _texts(node.args[position], tree, functions)
    assert found, f"nothing calls {function}"


CALLS = list(logging_calls())


def test_the_log_is_used_only_in_ways_that_this_file_follows() -> None:
    """Each `get_log()` is followed by the call of a level, or assigned to a variable."""
    for path, tree in _mentioning("get_log"):
        nodes = [node for node, _ in _with_functions(tree)]
        found = sum(isinstance(node, ast.expr) and _is_get_log(node) for node in nodes)
        called = sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_get_log(node.func.value)
            for node in nodes
        )
        assert found == called + len(list(_loggers(tree))), path


def test_a_logged_event_is_in_the_catalogue_with_its_level_and_fields() -> None:
    problems = []
    for call in CALLS:
        event = EVENTS.get(call.name)
        if event is None:
            problems.append(f"{call.place} logs {call.name}, which manager/logging/events.py does not describe")
        elif event.level != call.level:
            problems.append(f"{call.place} logs {call.name} as {call.level}, not {event.level}")
        elif not call.fields <= set(event.fields):
            problems.append(f"{call.place}: the catalogue lacks {sorted(call.fields - set(event.fields))}")
    assert problems == []


def test_a_described_event_is_logged_with_all_fields_that_are_described() -> None:
    problems = []
    for event in EVERY_EVENT:
        calls = [call for call in CALLS if call.name == event.name]
        unknown = set(event.fields).difference(*(call.fields | call.further for call in calls))
        if not calls:
            problems.append(f"nothing logs {event.name}")
        elif unknown:
            problems.append(f"nothing logs {sorted(unknown)} with {event.name}")
    assert problems == []


def test_names_and_descriptions_have_one_form() -> None:
    for event in EVERY_EVENT:
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", event.name), event.name
        assert event.meaning.endswith("."), event.name
        assert "|" not in event.meaning, event.name


def test_no_two_events_share_a_name() -> None:
    assert len(EVENTS) == len(EVERY_EVENT)


def test_the_docs_list_every_event() -> None:
    page = (ROOT / "docs" / "logging.md").read_text()
    assert page == with_tables(page), "run `make docs`"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="events:begin"):
        with_tables("nothing")
