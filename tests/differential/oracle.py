"""The oracle: real Kueue, built from tests/realbed/oracle, answering the same lines as `turnstile predict --batch`.

`python -m tests.differential.oracle [VERSION]` builds it and prints where it is.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tests.conformance.servers import is_continuous_integration
from tests.differential.catalogue import Json
from tests.realbed.build import KUEUE_VERSION, Binary, ensure_built, install_go

_SOURCES = Path(__file__).parents[1] / "realbed" / "oracle"


_TAGS = {"v0.17.1": "kueue_0_17", "v0.18.3": "kueue_0_18", "v0.19.0": "kueue_0_19_0", "v0.19.2": ""}
OTHER_VERSIONS = tuple(_TAGS)
"""The releases besides that of go.mod for which there is an oracle."""


def build_oracle(version: str = KUEUE_VERSION) -> Path:
    """Return the oracle's binary; raise `ToolchainError` where it cannot be built."""
    if is_continuous_integration():
        install_go()
    if version == KUEUE_VERSION:
        return ensure_built(_binary())
    return ensure_built(replace(_binary(), module_file=f"kueue-{version}.mod", tags=_TAGS[version]))


def gates_of(oracle: Path) -> dict[str, Json]:
    """Return the feature gates of the Kueue in an oracle, each with its stage and whether it is on by default."""
    (answer,) = ask([oracle, "gates"], [{"name": "gates"}])
    found: dict[str, Json] = answer["expect"]
    return found


def for_release(scenario: Json, version: str, gates: dict[str, Json]) -> Json:
    """Ask a release, and leave out the gates that it does not have: it would not start with them."""
    named = {name: on for name, on in (scenario.get("featureGates") or {}).items() if name in gates}
    return {**scenario, "kueueVersion": version, "featureGates": named}


def _binary() -> Binary:
    digest = hashlib.sha256()
    for source in sorted(_SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    # The stamp makes the sources part of what decides the binary, and so part of its name in the cache.
    return Binary("oracle", "./oracle", f"-X main.sourceDigest={digest.hexdigest()[:16]}")


def ask(command: list[str | Path], scenarios: Iterable[Json]) -> list[Json]:
    """Return one answer per scenario from a program that speaks the line protocol."""
    lines = [json.dumps(scenario, separators=(",", ":")) for scenario in scenarios]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(lines):
        reason = done.stderr.strip()[-2000:]
        raise AssertionError(
            f"{command} answered {len(answers)} of {len(lines)} lines, status {done.returncode}: {reason}"
        )
    return answers


if __name__ == "__main__":
    sys.stdout.write(f"{build_oracle(*sys.argv[1:2])}\n")
