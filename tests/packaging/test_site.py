"""The site of the documentation is built of every page, and a link that leads nowhere is an error."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mkdocs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the locked builder into an environment of its own."""
    folder = tmp_path_factory.mktemp("site-env")
    uv = Path(sys.executable).with_name("uv")
    for command in (
        ["venv", "--quiet", "--clear", "--python", sys.executable, folder],
        ["pip", "install", "--quiet", "--python", folder, "--require-hashes", "-r", ROOT / "requirements/site.txt"],
    ):
        subprocess.run([str(uv), *map(str, command)], check=True, capture_output=True)
    return folder / "bin" / "python"


def test_every_page_is_on_the_site_and_can_be_searched(mkdocs: Path, tmp_path: Path) -> None:
    build: list[str | Path] = [mkdocs, "-P", ROOT / "deploy/site/build.py", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / page.stem / "index.html").exists(), page
    assert 'id="turnstiledown"' in (tmp_path / "runbook" / "index.html").read_text(), "where the alerts lead"
    assert (tmp_path / "search" / "search_index.json").stat().st_size > 100_000
