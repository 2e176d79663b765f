"""The configuration's fields as a tree: what is allowed where, under which name, with which default.

Everything that must agree with the model (names in the file, environment variables, the reference table, the commented
defaults) is computed from here, so that it cannot disagree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from config.types.field_types import SettingType


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field: either a value of a setting type, or a section, each possibly in a list."""

    name: str
    file_name: str
    description: str
    required: bool
    default: Any
    nullable: bool
    repeated: bool
    section: type[BaseModel] | None
    setting: SettingType | None

    @property
    def words(self) -> str:
        """What the field allows, as the end of a sentence."""
        if self.setting and self.repeated:
            return f"a list, each item {self.setting.words}"
        if self.setting:
            return self.setting.words
        return "a list of mappings" if self.repeated else f"a mapping with {', '.join(fields_of(self.section))}"


@lru_cache(maxsize=64)
def fields_of(section: type[BaseModel] | None) -> dict[str, FieldShape]:
    """Return the fields of a section, by their name in the file."""
    if section is None:
        return {}
    shapes = (_shape_of(name, field) for name, field in section.model_fields.items())
    return {shape.file_name: shape for shape in shapes}


def walk(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldShape]]:
    """Yield every field with its dotted path (`workers[].kubeconfig.path`), sections before what is in them."""
    for file_name, shape in fields_of(section).items():
        path = f"{prefix}{file_name}"
        yield path, shape
        if shape.section:
            yield from walk(shape.section, f"{path}{'[]' if shape.repeated else ''}.")


def _shape_of(name: str, field: FieldInfo) -> FieldShape:
    annotation, nullable = _without_none(field.annotation)
    metadata: list[Any] = list(field.metadata)
    # A setting type may itself be held as a tuple (labels are); a list is a tuple that no setting type claims.
    repeated = get_origin(annotation) is tuple and _setting_in(metadata) is None
    if repeated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata += more
    is_section = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return FieldShape(
        name=name,
        file_name=to_camel(name),
        description=" ".join((field.description or "").split()),
        required=field.is_required(),
        default=None if field.is_required() else field.default,
        nullable=nullable,
        repeated=repeated,
        section=annotation if is_section else None,
        setting=_setting_in(metadata),
    )


def _setting_in(metadata: list[Any]) -> SettingType | None:
    return next((item for item in metadata if isinstance(item, SettingType)), None)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in {Union, UnionType}:
        return annotation, False
    (inner,) = (argument for argument in get_args(annotation) if argument is not NoneType)
    return inner, True
