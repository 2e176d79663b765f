"""What tests of artefacts ask of the machine, root and Debian packages; where it is missing, the reason."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.conformance.servers import is_continuous_integration

ROOT = Path(__file__).resolve().parents[2]


def need(*packages: str, **programs: str) -> None:
    """Skip unless the programs are there; CI, as root on Debian, installs the packages that have them."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if not (missing := [name for name in programs.values() if shutil.which(name) is None]):
        return
    if not is_continuous_integration() or shutil.which("apt-get") is None:
        pytest.skip(f"{', '.join(missing)}: not installed; on Debian: apt-get install {' '.join(packages)}")
    with (Path(tempfile.gettempdir()) / "turnstile-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of this run may need the same
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            done = subprocess.run(
                ["apt-get", "--quiet", *command], env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                pytest.skip(f"apt-get {command[0]} fails here: {(done.stderr or done.stdout).strip()[-300:]}")


def checked(*command: str | Path, **variables: str) -> str:
    """Run a command that must succeed; return what it prints."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout
