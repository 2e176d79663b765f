"""What a pod set asks of a topology: `spec.podSets[].topologyRequest` as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from engine.vocabulary.errors import FieldError

_SIZES: Final = range(2**31)


class SliceLayer(NamedTuple):
    """Pods that must be together in one domain of a level, and how many."""

    level: str
    size: int


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """One `topologyRequest`; all empty where a pod set has none."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    layers: tuple[SliceLayer, ...] = ()
    has_slice_size: bool = False
    group: str | None = None

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any] | None, path: str) -> Self:
        """Read a raw topologyRequest found at `path`."""
        if not raw:
            return cls()
        unconstrained = raw.get("unconstrained")
        if unconstrained is not None and not isinstance(unconstrained, bool):
            raise FieldError.not_allowed(f"{path}.unconstrained", unconstrained, ("true", "false"))
        return cls(
            required=_text(raw, "required", path),
            preferred=_text(raw, "preferred", path),
            unconstrained=unconstrained,
            layers=_layers(raw, path),
            has_slice_size=raw.get("podSetSliceSize") is not None,
            group=_text(raw, "podSetGroupName", path),
        )

    @property
    def is_explicit(self) -> bool:
        """Return whether it asks for a topology at all; labels of indexes and groups alone do not."""
        return (
            self.required is not None
            or self.preferred is not None
            or self.unconstrained is not None
            or bool(self.layers)
            or self.has_slice_size
        )

    @property
    def is_slice_only(self) -> bool:
        """Return whether nothing but slices is asked for."""
        return bool(self.layers) and self.required is None and self.preferred is None

    def key(self, levels: tuple[str, ...], *, is_implied: bool) -> str | None:
        """Return the level that the pods ask for; None if the request names none."""
        if self.required is not None:
            return self.required
        if self.preferred is not None:
            return self.preferred
        if self.is_slice_only:
            return levels[0]
        return levels[-1] if self.unconstrained or is_implied else None

    def is_served_by(self, levels: tuple[str, ...]) -> bool:
        """Return whether a topology has every level that is asked for."""
        key = self.key(levels, is_implied=False)
        return key in levels and all(layer.level in levels for layer in self.layers)


NO_REQUEST: Final = TopologyRequest()


def _layers(raw: Mapping[str, Any], path: str) -> tuple[SliceLayer, ...]:
    constraints = raw.get("podsetSliceRequiredTopologyConstraints")
    if constraints:
        where = f"{path}.podsetSliceRequiredTopologyConstraints"
        if not isinstance(constraints, list) or not all(isinstance(each, dict) for each in constraints):
            raise FieldError(where, "must be a list of layers, each with a topology and a size")
        return tuple(
            SliceLayer(_text(each, "topology", f"{where}[{index}]") or "", _size(each, "size", f"{where}[{index}]"))
            for index, each in enumerate(constraints)
        )
    level = _text(raw, "podSetSliceRequiredTopology", path)
    _size(raw, "podSetSliceSize", path)
    return () if level is None else (SliceLayer(level, _size(raw, "podSetSliceSize", path)),)


def _text(raw: Mapping[str, Any], key: str, path: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise FieldError(f"{path}.{key}", f"{value!r} is not allowed: must be text")
    return value


def _size(raw: Mapping[str, Any], key: str, path: str) -> int:
    value = raw.get(key)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value not in _SIZES:
        raise FieldError(f"{path}.{key}", f"{value!r} is not allowed: must be a whole number from 0 to {_SIZES[-1]}")
    return value
