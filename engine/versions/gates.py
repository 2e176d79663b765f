"""The feature gates of one version of Kueue: which there are, and what a Configuration makes of them."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from engine.versions.gate_history import GATE_HISTORY
from engine.versions.version import KueueVersion, value_at
from engine.vocabulary.features import GATE_NAMES, FeatureGateError, FeatureGates

_ABSENT: Final = "-"
_GROUPS: Final[Mapping[str, str]] = {"AllAlpha": "a", "AllBeta": "b"}
"""Names that set all gates of a stage which are not named themselves."""
_OWN: Final = frozenset({"PreemptionCost", "TimeBasedSamePriorityPreemption"})
"""Turnstile's own gates, which no Kueue has."""
_RENAMED: Final[Mapping[str, str]] = {
    "DynamicResourceAllocation": "KueueDRAIntegration",
    "DRAExtendedResources": "KueueDRAIntegrationExtendedResource",
}
_BOOLEANS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "True", "TRUE", "t", "T", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "f", "F", "0"), False),
}


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The gates of a Kueue as they are set."""

    gates: FeatureGates
    named: Mapping[str, bool]
    """Those that the Configuration sets itself; the others have the default of their version."""
    unknown: tuple[str, ...] = ()
    """Named, but not gates of this version as far as it is known."""


@dataclass(frozen=True, slots=True)
class GateTable:
    """The gates of one version, each with its stage (see `gate_history`)."""

    stages: Mapping[str, str]
    is_complete: bool
    """Whether a name that is not here is not a gate of this version."""

    @classmethod
    def of(cls, version: KueueVersion, *, is_complete: bool) -> "GateTable":
        """Return the gates of a version."""
        found = ((name, value_at(history, version) or _ABSENT) for name, history in GATE_HISTORY.items())
        return cls({name: stage for name, stage in found if stage != _ABSENT}, is_complete)

    def settings(self, given: Mapping[str, object]) -> GateSettings:
        """Return the defaults with the named gates (name → boolean) on top; raises `FeatureGateError`.

        A name that this version does not have is no error: Kueue itself would not have started with a wrong one, so a
        name in its Configuration is the gate of another version, and is reported.
        """
        named = dict(self._named(_checked(given)))
        unknown = tuple(name for name in named if not self._knows(name))
        heeded = {name: on for name, on in named.items() if name not in unknown or not self.is_complete}
        return GateSettings(self._resolved(heeded), named, unknown)

    def _knows(self, name: str) -> bool:
        return name in self.stages or name in _OWN

    def _named(self, given: Mapping[str, bool]) -> Iterator[tuple[str, bool]]:
        for group, stage in _GROUPS.items():
            if group in given:
                yield from ((name, given[group]) for name, known in self.stages.items() if known.startswith(stage))
        yield from ((name, on) for name, on in given.items() if name not in _GROUPS)

    def _resolved(self, named: Mapping[str, bool]) -> FeatureGates:
        values = dict.fromkeys(GATE_NAMES, False)
        values |= {name: stage in ("G", "a1", "b1") for name, stage in self.stages.items()}
        values |= {name: on for name, on in named.items() if self.stages.get(name) != "G"}
        for old, new in _RENAMED.items():
            if old in self.stages and new not in self.stages:
                values[new] = values[old]
        return FeatureGates.from_mapping(values)


def parse_feature_gates(text: str) -> dict[str, object]:
    """Read `A=true,B=false`, the syntax of Kubernetes' --feature-gates; a name of no version is refused."""
    gates: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        enabled = _BOOLEANS.get(value)
        if not equals or enabled is None:
            raise FeatureGateError(f"feature gates: {part!r} is not allowed: must be NAME=true or NAME=false")
        if name not in GATE_HISTORY and name not in _OWN and name not in _GROUPS:
            raise FeatureGateError(_unknown_gate(name))
        gates[name] = enabled
    return gates


def _checked(given: Mapping[str, object]) -> dict[str, bool]:
    for name, enabled in given.items():
        if not isinstance(enabled, bool):
            raise FeatureGateError(f"feature gate {name}: {enabled!r} is not allowed: true, false")
    return {str(name): enabled for name, enabled in given.items() if isinstance(enabled, bool)}


def hint_for(name: str) -> str:
    """Return which gate may be meant by a name that is none, as the rest of a sentence; empty if none is like it."""
    if name in GATE_HISTORY:
        return ""
    close = difflib.get_close_matches(name, (*GATE_HISTORY, *_OWN), n=1)
    return f", did you mean {close[0]}?" if close else ""


def _unknown_gate(name: str) -> str:
    return f"unknown feature gate {name!r}{hint_for(name) or '.'} Known: {', '.join(sorted(GATE_NAMES))}"
