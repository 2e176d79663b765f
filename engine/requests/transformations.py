"""Kueue's `Configuration.resources`: which requested resources count, and as what.

Applies excluded prefixes and resource transformations to the exact request of one pod. Invariant: what transformations
generate never reduces what the pod itself asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, Self

from engine.requests.pod_resources import quantities, read_resource_list
from engine.vocabulary.errors import FieldError


class TransformationStrategy(StrEnum):
    """What becomes of the input of a transformation."""

    RETAIN = "Retain"
    REPLACE = "Replace"


@dataclass(frozen=True, slots=True)
class Transformation:
    """How one requested resource becomes others."""

    outputs: Mapping[str, Fraction]
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class ResourceRules:
    """The part of a Kueue configuration that rewrites requests."""

    exclude_prefixes: tuple[str, ...] = ()
    transformations: Mapping[str, Transformation] = field(default_factory=dict)

    @classmethod
    def from_raw(cls, resources: Mapping[str, Any] | None) -> Self:
        """Read `resources` of a raw Kueue Configuration."""
        if not resources:
            return cls()
        prefixes = resources.get("excludeResourcePrefixes") or ()
        return cls(tuple(prefixes), _read_transformations(resources.get("transformations") or ()))

    @property
    def change_nothing(self) -> bool:
        """Return whether every request counts as it is."""
        return not self.exclude_prefixes and not self.transformations

    def apply(self, requests: dict[str, Fraction]) -> dict[str, Fraction]:
        """Return the requests that count against quota."""
        if self.exclude_prefixes:
            requests = {name: value for name, value in requests.items() if not name.startswith(self.exclude_prefixes)}
        if self.transformations.keys().isdisjoint(requests):
            return requests
        return self._transform(requests)

    def _transform(self, requests: Mapping[str, Fraction]) -> dict[str, Fraction]:
        retained: dict[str, Fraction] = {}
        generated: dict[str, Fraction] = {}
        for name, value in requests.items():
            transformation = self.transformations.get(name)
            if transformation is None or transformation.strategy is TransformationStrategy.RETAIN:
                retained[name] = value
            if transformation is None:
                continue
            multiplied = value * requests.get(transformation.multiply_by, 1)
            for output, factor in transformation.outputs.items():
                generated[output] = generated.get(output, Fraction(0)) + multiplied * factor
        for output, value in generated.items():
            retained[output] = retained.get(output, Fraction(0)) + max(value, Fraction(0))
        return retained


NO_RULES: Final = ResourceRules()


def _read_transformations(raw: Sequence[Mapping[str, Any]]) -> dict[str, Transformation]:
    transformations: dict[str, Transformation] = {}
    for index, entry in enumerate(raw):
        path = f"resources.transformations[{index}]"
        strategy = entry.get("strategy") or TransformationStrategy.RETAIN
        if strategy not in tuple(TransformationStrategy):
            raise FieldError.not_allowed(f"{path}.strategy", strategy, tuple(TransformationStrategy))
        name = entry.get("input")
        if not name:
            raise FieldError(f"{path}.input", "must name a resource")
        if name in transformations:
            raise FieldError(f"{path}.input", f'"{name}" is transformed already: one transformation per resource')
        transformations[name] = Transformation(
            outputs=quantities(read_resource_list(entry.get("outputs"), f"{path}.outputs")),
            strategy=TransformationStrategy(strategy),
            multiply_by=entry.get("multiplyBy") or "",
        )
    return transformations
