"""What `make dist` writes beside the image: each file is what it says, and installs by the docs' own commands."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PIPX = "pipx==1.18.4"


def checked(*command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the artefacts in a copy of dist/, so that no file of an earlier build is looked at."""
    folder = tmp_path_factory.mktemp("dist")
    checked(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    checked(ROOT / "deploy/release/chart.sh", folder)
    checked(sys.executable, "-P", ROOT / "deploy/release/man.py", folder / "man")
    checked(sys.executable, "-P", ROOT / "deploy/release/manifests.py", folder)
    return folder


def test_pipx_installs_the_wheel(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    place = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    pipx = (BIN / "uv", "tool", "run", "--quiet", "--python", sys.executable, "--from", PIPX, "pipx")
    checked(*pipx, "install", "--backend", "uv", wheel, **place)
    version = wheel.name.split("-")[1]
    for name in ("turnstile", "kubectl-turnstile"):
        assert checked(tmp_path / "bin" / name, "version") == f"turnstile {version}\n"


def test_every_file_has_its_checksum(dist: Path) -> None:
    lines = (dist / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    assert set(listed) == files
    assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest for name, digest in listed.items())


def test_the_provenance_names_artefacts_source_and_locks_by_digest(dist: Path) -> None:
    statement = json.loads((dist / "provenance.intoto.json").read_text())
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert {Path(name).suffix for name in subjects} == {".whl", ".tgz", ".gz"}
    assert all(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest for name, digest in subjects.items())
    uris = {each["uri"] for each in statement["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert "requirements/runtime.txt" in uris


def test_the_krew_manifest_leads_to_the_plugin(dist: Path, tmp_path: Path) -> None:
    manifest = yaml.safe_load((dist / "turnstile.krew.yaml").read_text())
    (platform,) = manifest["spec"]["platforms"]
    archive = dist / platform["uri"].rpartition("/")[2]
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", manifest["spec"]["version"])
    with tarfile.open(archive) as tar:
        assert set(tar.getnames()) == {"kubectl-turnstile", "LICENSE"}
        tar.extractall(tmp_path, filter="data")
    (tmp_path / "uvx").write_text('#!/bin/sh\necho "$*"\n')
    (tmp_path / "uvx").chmod(0o755)
    said = checked(tmp_path / platform["bin"], "status", "workers", PATH=f"{tmp_path}:/usr/bin")
    version = manifest["spec"]["version"][1:]
    assert said == f"--quiet --from multikueue-turnstile=={version} kubectl-turnstile status workers\n"


def test_without_uv_and_pipx_the_plugin_says_what_it_needs(dist: Path, tmp_path: Path) -> None:
    (archive,) = dist.glob("kubectl-turnstile-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    (tmp_path / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    done = subprocess.run(
        [tmp_path / "kubectl-turnstile"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "needs uv or pipx" in done.stderr


def test_the_same_commit_gives_the_same_chart_without_links(tmp_path: Path) -> None:
    made = []
    for name in ("first", "second"):
        checked(ROOT / "deploy/release/chart.sh", tmp_path / name, SOURCE_DATE_EPOCH="1700000000")
        (packed,) = (tmp_path / name).glob("*.tgz")
        made.append(packed.read_bytes())
    assert made[0] == made[1]
    with tarfile.open(packed) as tar:
        assert {entry.type for entry in tar} <= {tarfile.REGTYPE, tarfile.DIRTYPE}
        assert "turnstile/files/hub.yaml" in tar.getnames()


def test_every_command_has_a_man_page(dist: Path) -> None:
    pages = {path.stem: path.read_text() for path in (dist / "man").glob("*.1")}
    assert {"turnstile", "turnstile-run", "turnstile-worker-add", "turnstile-healthcheck"} <= set(pages)
    for name, page in pages.items():
        assert page.startswith(f'.TH "{name.upper()}" 1 ')
        assert [section for section in (".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION") if section not in page] == []
    assert r"\fB\-\-to\-config\fR" in pages["turnstile-worker-add"]
    assert r"\fBturnstile-worker\fR(1)" in pages["turnstile"]
