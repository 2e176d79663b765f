"""Types of settings that are mappings; pairs in order of their keys, because a frozen value holds no dict."""

from collections.abc import Mapping
from typing import Any, ClassVar

from config.types import syntax
from config.types.field_types import Number, RefusedError, SettingType


class Labels(SettingType):
    """Kubernetes labels."""

    words = "a mapping of Kubernetes label keys to label values, both strings"

    def parse(self, value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, Mapping):
            raise RefusedError
        for key, text in value.items():
            if not (isinstance(key, str) and syntax.is_label_key(key)):
                raise RefusedError("a label key", str(key), str(key))
            if not (isinstance(text, str) and syntax.is_label_value(text)):
                raise RefusedError('a label value, which is a string (in quotes: "1")', key, text)
        return tuple(sorted(value.items()))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "string", "pattern": f"^(?:{syntax.LABEL_VALUE})$"}}

    def dump(self, value: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return dict(value)


class ResourcePrices(SettingType):
    """A number for each of some resources."""

    words = 'a mapping of resource names to numbers from 0 to 1000000 (for example {cpu: 0.04, "nvidia.com/gpu": 2.5})'
    _NUMBER: ClassVar[Number] = Number(0, 1_000_000)

    def parse(self, value: object) -> tuple[tuple[str, float], ...]:
        if not isinstance(value, Mapping):
            raise RefusedError
        for name, number in value.items():
            if not (isinstance(name, str) and syntax.is_label_key(name)):
                raise RefusedError("the name of a resource", str(name), str(name))
            try:
                self._NUMBER.parse(number)
            except RefusedError as error:
                raise RefusedError(self._NUMBER.words, name, number) from error
        return tuple(sorted(value.items()))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self._NUMBER.json_schema()}

    def dump(self, value: tuple[tuple[str, float], ...]) -> dict[str, float]:
        return dict(value)
