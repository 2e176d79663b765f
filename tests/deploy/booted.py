"""A booted systemd: a container of systemd-nspawn that has this machine's /usr and network, and nothing else of it.

No distribution is downloaded: the rest of the root file system is empty and in memory, as on a first boot.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.machine import need

_BOOT_SECONDS = 120.0
_NAMESPACES = ("--mount", "--uts", "--ipc", "--pid", "--cgroup")
_START = """\
set -e
if [ "$(stat --file-system --format %T /sys/fs/cgroup)" != cgroup2fs ]; then
  umount --recursive /sys/fs/cgroup
  mount -t cgroup2 none /sys/fs/cgroup
fi
exec systemd-nspawn --quiet --register=no --keep-unit --volatile=yes --directory=/ --console=pipe "$@" --boot
"""
"""In a mount namespace of its own, for machines whose control groups are of the first version."""


@dataclass(frozen=True, slots=True)
class Booted:
    """A machine whose first process is systemd."""

    leader: int

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command there and return the outcome, whatever it is."""
        enter = ["nsenter", "--target", str(self.leader), *_NAMESPACES, "--wd=/"]
        environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS": "0"}
        return subprocess.run(
            [*enter, *map(str, command)], env=environment, capture_output=True, text=True, check=False, timeout=180
        )

    def checked(self, *command: str | Path) -> str:
        """Run a command that must succeed; return what it prints."""
        done = self.run(*command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}\n{self.log()}"
        return done.stdout

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.checked("systemctl", "show", unit, f"--property={name}", "--value").strip()

    def log(self) -> str:
        """Return what the journal has of the unit."""
        return self.run("journalctl", "--no-pager", "--unit=turnstile", "--lines=60", "--output=cat").stdout


@contextmanager
def boot(directory: Path, read_only: Mapping[Path, Path]) -> Iterator[Booted]:
    """Boot, with directories of this machine at other places; say why where that cannot be done."""
    need("systemd", "systemd-container", nspawn="systemd-nspawn", systemd="systemctl", nsenter="nsenter")
    if not Path("/bin").is_symlink():
        pytest.skip("systemd-nspawn --volatile needs a merged /usr")
    given = [f"--machine=turnstile-{os.getpid()}", *(f"--bind-ro={here}:{there}" for here, there in read_only.items())]
    log = directory / "nspawn.log"
    with log.open("w") as output:
        started = subprocess.Popen(
            ["unshare", "--mount", "bash", "-c", _START, "boot", *given],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        leader = _leader(started, log)
        booted = Booted(leader)
        until = time.monotonic() + _BOOT_SECONDS
        while booted.run("systemctl", "is-system-running", "--wait").stdout.strip() not in ("running", "degraded"):
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        yield booted
    finally:
        started.terminate()
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait(30)


def _leader(started: subprocess.Popen[bytes], log: Path) -> int:
    """Return the process id of the container's first process; skip if this machine lets none be made."""
    until = time.monotonic() + _BOOT_SECONDS
    while time.monotonic() < until:
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        found = children.read_text().split() if children.exists() else []
        for child in found:
            if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return int(child)
        if started.poll() is not None:
            pytest.skip(f"systemd-nspawn cannot boot here: {log.read_text().strip()[-300:]}")
        time.sleep(0.1)
    sys.stderr.write(log.read_text())
    pytest.fail("nothing was booted in time")
