"""The built wheel, installed in an empty environment, is the product."""

import subprocess
import sys
from pathlib import Path

import pytest

from manager.page.assets import page_assets

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "engine", "gates", "localcluster", "manager", "workerclient")


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, check=False, capture_output=True, text=True)


def checked(*command: str | Path, cwd: Path | None = None) -> str:
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with the locked run-time dependencies, and nothing else, into a new environment."""
    folder = tmp_path_factory.mktemp("wheel")
    checked(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist", cwd=ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    uv = Path(sys.executable).with_name("uv")
    checked(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    install = (uv, "pip", "install", "--quiet", "--python", folder / "env/bin/python")
    checked(*install, "--require-hashes", "-r", ROOT / "requirements/runtime.txt")
    checked(*install, "--no-deps", wheel)
    return folder / "env"


def test_the_script_prints_its_version(empty_environment: Path, tmp_path: Path) -> None:
    assert checked(empty_environment / "bin/turnstile", "version", cwd=tmp_path) == "turnstile 0.1.0\n"


def test_it_is_a_kubectl_plugin_that_completes(empty_environment: Path, tmp_path: Path) -> None:
    told = checked(empty_environment / "bin/kubectl-turnstile", "status", "--help", cwd=tmp_path)
    assert told.startswith("Usage: kubectl turnstile status ")
    completed = checked(empty_environment / "bin/kubectl_complete-turnstile", "status", "w", cwd=tmp_path)
    assert completed == "workloads\nworkers\n:4\n"


def test_every_package_resolves_to_our_distribution(empty_environment: Path, tmp_path: Path) -> None:
    where = checked(
        empty_environment / "bin/python",
        "-Pc",
        f"import importlib; [print(importlib.import_module(name).__file__) for name in {PACKAGES}]",
        cwd=tmp_path,
    )
    for path in where.splitlines():
        assert Path(path).is_relative_to(empty_environment)


def test_the_roles_of_a_worker_are_in_it(empty_environment: Path, tmp_path: Path) -> None:
    code = "from manager.onboarding.objects import shared_account; print(shared_account())"
    assert checked(empty_environment / "bin/python", "-Pc", code, cwd=tmp_path) == "turnstile-system/turnstile\n"


def test_the_page_is_in_it(empty_environment: Path, tmp_path: Path) -> None:
    code = "from manager.page.assets import page_assets; print(page_assets().digest, *sorted(page_assets().files))"
    told = checked(empty_environment / "bin/python", "-Pc", code, cwd=tmp_path).split()
    assert told == [page_assets().digest, *sorted(page_assets().files)]
    assert {"index.html", "app.js", "page.css", "icon.svg"} <= set(told)


def test_a_shadowing_file_is_named(empty_environment: Path, tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("")
    done = run("env", f"PYTHONPATH={tmp_path}", empty_environment / "bin/turnstile", "version", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: package `config` is shadowed by {tmp_path / 'config.py'}; "
        "install multikueue-turnstile in an environment of its own\n"
    )
