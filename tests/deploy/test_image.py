"""The image, built on a base of Debian packages and run as docs/install.md says: read-only, without root.

It runs against local clusters, dispatches a job that has to preempt, and stops cleanly.
"""

import asyncio
import hashlib
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.machine import ROOT, checked, need
from tests.e2e.clusters import run_local
from tests.e2e.daemon import Turnstile
from tests.e2e.scene import Scene
from tests.realbed.ports import free_ports

LARGEST = 200_000_000
USER = 65532
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
SYSTEM_CA = Path("/etc/ssl/certs/ca-certificates.crt")
WITHOUT_CGROUPS_2 = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"""
"""For machines that are containers themselves: no systemd, control groups of the first version, few rights."""

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make `podman` usable, or say why it is not."""
    need("podman", "runc", "mmdebstrap", podman="podman", runc="runc", mmdebstrap="mmdebstrap")
    with pytest.MonkeyPatch.context() as patch:
        if not Path("/run/systemd/system").exists() and "CONTAINERS_CONF" not in os.environ:
            conf = tmp_path_factory.mktemp("podman") / "containers.conf"
            conf.write_text(WITHOUT_CGROUPS_2)
            patch.setenv("CONTAINERS_CONF", str(conf))
            patch.setenv("BUILDAH_ISOLATION", "chroot")
        done = subprocess.run(["podman", "info"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"podman does not work here: {done.stderr.strip()[-300:]}")
        yield


@pytest.fixture(scope="module")
def image(podman: None) -> str:
    """Build the image the way a company does that has its own index and authority, with nothing from a registry."""
    recipe = (ROOT / "deploy/container/base.sh").read_bytes()
    base = f"localhost/turnstile-base:{hashlib.sha256(recipe).hexdigest()[:12]}"
    if subprocess.run(["podman", "image", "exists", base], check=False).returncode != 0:
        checked(ROOT / "deploy/container/base.sh", base)
    given = {"BASE": base, "BUILD_BASE": base, "IMAGE": "localhost/turnstile-test", "TAG": "test"}
    files = {"CA_FILE": SYSTEM_CA, "PIP_CONF": Path("/etc/pip.conf")}
    given |= {name: str(path) for name, path in files.items() if path.exists()}
    proxied = {name: os.environ[name] for name in ("PIP_INDEX_URL",) if name in os.environ}
    with_docker_hidden = os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if not (Path(part) / "docker").exists()
    )
    path = with_docker_hidden if shutil.which("podman", path=with_docker_hidden) else os.environ["PATH"]
    checked(ROOT / "deploy/container/build.sh", "--network", "host", PATH=path, **given, **proxied)
    return "localhost/turnstile-test:test"


def run(image: str, *arguments: str, entrypoint: str = "turnstile", user: str = str(USER)) -> str:
    options = ("--rm", "--network", "none", "--no-healthcheck", "--user", user, "--entrypoint", entrypoint, *HARDENED)
    return checked("podman", "run", *options, image, *arguments)


class ContainerTurnstile(Turnstile):
    """`turnstile run` in a container, on the machine's network."""

    def __init__(self, image: str, directory: Path, hub_kubeconfig: str, sections: dict[str, Any]) -> None:
        super().__init__(directory, hub_kubeconfig, sections)
        self.name = f"turnstile-{secrets.token_hex(4)}"
        self._image = image
        self._directory = directory
        os.chown(directory / "hub.kubeconfig", USER, USER)
        directory.chmod(0o755)

    async def start(self) -> None:
        mounts = ("--tmpfs", "/tmp", "--tmpfs", "/run/turnstile:U", "--volume", f"{self.name}:/var/lib/turnstile:U")  # noqa: S108
        config = ("--volume", f"{self._directory}:{self._directory}:ro")
        named = ("--rm", "--name", self.name, "--network", "host", "--no-healthcheck", "--stop-timeout", "30")
        command = ("podman", "run", *named, *HARDENED, *mounts, *config, self._image)
        with self.log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, "run", "--config", str(self._file), stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log
            )

    async def execute(self, *arguments: str) -> tuple[int, str]:
        """Run a command in the container."""
        process = await asyncio.create_subprocess_exec(
            *("podman", "exec", self.name, *arguments), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()


def test_it_holds_what_it_needs_and_no_more(image: str) -> None:
    (found,) = json.loads(checked("podman", "image", "inspect", image))
    assert found["Size"] <= LARGEST
    assert found["Config"]["User"] == f"{USER}:{USER}"
    assert found["Healthcheck"]["Test"] == ["CMD", "turnstile", "healthcheck"]
    assert found["Labels"]["org.opencontainers.image.version"] == run(image, "version").split()[1]


def test_nothing_of_a_companys_index_is_left_in_it(image: str) -> None:
    looks = "import pathlib, sys; sys.exit(any(map(pathlib.Path.exists, map(pathlib.Path, sys.argv[1:]))))"
    run(image, "-c", looks, "/run/secrets/pip.conf", "/run/secrets/ca.crt", "/etc/pip.conf", entrypoint="python3")
    history = checked("podman", "history", "--no-trunc", "--format", "{{.CreatedBy}}", image)
    assert "PIP_" not in history


def test_it_runs_as_a_user_that_openshift_chooses(image: str) -> None:
    writes = "open('/var/lib/turnstile/x', 'w'); open('/run/turnstile/x', 'w'); import manager.cli.app"
    options = ("--rm", "--network", "none", "--no-healthcheck", "--user", "1000690000:0", "--entrypoint", "python3")
    checked("podman", "run", *options, "--cap-drop", "ALL", image, "-c", writes)


async def test_it_dispatches_read_only_and_without_root_and_stops_cleanly(image: str, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    async with run_local(tmp_path / "clusters") as clusters:
        scene = Scene(f"t-{secrets.token_hex(4)}", clusters, tmp_path)
        sections = {"http": {"port": port}, "journal": {"path": "/var/lib/turnstile/journal.db"}}
        daemon = ContainerTurnstile(image, tmp_path, scene.hub.kubeconfig(), scene.sections(**sections))
        scene.turnstile = daemon
        try:
            await scene.build()
            for worker in scene.workers.values():
                await scene.occupy(worker)
            await daemon.start()
            await scene.until_active()
            await scene.submit("high", priority="high")
            winner = await scene.until_won("high")
            assert await scene.was_evicted(winner, "low")
            assert await daemon.execute("turnstile", "healthcheck", "--config", str(tmp_path / "turnstile.yaml")) == (
                0,
                "healthy\n",
            )
            code, said = await daemon.execute("turnstile", "status", "workers", "-o", "name")
            assert code == 0, said
            code, said = await daemon.execute("python3", "-c", "open('/opt/turnstile/x', 'w')")
            assert "Read-only file system" in said
            code, said = await daemon.execute("python3", "-c", "print(open('/proc/1/status').read())")
            status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
            assert (status["Uid"].split()[0], status["CapEff"], status["NoNewPrivs"]) == (str(USER), "0" * 16, "1")
            await scene.finish(winner, "high")
            await scene.until_complete("high")
        finally:
            await scene.tear_down()
            await asyncio.to_thread(checked, "podman", "rm", "--force", "--ignore", daemon.name)
            await asyncio.to_thread(checked, "podman", "volume", "rm", "--force", daemon.name)
