"""Manifests that two places share are symbolic links; a tool that writes a link as a file breaks what reads it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LONGEST_PATH = 200


@pytest.mark.parametrize("folder", ["deploy", "manager"])
def test_no_file_holds_only_the_path_of_another_one(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and not path.is_symlink()]
    assert [str(path.relative_to(ROOT)) for path in files if _holds_a_path(path)] == []


def _holds_a_path(path: Path) -> bool:
    if not 0 < path.stat().st_size < LONGEST_PATH:
        return False
    text = path.read_bytes().decode("utf-8", "replace").strip()
    return "/" in text and "\n" not in text and (path.parent / text).is_file()
