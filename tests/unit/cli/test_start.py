"""What a command loads before its first output: nothing that takes long."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
HEAVY = (
    "aiohttp",
    "kubernetes_asyncio",
    "pydantic",
    "rich",
    "asyncio",
    "cryptography",
    "tenacity",
    "engine",
    "sqlite3",
    "textual",
)
PROBE = """
import json, sys
from manager.cli import main
try:
    main()
finally:
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("version",),
        ("status", "--help"),
        ("status", "--socket", "none"),
        ("explain", "a/b", "--socket", "n"),
        ("top", "--help"),
        ("top", "--socket", "n"),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-P", "-c", PROBE, *arguments]
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    loaded = json.loads(done.stderr.splitlines()[-1])
    assert "manager.cli.app" in loaded
    assert [name for name in HEAVY if name in loaded] == []
