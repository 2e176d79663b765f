"""Lets a command take a group of options as one parameter.

A group is a frozen dataclass whose fields are annotated as typer wants options to be annotated. Typer knows no such
groups, so the command is given to it with the options of the group in place of the group.
"""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with every parameter that is a group replaced by the options in it."""
    groups: dict[str, Any] = {}
    positional: list[inspect.Parameter] = []
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            options += _options_of(parameter.annotation)
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            options.append(parameter)
        else:
            positional.append(parameter)

    @wraps(command)
    def ungrouped(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    parameters = [*positional, *options]
    ungrouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ungrouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return ungrouped


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]
