"""Settings that still work and will go: those whose field says `deprecated`, where they are set.

A field is given `Field(deprecated="use gates.policy")` one minor release before it is removed (docs/support.md).
"""

from collections.abc import Iterator

from pydantic import BaseModel


def deprecations(section: BaseModel, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the place of each deprecated field that is set, with what to do instead."""
    for name, field in type(section).model_fields.items():
        value = section.__dict__[name]  # reading a deprecated attribute would warn developers
        here = (*place, name)
        if field.deprecated and name in section.model_fields_set:
            instead = f": {field.deprecated}" if isinstance(field.deprecated, str) else ""
            yield here, f"is deprecated and will be removed in a later release{instead}"
        if isinstance(value, BaseModel):
            yield from deprecations(value, here)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from deprecations(item, (*here, index))
