"""The shipped unit: systemd accepts it, it is hardened, and its paths are those of the shipped configuration."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.loading.loading import load_configuration

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "systemd" / "turnstile.service"
CONFIGURATION = UNIT.with_name("turnstile.yaml")
CREDENTIALS = Path("/run/credentials") / UNIT.name
LARGEST_EXPOSURE = 20
"""In tenths, as systemd counts in its thresholds."""

with_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def settings(section: str) -> dict[str, list[str]]:
    """Return the values of a section, several per key."""
    found: dict[str, list[str]] = {}
    inside = ""
    for line in UNIT.read_text().splitlines():
        if line.startswith("["):
            inside = line.strip("[]")
        elif "=" in line and not line.startswith("#") and inside == section:
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["systemd-analyze", "--no-pager", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@with_systemd
def test_systemd_has_nothing_to_say_about_it(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("turnstile")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/turnstile/bin/turnstile", str(program)))
    done = analyze("verify", unit)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@with_systemd
def test_its_exposure_is_at_most_two() -> None:
    done = analyze("security", "--offline=true", f"--threshold={LARGEST_EXPOSURE}", UNIT)
    assert done.returncode == 0, done.stdout + done.stderr


@with_systemd
def test_a_softer_unit_is_found_out(tmp_path: Path) -> None:
    """The threshold can fail: without the lines that confine the process it does."""
    softer = tmp_path / UNIT.name
    softer.write_text(
        re.sub(r"^(Protect|Private|Restrict|SystemCall|Capability).*\n", "", UNIT.read_text(), flags=re.MULTILINE)
    )
    assert analyze("security", "--offline=true", f"--threshold={LARGEST_EXPOSURE}", softer).returncode != 0


@with_systemd
def test_the_exposure_in_the_docs_is_the_measured_one() -> None:
    measured = re.search(r"Overall exposure level for \S+: (\S+)", analyze("security", "--offline=true", UNIT).stdout)
    stated = re.search(r"Overall exposure level for turnstile.service: (\S+)", (ROOT / "docs/install.md").read_text())
    assert measured is not None
    assert stated is not None
    assert float(measured[1]) <= float(stated[1]), "a newer systemd may know more, and count less"


def test_the_shipped_configuration_is_valid_and_reads_what_the_unit_loads() -> None:
    loaded = load_configuration(CONFIGURATION, {}).configuration
    credentials = dict(each.split(":", 1) for each in settings("Service")["LoadCredential"])
    assert loaded.hub.kubeconfig == CREDENTIALS / "hub"
    assert loaded.kubeconfig_policy.allowed_directories == (CREDENTIALS,)
    assert loaded.workers == (), "they are the hub's, until one is listed as its comment says"
    assert f"{CREDENTIALS}/worker_NAME" in CONFIGURATION.read_text()
    assert credentials == {"hub": "/etc/turnstile/hub.kubeconfig", "worker": "/etc/turnstile/workers"}


def test_what_it_writes_is_where_the_unit_lets_it_write() -> None:
    loaded = load_configuration(CONFIGURATION, {}).configuration
    (state,) = settings("Service")["StateDirectory"]
    assert loaded.journal.path is not None
    assert loaded.journal.path.is_relative_to(Path("/var/lib") / state)
    (run,) = settings("Service")["RuntimeDirectory"]
    assert loaded.api.socket is not None
    assert loaded.api.socket.is_relative_to(Path("/run") / run)


def test_its_command_is_one_that_turnstile_knows() -> None:
    (command,) = settings("Service")["ExecStart"]
    program, *arguments = command.split()
    assert Path(program).name == "turnstile"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "manager", *arguments[:1], "--help"], capture_output=True, text=True, check=True
    )
    assert all(option in done.stdout for option in arguments if option.startswith("--"))
