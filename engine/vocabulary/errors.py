"""What is wrong with an object, said once: which object, which field, and what is allowed there.

FieldError is raised where a field is read and knows only its path; the caller that holds the object adds its name.
"""

from collections.abc import Sequence
from typing import Self


class FieldError(ValueError):
    """One field of one object does not hold what it must."""

    def __init__(self, field: str, detail: str) -> None:
        """Keep the path apart from the text so that a caller can group by field."""
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail

    @classmethod
    def not_allowed(cls, field: str, value: object, allowed: Sequence[str]) -> Self:
        """Say that a value is outside a closed set."""
        return cls(field, f'"{value}" is not allowed: {", ".join(allowed)}')


class InvalidObjectError(ValueError):
    """An object that cannot be used; the message names it, the field and what is allowed."""

    def __init__(self, kind: str, name: str, error: FieldError) -> None:
        """Name the object in front of the field's error."""
        super().__init__(f'{kind} "{name}": {error}')
        self.kind = kind
        self.name = name
        self.error = error
