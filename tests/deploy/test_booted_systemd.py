"""The unit on a booted systemd, by the commands of docs/install.md: start, reload, watchdog, credentials, stop."""

import asyncio
import os
import re
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.booted import Booted, boot
from tests.deploy.machine import ROOT, checked, need
from tests.e2e.clusters import run_local
from tests.e2e.scene import Scene

PYTHON = Path("/usr/bin/python3")
PROGRAM = Path("/opt/turnstile")
SOURCES = Path("/srv")
UNIT = "turnstile"

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what /opt/turnstile holds: the wheel and the locked dependencies, for the system's Python."""
    need("python3", python="python3")
    if not PYTHON.exists() or checked(PYTHON, "-c", "import sys; print(sys.version_info >= (3, 11))") != "True\n":
        pytest.skip(f"{PYTHON} is not Python 3.11 or newer, and another one is not within /usr")
    folder = tmp_path_factory.mktemp("program")
    uv = Path(sys.executable).with_name("uv")
    environment = folder / "turnstile"
    checked(uv, "venv", "--quiet", "--relocatable", "--python", PYTHON, environment)
    install = (uv, "pip", "install", "--quiet", "--python", environment / "bin/python")
    checked(*install, "--require-hashes", "-r", ROOT / "requirements/runtime.txt")
    checked(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    checked(*install, "--no-deps", *folder.glob("*.whl"))
    return environment


def documented() -> list[str]:
    """Return the commands of docs/install.md that set the service up, once the program is there."""
    section = (ROOT / "docs/install.md").read_text().partition("## As a system service")[2]
    commands = re.findall(
        r"^# (.*?)(?:  +# .*)?$", section.partition("The kubeconfigs belong to root.")[0], re.MULTILINE
    )
    installs = [each for each in commands if not re.search(r"venv|/pip ", each)]
    assert installs[0].startswith("ln -s /opt/turnstile/bin/turnstile")
    assert installs[-2] == "systemctl daemon-reload && systemctl enable --now turnstile"
    return installs[:-1]


async def test_the_service_lives_as_documented(program: Path, tmp_path: Path) -> None:
    async with run_local(tmp_path / "clusters") as clusters:
        scene = Scene(f"t-{secrets.token_hex(4)}", clusters, tmp_path)
        await scene.build()
        (tmp_path / "hub.kubeconfig").write_text(scene.hub.kubeconfig())
        await asyncio.to_thread(live, program, tmp_path, scene.controller_name, asyncio.get_running_loop(), scene)
        await scene.tear_down()


def live(program: Path, directory: Path, controller: str, loop: asyncio.AbstractEventLoop, scene: Scene) -> None:
    with boot(
        directory, {ROOT / "deploy": SOURCES / "deploy", directory: SOURCES / "given", program: PROGRAM}
    ) as machine:
        install(machine, controller)
        asyncio.run_coroutine_threadsafe(admitted(scene), loop).result(120)
        assert machine.checked("systemctl", "is-active", UNIT) == "active\n"
        assert machine.show(UNIT, "StatusText") == "Acting"
        assert credentials_are_copies_for_the_service_alone(machine)
        assert machine.checked(PROGRAM / "bin/turnstile", "status", "workers", "-o", "name").split() != []
        reload_reports_what_it_refuses(machine)
        a_hung_daemon_is_replaced(machine)
        a_wrong_configuration_is_not_tried_again(machine)
        machine.checked("systemctl", "stop", UNIT)
        assert machine.show(UNIT, "Result") == "success"
        assert machine.run("ls", "/run/turnstile").returncode != 0
        assert "journal.db" in machine.checked("ls", "/var/lib/private/turnstile").split(), "it stays"


async def admitted(scene: Scene) -> None:
    await scene.until_active()
    await scene.submit("first")
    await scene.until_won("first")


def install(machine: Booted, controller: str) -> None:
    machine.checked("cp", SOURCES / "given" / "hub.kubeconfig", "/root/hub.kubeconfig")
    machine.checked("ln", "-s", SOURCES / "deploy", "/root/deploy")
    for command in documented():
        if "/usr/local/bin" in command:
            continue  # /usr is this machine's and read-only
        if "enable --now" in command:
            # What is this test's own: the name of the check's controller, and a watchdog that needs no half minute.
            own = f"s,^hub:,hub:\\n  controllerName: {controller},"
            machine.checked("sed", "-i", own, "/etc/turnstile/turnstile.yaml")
            machine.checked("sed", "-i", "s/^WatchdogSec=.*/WatchdogSec=5s/", "/etc/systemd/system/turnstile.service")
        machine.checked("sh", "-c", f"cd /root && {command}")


def credentials_are_copies_for_the_service_alone(machine: Booted) -> bool:
    listed = machine.checked("stat", "--format=%a %n", "/run/credentials/turnstile.service/hub").split()
    process = Path(f"/proc/{outer_pid(machine)}")
    status = dict(re.findall(r"^(\w+):\t(.*)$", (process / "status").read_text(), re.MULTILINE))
    assert status["CapEff"] == "0" * 16
    assert int(status["Uid"].split()[0]) != 0
    return listed == ["400", "/run/credentials/turnstile.service/hub"]


def outer_pid(machine: Booted) -> int:
    """Return the daemon's process id on this machine."""
    inner = machine.show(UNIT, "MainPID")
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            numbers = re.search(r"^NSpid:\t(.*)$", status.read_text(), re.MULTILINE)
        except OSError:
            continue
        if numbers is not None and numbers[1].split()[1:] == [inner]:
            command = (status.parent / "cmdline").read_bytes()
            if b"turnstile" in command:
                return int(status.parent.name)
    raise AssertionError(f"no process {inner} in the container")


def reload_reports_what_it_refuses(machine: Booted) -> None:
    before = machine.show(UNIT, "MainPID")
    machine.checked("systemctl", "reload", UNIT)
    eventually(lambda: "configuration.reloaded" in machine.log(), machine)
    machine.checked("cp", "/etc/turnstile/turnstile.yaml", "/etc/turnstile/good.yaml")
    machine.checked("sh", "-c", "echo 'nonsense: 1' >> /etc/turnstile/turnstile.yaml")
    machine.checked("systemctl", "reload", UNIT)
    eventually(lambda: "configuration.refused" in machine.log(), machine)
    machine.checked("cp", "/etc/turnstile/good.yaml", "/etc/turnstile/turnstile.yaml")
    assert machine.show(UNIT, "MainPID") == before


def a_hung_daemon_is_replaced(machine: Booted) -> None:
    before = machine.show(UNIT, "MainPID")
    os.kill(outer_pid(machine), signal.SIGSTOP)
    eventually(lambda: machine.show(UNIT, "MainPID") not in (before, "0"), machine, seconds=60)
    eventually(lambda: machine.show(UNIT, "ActiveState") == "active", machine, seconds=60)
    assert machine.show(UNIT, "NRestarts") == "1"


def a_wrong_configuration_is_not_tried_again(machine: Booted) -> None:
    machine.checked("sh", "-c", "echo 'nonsense: 1' >> /etc/turnstile/turnstile.yaml")
    assert machine.run("systemctl", "restart", UNIT).returncode != 0
    assert machine.show(UNIT, "ExecMainStatus") == "2"
    assert machine.show(UNIT, "ActiveState") == "failed"
    machine.checked("cp", "/etc/turnstile/good.yaml", "/etc/turnstile/turnstile.yaml")
    machine.checked("systemctl", "restart", UNIT)


def eventually(is_so: Callable[[], bool], machine: Booted, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, machine.log()
        time.sleep(0.2)
