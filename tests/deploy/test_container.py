"""The image's recipe, as far as it can be tried without a builder, and what goes into it."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "deploy" / "container"
RECIPE = (CONTAINER / "Dockerfile").read_text().replace("\\\n", " ")
ALLOWED = [line[1:] for line in (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"]


def instructions(name: str) -> list[str]:
    return [line.removeprefix(f"{name} ").strip() for line in RECIPE.splitlines() if line.startswith(f"{name} ")]


def test_the_base_is_a_version_not_a_moving_tag() -> None:
    (base,) = (each for each in instructions("ARG") if each.startswith("BASE="))
    assert re.fullmatch(r"BASE=python:\d+\.\d+\.\d+-slim-\w+", base)
    assert all(each.split()[0] == "${BASE}" for each in instructions("FROM"))


def test_the_process_is_not_root_and_has_the_number_that_the_manifests_name() -> None:
    (user,) = instructions("USER")
    deployment = (ROOT / "deploy/kustomize/base/deployment.yaml").read_text()
    assert user == "65532:65532"
    assert f"runAsUser: {user.split(':')[0]}" in deployment


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    copied = [each.split()[:-1] for each in instructions("COPY") if not each.startswith("--from")]
    sources = [source for group in copied for source in group]
    assert sorted(sources) == sorted(ALLOWED)
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_nothing_is_installed_without_a_hash() -> None:
    installs = [
        step for run in instructions("RUN") for step in run.split("&&") if " install " in step and "pip" in step
    ]
    assert len(installs) == 3
    assert all("--require-hashes" in step or "--no-index" in step for step in installs)


def health(port: int) -> int:
    """Run the image's health check, pointed at another port; return its exit code."""
    (check,) = instructions("HEALTHCHECK")
    command = json.loads(check.split("CMD ", 1)[1])
    assert command[0] == "python"
    code = [part.replace(":9644/", f":{port}/") for part in command[1:]]
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    return subprocess.run([sys.executable, *code], env=environment, capture_output=True, check=False).returncode


@contextmanager
def answering(status: int) -> Iterator[int]:
    """Serve one status at /healthz and return the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_the_health_check_tells_well_from_unwell() -> None:
    with answering(200) as port:
        assert health(port) == 0
    with answering(503) as port:
        assert health(port) != 0
    assert health(port) != 0, "nobody answers"


def test_the_same_sources_give_the_same_wheel(tmp_path: Path) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    wheels = []
    for name in ("first", "second"):
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / name)]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        (wheel,) = (tmp_path / name).glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]


def test_without_a_builder_one_line_says_so(tmp_path: Path) -> None:
    for tool in ("sh", "dirname", "sed", "git"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = subprocess.run(
        [CONTAINER / "build.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: no image builder works here: start docker (with buildx), or install podman or buildah\n"
    )


@pytest.mark.parametrize("builder", ["docker", "podman", "buildah"])
def test_the_builder_that_works_is_used(tmp_path: Path, builder: str) -> None:
    for tool in ("sh", "dirname", "sed", "git"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    (tmp_path / builder).write_text('#!/bin/sh\n[ "$1" = info ] || [ "$2" = version ] || echo "$0 $*"\n')
    (tmp_path / builder).chmod(0o755)
    done = subprocess.run(
        [CONTAINER / "build.sh"],
        env={"PATH": str(tmp_path), "SOURCE_DATE_EPOCH": "17", "TAG": "t", "BASE": "python@sha256:0"},
        capture_output=True,
        text=True,
        check=True,
    )
    called, said = done.stdout.splitlines()
    assert called.startswith(f"{tmp_path / builder} ")
    assert "--build-arg BASE=python@sha256:0" in called
    assert "--build-arg SOURCE_DATE_EPOCH=17" in called
    assert said == "built multikueue-turnstile:t"
    assert builder == "docker" or "--format docker" in called, "without it there is no health check"


def test_the_bill_of_materials_lists_every_locked_dependency(tmp_path: Path) -> None:
    subprocess.run([CONTAINER / "sbom.sh", tmp_path / "bill.json"], capture_output=True, check=True)
    bill = json.loads((tmp_path / "bill.json").read_text())
    assert bill["metadata"]["component"]["name"] == "multikueue-turnstile"
    listed = {f"{plain(each['name'])}=={each['version']}" for each in bill["components"]}
    lock = (ROOT / "requirements" / "runtime.txt").read_text()
    locked = re.findall(r"^([\w.-]+)==([\w.]+)(?: ; (.*?))? \\$", lock, re.MULTILINE)
    everywhere = {f"{plain(name)}=={version}" for name, version, marker in locked if not marker}
    assert everywhere <= listed <= {f"{plain(name)}=={version}" for name, version, _ in locked}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
