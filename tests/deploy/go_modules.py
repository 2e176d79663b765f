"""Go modules of the tests that are not the real bed's: a tool to run, files to read."""

import os
import subprocess
from pathlib import Path

from tests.realbed import build


def tool(module: Path, name: str, tags: str = "") -> Path:
    """Return the path of a tool that the module names, built with these tags and kept in Go's own cache."""
    return Path(_go(module, "tool", "-n", name, tags=tags))


def source(module: Path, required: str) -> Path:
    """Return the directory with the files of a module that this one requires."""
    _go(module, "mod", "download", required)
    return Path(_go(module, "list", "-m", "-f", "{{.Dir}}", required))


def _go(module: Path, *arguments: str, tags: str = "") -> str:
    environment = dict(os.environ)
    if tags:
        environment["GOFLAGS"] = f"{environment.get('GOFLAGS', '')} -tags={tags}".strip()
    done = subprocess.run(
        [build.go_command(), *arguments], cwd=module, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise build.ToolchainError(
            f"`go {arguments[0]}` failed ({last}); it needs a module proxy or a filled module cache"
        )
    return done.stdout.strip()
