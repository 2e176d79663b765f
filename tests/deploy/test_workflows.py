"""The workflows: a linter finds nothing in them, and what they publish is what `make dist` makes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
LINTER = "zizmor==1.32.0"
RELEASE = (WORKFLOWS / "release.yaml").read_text()


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "tool", "run", "--quiet", "--python", sys.executable, "--from", LINTER, "zizmor", "--offline", path]
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def test_the_linter_finds_nothing() -> None:
    done = lint(WORKFLOWS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_finds_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(re.sub(r"@[0-9a-f]{40}", "@v1", RELEASE))
    assert lint(tmp_path / "bad.yaml").returncode != 0


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yaml")), ids=lambda path: path.name)
def test_every_action_is_named_by_its_commit_and_every_job_ends(path: Path) -> None:
    for used in re.findall(r"uses: (.*)", path.read_text()):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used)
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        assert job["timeout-minutes"] > 0
        assert isinstance(job["permissions"], dict)


def test_the_targets_that_it_calls_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {name for line in re.findall(r"run: make (.*)", RELEASE) for name in line.split()}
    assert called
    assert called <= targets
