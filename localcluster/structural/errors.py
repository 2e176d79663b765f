"""Constructors of field errors, worded as the Kubernetes API server words them.

The rule of the wording: a headline per cause, the offending value where it is worth showing, then the detail.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from localcluster.structural.types import Cause, FieldError

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


def required(field: str, detail: str = "") -> FieldError:
    """Report a missing value."""
    return FieldError(Cause.REQUIRED, field, _with_detail("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Report a malformed value, showing it."""
    return FieldError(Cause.INVALID, field, _with_detail(f"Invalid value: {render(value)}", detail))


def violated(field: str, detail: str) -> FieldError:
    """Report an object or a list that breaks a rule; such values are too long to show."""
    return FieldError(Cause.INVALID, field, _with_detail("Invalid value", detail))


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Report a value of the wrong JSON type."""
    return FieldError(Cause.TYPE_INVALID, field, _with_detail(f"Invalid value: {render(value)}", detail))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Report a value outside a closed set."""
    allowed = ", ".join(render(choice) for choice in supported)
    detail = f"supported values: {allowed}" if allowed else ""
    return FieldError(Cause.NOT_SUPPORTED, field, _with_detail(f"Unsupported value: {render(value)}", detail))


def not_found(field: str, value: Any) -> FieldError:
    """Report a reference to something that does not exist."""
    return FieldError(Cause.NOT_FOUND, field, f"Not found: {render(value)}")


def duplicate(field: str, value: Any, detail: str = "") -> FieldError:
    """Report the second occurrence of a value that must be unique."""
    return FieldError(Cause.DUPLICATE, field, _with_detail(f"Duplicate value: {render(value)}", detail))


def forbidden(field: str, detail: str) -> FieldError:
    """Report a value that is well formed but not allowed here."""
    return FieldError(Cause.FORBIDDEN, field, _with_detail("Forbidden", detail))


def too_long(field: str, limit: int) -> FieldError:
    """Report an overlong string without repeating it."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(Cause.TOO_LONG, field, f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """Report a list or a map with too many entries."""
    unit = "item" if limit == 1 else "items"
    return FieldError(Cause.TOO_MANY, field, f"Too many: {actual}: must have at most {limit} {unit}")
