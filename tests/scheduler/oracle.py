"""The oracle: real kube-scheduler, one program per release, answering the lines of `turnstile predict-pods --batch`.

`python -m tests.scheduler.oracle` builds both and prints where they are.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.servers import is_continuous_integration
from tests.differential.oracle import ask
from tests.realbed.build import install_go
from tests.realbed.scheduler_build import RELEASES, pod_oracle
from tests.support.builders import Json

Oracles = dict[str, Path]


def build_oracles() -> Oracles:
    """Return the programs by release; raise `ToolchainError` where they cannot be built."""
    if is_continuous_integration():
        install_go()
    return {name: pod_oracle(release) for name, release in RELEASES.items()}


def ask_oracle(oracle: Path, scenarios: Iterable[Json], *, runs: int) -> list[Json]:
    """Return the answers of a release; each cycle is run so many times, in as many orders of nodes and pods."""
    return ask([oracle, "label", "-runs", str(runs)], scenarios)


if __name__ == "__main__":
    sys.stdout.writelines(f"{release} {path}\n" for release, path in build_oracles().items())
