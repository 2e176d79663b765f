"""The oracle: real Kueue, built from tests/realbed/oracle, answering the same lines as `turnstile predict --batch`.

`python -m tests.differential.oracle` builds it and prints where it is.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.conformance.servers import is_continuous_integration
from tests.differential.catalogue import Json
from tests.realbed.build import Binary, ensure_built, install_go

_SOURCES = Path(__file__).parents[1] / "realbed" / "oracle"


def build_oracle() -> Path:
    """Return the oracle's binary; raise `ToolchainError` where it cannot be built."""
    if is_continuous_integration():
        install_go()
    return ensure_built(_binary())


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
    sys.stdout.write(f"{build_oracle()}\n")
