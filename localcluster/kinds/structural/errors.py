"""Constructors of field errors, worded as the Kubernetes API server words them.

The rule of the wording: a headline per cause, the offending value where it is worth showing, then the detail.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from localcluster.kinds.structural.types import Cause, SchemaError

FIELD_IS_IMMUTABLE: Final = "field is immutable"
MUST_NOT_BE_NEGATIVE: Final = "must be greater than or equal to 0"

_HTML_SENSITIVE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def render(value: Any) -> str:
    """Print an offending value: scalars plainly, everything else as the JSON that Go would write."""
    if isinstance(value, str):
        return orjson.dumps(value).decode()
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_HTML_SENSITIVE)


def _with_detail(headline: str, detail: str) -> str:
    return f"{headline}: {detail}" if detail else headline


def required(field: str, detail: str = "") -> SchemaError:
    """Report a missing value."""
    return SchemaError(Cause.REQUIRED, field, _with_detail("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> SchemaError:
    """Report a malformed value, showing it."""
    return SchemaError(Cause.INVALID, field, _with_detail(f"Invalid value: {render(value)}", detail))


def violated(field: str, detail: str) -> SchemaError:
    """Report an object or a list that breaks a rule; such values are too long to show."""
    return SchemaError(Cause.INVALID, field, _with_detail("Invalid value", detail))


def type_invalid(field: str, value: Any, detail: str) -> SchemaError:
    """Report a value of the wrong JSON type."""
    return SchemaError(Cause.TYPE_INVALID, field, _with_detail(f"Invalid value: {render(value)}", detail))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> SchemaError:
    """Report a value outside a closed set."""
    allowed = ", ".join(render(choice) for choice in supported)
    detail = f"supported values: {allowed}" if allowed else ""
    return SchemaError(Cause.NOT_SUPPORTED, field, _with_detail(f"Unsupported value: {render(value)}", detail))


def not_found(field: str, value: Any) -> SchemaError:
    """Report a reference to something that does not exist."""
    return SchemaError(Cause.NOT_FOUND, field, f"Not found: {render(value)}")


def duplicate(field: str, value: Any, detail: str = "") -> SchemaError:
    """Report the second occurrence of a value that must be unique."""
    return SchemaError(Cause.DUPLICATE, field, _with_detail(f"Duplicate value: {render(value)}", detail))


def forbidden(field: str, detail: str) -> SchemaError:
    """Report a value that is well formed but not allowed here."""
    return SchemaError(Cause.FORBIDDEN, field, _with_detail("Forbidden", detail))


def too_long(field: str, limit: int) -> SchemaError:
    """Report an overlong string without repeating it."""
    unit = "byte" if limit == 1 else "bytes"
    return SchemaError(Cause.TOO_LONG, field, f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> SchemaError:
    """Report a list or a map with too many entries."""
    unit = "item" if limit == 1 else "items"
    return SchemaError(Cause.TOO_MANY, field, f"Too many: {actual}: must have at most {limit} {unit}")
