"""The image's recipe, as far as it can be tried without a builder, and what goes into it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config.loading.loading import load_configuration

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "deploy" / "container"
RECIPE = (CONTAINER / "Dockerfile").read_text().replace("\\\n", " ")
ALLOWED = [line[1:] for line in (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] == "!"]


def instructions(name: str) -> list[str]:
    return [line.removeprefix(f"{name} ").strip() for line in RECIPE.splitlines() if line.startswith(f"{name} ")]


def test_the_base_is_a_version_not_a_moving_tag() -> None:
    (base,) = (each for each in instructions("ARG") if each.startswith("BASE="))
    (build,) = (each for each in instructions("ARG") if each.startswith("BUILD_BASE="))
    assert re.fullmatch(r"BASE=python:\d+\.\d+\.\d+-slim-\w+", base)
    assert build == f"BUILD_{base.replace('-slim', '')}", "the environment is moved from one to the other"
    assert [each.split()[0] for each in instructions("FROM")] == ["${BUILD_BASE}", "${BASE}"]


def test_the_process_is_not_root_and_has_the_number_that_the_manifests_name() -> None:
    (user,) = instructions("USER")
    deployment = (ROOT / "deploy/kustomize/base/deployment.yaml").read_text()
    assert user == "65532:65532"
    assert f"runAsUser: {user.split(':')[0]}" in deployment


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    copied = [each.split()[:-1] for each in instructions("COPY") if not each.startswith("--from")]
    sources = [source for group in copied for source in group]
    assert sorted(sources) == sorted(ALLOWED)
    assert [source for source in sources if not any(ROOT.glob(source))] == []


def test_nothing_is_installed_without_a_hash() -> None:
    installs = [line for line in (CONTAINER / "install.sh").read_text().splitlines() if "/pip " in line]
    assert len(installs) == 3
    assert all("--require-hashes" in step or "--no-index" in step for step in installs)


def test_the_shipped_configuration_needs_only_what_the_documented_command_mounts() -> None:
    loaded = load_configuration(CONTAINER / "turnstile.yaml", {}).configuration
    assert loaded.hub.kubeconfig == Path("/etc/turnstile/hub.kubeconfig")
    command = re.search(r"podman run (.*?)multikueue-turnstile:", (ROOT / "docs/install.md").read_text(), re.DOTALL)
    assert command is not None
    assert loaded.journal.path is not None
    assert loaded.api.socket is not None
    assert f"-v turnstile-state:{loaded.journal.path.parent}:U" in command[1]
    assert f"--tmpfs {loaded.api.socket.parent}:U" in command[1]
    assert "-v /etc/turnstile:/etc/turnstile:ro" in command[1]


def test_an_image_with_the_tracing_extra_has_a_lock_of_its_own() -> None:
    locks = {name: (ROOT / "requirements" / f"{name}.txt").read_text() for name in ("runtime", "tracing")}
    locked = {name: dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)) for name, text in locks.items()}
    assert locked["runtime"].items() <= locked["tracing"].items(), "the same versions of everything else"
    assert "opentelemetry-exporter-otlp-proto-http" in locked["tracing"].keys() - locked["runtime"].keys()
    assert [each for each in instructions("ARG") if each.startswith("LOCK")] == ["LOCK=runtime"]


def test_the_health_check_is_the_command_that_reads_the_configuration() -> None:
    (check,) = instructions("HEALTHCHECK")
    assert json.loads(check.split("CMD ", 1)[1]) == ["turnstile", "healthcheck"]


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


def build(tmp_path: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run build.sh with a builder that prints how it is called."""
    for tool in ("sh", "dirname", "sed", "git"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    (tmp_path / "podman").write_text('#!/bin/sh\n[ "$1" = info ] || echo "$*"\n')
    (tmp_path / "podman").chmod(0o755)
    command = [str(CONTAINER / "build.sh"), *flags]
    return subprocess.run(
        command, env={"PATH": str(tmp_path), **variables}, capture_output=True, text=True, check=False
    )


def test_a_companys_index_and_authority_reach_the_build_and_not_the_image(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("pip.conf", "ca.crt")}
    for file in files.values():
        file.touch()
    done = build(
        tmp_path,
        "--network=host",
        PIP_CONF=str(files["pip.conf"]),
        CA_FILE=str(files["ca.crt"]),
        PIP_INDEX_URL="https://index.example/simple",
    )
    called = done.stdout.splitlines()[0]
    for name, file in files.items():
        assert f"--secret id={name},src={file}" in called
    assert "--build-arg PIP_INDEX_URL=https://index.example/simple" in called
    assert "--network=host" in called
    stages = RECIPE.split("\nFROM ")
    assert "PIP_" in stages[1]
    assert "PIP_" not in stages[2]


def test_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    done = build(tmp_path, CA_FILE=str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: CA_FILE: {tmp_path / 'none'} cannot be read\n"


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        ("tracing", 0, "built multikueue-turnstile:0.1.0-tracing\n"),
        ("tracng", 2, "error: EXTRA: must be tracing, or not set\n"),
    ],
)
def test_an_extra_is_named_in_the_tag(tmp_path: Path, extra: str, code: int, said: str) -> None:
    done = build(tmp_path, EXTRA=extra)
    assert done.returncode == code
    assert (done.stdout + done.stderr).endswith(said)
    assert code or "--build-arg LOCK=tracing" in done.stdout


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
