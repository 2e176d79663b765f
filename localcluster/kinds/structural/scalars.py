"""Checks of single values: strings, numbers, booleans, quantities; worded as OpenAPI validation words them."""

import re
from collections.abc import Callable
from typing import Any, Final

from localcluster.kinds.structural import errors
from localcluster.kinds.structural.paths import NO_PATH, Path, render_path
from localcluster.kinds.structural.types import Schema, SchemaError

Check = Callable[[Any, Path, list[SchemaError]], None]

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_DATE_TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"[Tt ]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})"
)
_INTEGER_RANGE: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
# The same few short strings come with every write; remembering them saves most regular expressions.
_MOST_REMEMBERED: Final = 512
_LONGEST_REMEMBERED: Final = 128
_TYPE_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_FORMAT_OF_NUMBER: Final[dict[type, str]] = {int: "int64", float: "float64"}


def compile_scalar(schema: Schema) -> Check:
    """Return the check for a node that is neither an object nor a list."""
    match schema.type:
        case "string":
            return _string_check(schema)
        case "integer" | "number":
            return _number_check(schema)
        case "boolean":
            return _boolean_check(schema)
        case "quantity":
            return _text_or_integer_check(schema, compile_pattern(QUANTITY_PATTERN), QUANTITY_PATTERN)
        case "int-or-string":
            return _text_or_integer_check(schema, None, "")
        case _:
            return _accept_anything


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Translate an RE2 pattern: `$` means the very end, and a flag may stand after the anchor."""
    flags = re.IGNORECASE if "(?i)" in pattern else 0
    pattern = pattern.replace("(?i)", "")
    return re.compile(f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern, flags)


def report_type(schema: Schema, value: Any, path: Path, found: list[SchemaError]) -> None:
    """Report a value of the wrong JSON type; with a format, Kubernetes names formats in place of types."""
    name = render_path(path)
    wanted = {"quantity": "integer,string", "int-or-string": "integer,string"}.get(schema.type, schema.type)
    given = _TYPE_NAMES[type(value)]
    if schema.format and not isinstance(value, str | list | None):
        wanted, given = schema.format, _FORMAT_OF_NUMBER.get(type(value), "")
    found.append(errors.type_invalid(name, given, f'{name} in body must be of type {wanted}: "{given}"'))


def _accept_anything(_value: Any, _path: Path, _found: list[SchemaError]) -> None:
    """Accept what has no schema."""


def _boolean_check(schema: Schema) -> Check:
    def check_boolean(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is not bool and not (value is None and schema.nullable):
            report_type(schema, value, path, found)

    return check_boolean


def _string_check(schema: Schema) -> Check:
    pattern = compile_pattern(schema.pattern) if schema.pattern else None
    allowed = frozenset(schema.enum)
    least, most = schema.min_length or 0, schema.max_length
    is_time = schema.format == "date-time"
    accepted: set[str] = set()

    def check_string(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is not str:
            if not (value is None and schema.nullable):
                report_type(schema, value, path, found)
                _report_unsupported(schema, value, path, found)
            return
        if value in accepted:
            return
        before = len(found)
        check_text(value, path, found)
        is_short = len(value) <= _LONGEST_REMEMBERED
        if is_short and len(found) == before and len(accepted) < _MOST_REMEMBERED:
            accepted.add(value)

    def check_text(value: str, path: Path, found: list[SchemaError]) -> None:
        if most is not None and len(value) > most:
            found.append(errors.too_long(render_path(path), most))
        elif len(value) < least:
            name = render_path(path)
            found.append(errors.invalid(name, value, f"{name} in body should be at least {least} chars long"))
        elif pattern is not None and pattern.match(value) is None:
            _report_mismatch(value, schema.pattern, path, found)
        if allowed and value not in allowed:
            _report_unsupported(schema, value, path, found)
        if is_time and _DATE_TIME.fullmatch(value) is None:
            name = render_path(path)
            detail = f'{name} in body must be of type date-time: "{value}"'
            found.append(errors.type_invalid(name, value, detail))

    return check_string


def _report_mismatch(value: str, pattern: str, path: Path, found: list[SchemaError]) -> None:
    name = render_path(path)
    found.append(errors.invalid(name, value, f"{name} in body should match '{pattern}'"))


def _report_unsupported(schema: Schema, value: Any, path: Path, found: list[SchemaError]) -> None:
    if schema.enum:
        found.append(errors.not_supported(render_path(path), value, schema.enum))


def _is_number(schema: Schema, value: Any) -> bool:
    if type(value) is int:
        return True
    return type(value) is float and (schema.type == "number" or value.is_integer())


def _number_check(schema: Schema) -> Check:
    lowest, highest = _INTEGER_RANGE.get(schema.format, (float("-inf"), float("inf")))
    least, most = schema.minimum, schema.maximum

    def check_number(value: Any, path: Path, found: list[SchemaError]) -> None:
        if not _is_number(schema, value):
            if not (value is None and schema.nullable):
                report_type(schema, value, path, found)
            return
        if not lowest <= value <= highest:
            detail = f"Checked value must be of type {schema.type} with format {schema.format} in {render_path(path)}"
            found.append(errors.invalid(NO_PATH, "", detail))
        if least is not None and value < least:
            name = render_path(path)
            found.append(errors.invalid(name, value, f"{name} in body should be greater than or equal to {least}"))
        if most is not None and value > most:
            name = render_path(path)
            found.append(errors.invalid(name, value, f"{name} in body should be less than or equal to {most}"))

    return check_number


def _text_or_integer_check(schema: Schema, pattern: re.Pattern[str] | None, shown: str) -> Check:
    def check_text_or_integer(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is str:
            if pattern is not None and pattern.match(value) is None:
                _report_mismatch(value, shown, path, found)
        elif type(value) is not int:
            report_type(schema, value, path, found)

    return check_text_or_integer
