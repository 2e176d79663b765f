"""Which levels of a topology a pod set is about: what it must stay within, what its slices must stay within."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from engine.topology.request import TopologyRequest


class LevelError(ValueError):
    """The request does not go with the levels of the topology; the text is Kueue's."""


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The levels of one request in one topology, as indexes."""

    level: int
    """Where the search for a domain starts."""
    slice_level: int
    slice_size: int
    inner: tuple[tuple[int, int], ...]
    """For each level below the slices on which pods stay together in smaller slices, their size."""
    layers: tuple[tuple[int, int], ...]
    """Level and size of every layer of slices, outermost first; empty with one layer or none."""
    is_required: bool
    is_unconstrained: bool

    @property
    def inner_sizes(self) -> Mapping[int, int]:
        """The size of the smaller slices by level."""
        return dict(self.inner)


def plan_levels(request: TopologyRequest, levels: tuple[str, ...], *, is_implied: bool) -> LevelPlan:
    """Find the levels of a request; raises `LevelError` where it does not go with the topology."""
    layers = request.layers
    size = layers[0].size if layers else 1
    if size <= 0:
        raise LevelError("slice topology requested, but slice size not provided")
    key = request.key(levels, is_implied=is_implied)
    if key is None:
        raise LevelError("topology level not specified")
    level = _index(levels, key, "no requested topology level")
    slice_key = layers[0].level if layers else levels[-1]
    slice_level = _index(levels, slice_key, "no requested topology level for slices")
    if level > slice_level:
        raise LevelError(f"podset slice topology {slice_key} is above the podset topology {key}")
    inner: dict[int, int] = {}
    placed = [(slice_level, size)]
    for outer, layer in pairwise(layers):
        below = _index(levels, layer.level, "no requested topology level for additional slice layer")
        previous, previous_size = placed[-1]
        if below <= previous:
            raise LevelError(
                f"additional slice layer topology {layer.level} must be at a lower level than {outer.level}"
            )
        if layer.size <= 0 or previous_size % layer.size:
            raise LevelError(
                f"additional slice layer size {layer.size} must evenly divide parent layer size {previous_size}"
            )
        inner.update(dict.fromkeys(range(previous + 1, below + 1), layer.size))
        placed.append((below, layer.size))
    return LevelPlan(
        level=level,
        slice_level=slice_level,
        slice_size=size,
        inner=tuple(inner.items()),
        layers=tuple(placed) if len(placed) > 1 else (),
        is_required=request.required is not None,
        is_unconstrained=bool(request.unconstrained) or is_implied or request.is_slice_only,
    )


def _index(levels: tuple[str, ...], key: str, problem: str) -> int:
    if key not in levels:
        raise LevelError(f"{problem}: {key}")
    return levels.index(key)
