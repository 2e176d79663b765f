"""Settings that will go are named where they are set, with what to use instead."""

from pydantic import BaseModel, Field

from config.loading.deprecations import deprecations
from config.sections.sections import Section
from config.sections.settings import Configuration

INSTEAD = "use gates.policy"


class Inner(Section):
    """A section with a field that will go."""

    old: int = Field(default=1, deprecated=INSTEAD)
    new: int = 1


class Outer(Section):
    """A section of such sections."""

    one: Inner = Inner()
    many: tuple[Inner, ...] = ()


def found(**values: object) -> list[tuple[tuple[str | int, ...], str]]:
    return list(deprecations(Outer.model_validate(values)))


def test_a_default_is_not_reported() -> None:
    assert found(one={"new": 2}, many=[{}]) == []


def test_what_is_set_is_reported_at_its_place() -> None:
    message = f"is deprecated and will be removed in a later release: {INSTEAD}"
    assert found(one={"old": 1}, many=[{}, {"old": 3}]) == [(("one", "old"), message), (("many", 1, "old"), message)]


def test_the_schema_marks_it_for_editors() -> None:
    assert Inner.model_json_schema()["properties"]["old"]["deprecated"] is True


def test_a_deprecated_setting_of_the_product_says_what_replaces_it() -> None:
    sections: list[type[BaseModel]] = [Configuration, *Section.__subclasses__()]
    for section in sections:
        for name, field in section.model_fields.items():
            assert not field.deprecated or isinstance(field.deprecated, str), name
