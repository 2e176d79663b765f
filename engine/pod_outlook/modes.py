"""Whose rules a worker's scheduler follows, by its version."""

import re
from typing import Final

from engine.pods.values.values import SchedulerMode

_RELEASE: Final = re.compile(r"v?(\d+)\.(\d+)(\D|$)")
_KNOWN: Final = {"1.36": SchedulerMode.V1_36, "1.37": SchedulerMode.V1_37}


def mode_of(version: str) -> SchedulerMode | None:
    """Return the rules of a release such as `v1.36.3`, None for one whose rules are not known."""
    found = _RELEASE.match(version)
    return _KNOWN.get(f"{found[1]}.{found[2]}") if found is not None else None


def unknown_release(version: str) -> str:
    """Say that there is no outlook for a release."""
    return f"scheduler version {version}: the rules of {' and '.join(_KNOWN)} are known (podForecastMode overrides)"
