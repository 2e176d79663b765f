"""How one version of Kueue decides: its feature gates, its rules, and how well they are known."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engine.versions.amounts import EXACT_AMOUNTS, Amounts, amounts_of
from engine.versions.gates import GateTable
from engine.versions.switches import REFERENCE, Switches
from engine.versions.version import KueueVersion

COMPARED: Final = tuple(map(KueueVersion.parse, ("v0.17.1", "v0.18.3", "v0.19.0", "v0.19.1", "v0.19.2")))
"""The versions whose decisions the engine is compared with."""
_OLDEST: Final = KueueVersion(0, 15, 0)
_NEWEST: Final = KueueVersion(0, 20, 0)
_MAX_PROFILES: Final = 64


@dataclass(frozen=True, slots=True)
class VersionProfile:
    """What is known of a version of Kueue."""

    version: KueueVersion
    gate_table: GateTable
    switches: Switches
    amounts: Amounts
    assumption: str | None = None
    """What is taken for granted in predictions for this version; None where they are exact."""
    is_named: bool = True
    """Whether the version is known; otherwise the reference stands in for it."""

    def __str__(self) -> str:
        """Return the version."""
        return str(self.version)


@lru_cache(maxsize=_MAX_PROFILES)
def profile_of(version: str | KueueVersion | None) -> VersionProfile:
    """Return the profile of a version, the reference where it is not known; raises `KueueVersionError`.

    There is one for every version. What it takes for granted is in its `assumption`.
    """
    if version is None:
        return REFERENCE_PROFILE
    known = KueueVersion.parse(version) if isinstance(version, str) else version
    is_compared = known in COMPARED
    rules = known if known.order >= _OLDEST.order else _OLDEST
    switches = Switches.of(rules)
    return VersionProfile(
        version=known,
        gate_table=GateTable.of(rules, is_complete=is_compared),
        switches=switches,
        amounts=amounts_of(switches),
        assumption=None if is_compared else _assumption(known),
    )


def _assumption(version: KueueVersion) -> str:
    if version.order < _OLDEST.order:
        return f"Kueue {version} is older than {_OLDEST}, the oldest version known here, whose rules are assumed"
    line = [each for each in COMPARED if (each.major, each.minor) == (version.major, version.minor)]
    if version.suffix:
        return f"Kueue {version} is not a release: the rules known of v{version.major}.{version.minor} are assumed"
    if not line:
        if (version.major, version.minor, version.patch or 0) > _NEWEST.order:
            return f"Kueue {version} is newer than {_NEWEST}, whose rules as released are assumed"
        return f"the rules of Kueue {version} are taken from its sources and release notes, not compared with it"
    if version.patch is None:
        return f"the patch of Kueue {version} is not known: the newest known rules of its line are assumed"
    if version.order > line[-1].order:
        return f"Kueue {version} is newer than {line[-1]}, the newest patch compared with it, whose rules are assumed"
    return f"Kueue {version} was not compared: its rules are those of {line[0]} with the known differences"


REFERENCE_PROFILE: Final = VersionProfile(
    REFERENCE, GateTable.of(REFERENCE, is_complete=False), Switches(), EXACT_AMOUNTS, is_named=False
)
"""Stands in where the version of Kueue is not known."""
