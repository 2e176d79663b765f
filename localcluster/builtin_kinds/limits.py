"""Limits that typed kinds check themselves, in their own words rather than in OpenAPI's."""

from collections.abc import Iterable, Iterator

from localcluster.kinds import Obj
from localcluster.schema import FieldError
from localcluster.structural import errors


def check_not_negative(part: Obj, fields: Iterable[str], path: str) -> Iterator[FieldError]:
    """Return an error for each of the fields that is below zero."""
    for field in fields:
        if part.get(field, 0) < 0:
            yield errors.invalid(f"{path}.{field}", part[field], errors.MUST_NOT_BE_NEGATIVE)
