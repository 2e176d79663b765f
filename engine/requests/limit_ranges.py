"""The LimitRanges of one namespace, merged the way Kueue merges them.

Invariant: bounds do not depend on the order of the LimitRanges. Defaults do, and Kueue reads the ranges in no defined
order, so a default on which two ranges disagree is listed in `contested` and the first by name is used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

from config.api.quantity import QuantityError, parse_quantity
from engine.vocabulary.errors import FieldError, InvalidObjectError

CONTAINER: Final = "Container"
POD: Final = "Pod"


@dataclass(frozen=True, slots=True)
class ItemSummary:
    """The merged limits of one type: bounds exact, defaults as written."""

    maximum: Mapping[str, Fraction] = field(default_factory=dict)
    minimum: Mapping[str, Fraction] = field(default_factory=dict)
    default_limits: Mapping[str, Any] = field(default_factory=dict)
    default_requests: Mapping[str, Any] = field(default_factory=dict)


class ContestedDefault(NamedTuple):
    """A default on which two LimitRanges disagree."""

    limit_type: str
    key: str
    resource: str

    def __str__(self) -> str:
        """Say it in the words of the LimitRange."""
        return f"{self.limit_type} {self.key} {self.resource}"


@dataclass(frozen=True, slots=True)
class LimitRangeSummary:
    """What holds for the containers and the pods of a namespace; None where no range speaks of them."""

    container: ItemSummary | None = None
    pod: ItemSummary | None = None
    contested: tuple[ContestedDefault, ...] = ()

    @classmethod
    def of(cls, limit_ranges: Iterable[Mapping[str, Any]]) -> Self:
        """Merge raw LimitRange objects of one namespace."""
        merge = _Merge()
        for raw in sorted(limit_ranges, key=lambda raw: str(raw["metadata"]["name"])):
            name = raw["metadata"]["name"]
            for index, item in enumerate((raw.get("spec") or {}).get("limits") or ()):
                try:
                    merge.include(item, f"spec.limits[{index}]")
                except FieldError as error:
                    raise InvalidObjectError("LimitRange", name, error) from None
        return cls(merge.summary(CONTAINER), merge.summary(POD), tuple(sorted(merge.contested)))


NO_LIMIT_RANGES: Final = LimitRangeSummary()


class _Merge:
    """Accumulates items by type: lowest max, highest min, first default."""

    def __init__(self) -> None:
        self.contested: set[ContestedDefault] = set()
        self._by_type: dict[str, ItemSummary] = {}

    def include(self, item: Mapping[str, Any], path: str) -> None:
        limit_type = item.get("type")
        if limit_type not in (CONTAINER, POD):
            return
        merged = self._by_type.get(limit_type, ItemSummary())
        maximum = _read(item, "max", path)
        minimum = _read(item, "min", path)
        self._by_type[limit_type] = ItemSummary(
            maximum={**merged.maximum, **{k: min(v, merged.maximum.get(k, v)) for k, v in maximum.items()}},
            minimum={**merged.minimum, **{k: max(v, merged.minimum.get(k, v)) for k, v in minimum.items()}},
            default_limits=self._keep_first(merged.default_limits, item, "default", path),
            default_requests=self._keep_first(merged.default_requests, item, "defaultRequest", path),
        )

    def summary(self, limit_type: str) -> ItemSummary | None:
        return self._by_type.get(limit_type)

    def _keep_first(self, first: Mapping[str, Any], item: Mapping[str, Any], key: str, path: str) -> dict[str, Any]:
        for resource, value in _read(item, key, path).items():
            if resource in first and parse_quantity(first[resource]) != value:
                self.contested.add(ContestedDefault(item["type"], key, resource))
        return {**(item.get(key) or {}), **first}


def _read(item: Mapping[str, Any], key: str, path: str) -> dict[str, Fraction]:
    return {resource: _quantity(raw, f"{path}.{key}[{resource}]") for resource, raw in (item.get(key) or {}).items()}


def _quantity(raw: object, path: str) -> Fraction:
    try:
        return parse_quantity(raw)
    except QuantityError as error:
        raise FieldError(path, str(error)) from None
