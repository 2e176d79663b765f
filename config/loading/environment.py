"""Overrides from environment variables.

`TURNSTILE_GATES__POLICY` overrides `gates.policy`: two underscores stand for the dot, one for a capital letter; lists
are written as JSON. The variables are read here and not by pydantic-settings, because an unknown variable is an error
and every error names the variable that it came from.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from config import names
from config.api.meta import Obj
from config.loading.shape import FieldShape, fields_of
from config.reading.yaml_document import Place
from config.sections.settings import Configuration
from config.types import syntax
from config.types.field_types import VariableText

_SERVICE_LINK: Final = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_\w+)?)")
_SERVICE_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://.*")


@dataclass(frozen=True, slots=True)
class VariableProblem:
    """A variable that cannot be used, and why."""

    variable: str
    message: str


@dataclass(frozen=True, slots=True)
class Environment:
    """The overrides as a tree in the file's names, and which variable each came from."""

    tree: Obj
    variables: Mapping[Place, str]
    problems: tuple[VariableProblem, ...]


def read_environment(environ: Mapping[str, str]) -> Environment:
    """Collect the overrides from variables; other programs' variables are ignored."""
    known = dict(_variables(Configuration, names.ENVIRONMENT_PREFIX, ()))
    tree: Obj = {}
    variables: dict[Place, str] = {}
    problems: list[VariableProblem] = []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(names.ENVIRONMENT_PREFIX) or variable in names.COMMAND_VARIABLES:
            continue
        if variable not in known and _is_service_link(variable, text):
            continue
        if variable not in known:
            problems.append(VariableProblem(variable, _unknown_variable(variable, known)))
            continue
        path, shape = known[variable]
        try:
            value = _value_of(shape, text)
        except ValueError:
            problems.append(VariableProblem(variable, f"is not JSON: {shape.words}, written as JSON"))
            continue
        variables[path] = variable
        _put(tree, path, value)
    return Environment(tree, variables, tuple(problems))


def _variables(
    section: type[BaseModel], prefix: str, path: tuple[str, ...]
) -> Iterator[tuple[str, tuple[tuple[str, ...], FieldShape]]]:
    for file_name, shape in fields_of(section).items():
        variable = f"{prefix}{shape.name.upper()}"
        if shape.section and not shape.repeated:
            yield from _variables(shape.section, f"{variable}__", (*path, file_name))
        else:
            yield variable, ((*path, file_name), shape)


def _is_service_link(variable: str, text: str) -> bool:
    """Return whether Kubernetes put the variable into our pod because a Service's name begins with `turnstile`."""
    is_address = variable.endswith("_PORT") and _SERVICE_ADDRESS.fullmatch(text) is not None
    return is_address or _SERVICE_LINK.fullmatch(variable) is not None


def _value_of(shape: FieldShape, text: str) -> Any:
    if shape.repeated:
        return json.loads(text)
    return None if shape.nullable and text == "null" else VariableText(text)


def _put(tree: Obj, path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _unknown_variable(variable: str, known: Mapping[str, object]) -> str:
    prefix = names.ENVIRONMENT_PREFIX
    meant = syntax.closest(variable.removeprefix(prefix), [name.removeprefix(prefix) for name in known])
    return f"unknown variable; did you mean {prefix}{meant}?" if meant else "unknown variable: it names no field"
