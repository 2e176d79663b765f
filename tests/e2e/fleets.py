"""Which release of Kueue each real cluster of the suite runs: `E2E_FLEET` names one of these fleets.

`python -m tests.e2e.fleets` prints their names.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final

ONE_RELEASE: Final = "one-release"
VARIABLE: Final = "E2E_FLEET"

FLEETS: Final[Mapping[str, Mapping[str, str]]] = {
    ONE_RELEASE: {},
    "old-workers": {"hub": "v0.19.2", "worker-1": "v0.17.1", "worker-2": "v0.18.3"},
    "new-workers": {"hub": "v0.17.1", "worker-1": "v0.19.2", "worker-2": "v0.18.3"},
    "mixed-workers": {"hub": "v0.18.3", "worker-1": "v0.18.3", "worker-2": "v0.19.2"},
    "latest": {"hub": "v0.19.2", "worker-1": "v0.19.2", "worker-2": "v0.19.2"},
}
"""Clusters that a fleet does not name run the release of the bed's go.mod."""


def chosen_releases(environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the releases of the fleet that the environment names."""
    name = environment.get(VARIABLE) or ONE_RELEASE
    if name not in FLEETS:
        raise ValueError(f"{VARIABLE}={name!r} is not allowed: {', '.join(FLEETS)}")
    return FLEETS[name]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for name in FLEETS))
