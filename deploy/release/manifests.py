"""Writes what describes the artefacts of dist/: the krew plugin with its manifest, provenance, checksums.

`python -P deploy/release/manifests.py dist`; `make dist` calls it last.
"""

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final = "https://github.com/multikueue-turnstile/multikueue-turnstile"
LAUNCHER: Final = """\
#!/bin/sh
# kubectl turnstile: runs the released package with uv or pipx, in an environment of its own.
set -eu
package="multikueue-turnstile==@VERSION@"
if command -v uvx >/dev/null 2>&1; then exec uvx --quiet --from "$package" kubectl-turnstile "$@"; fi
if command -v pipx >/dev/null 2>&1; then exec pipx run --spec "$package" kubectl-turnstile "$@"; fi
echo "error: kubectl turnstile needs uv or pipx to run $package" >&2
exit 1
"""
_DESCRIBED: Final = ("*.whl", "*.tar.gz", "*.tgz", "*.tar", "*.cdx.json")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else ""


def write_krew(dist: Path, version: str) -> None:
    """Write the plugin's archive and the manifest for krew's index."""
    archive = dist / f"kubectl-turnstile-{version}.tar.gz"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, mode in (
            ("kubectl-turnstile", LAUNCHER.replace("@VERSION@", version).encode(), 0o755),
            ("LICENSE", (ROOT / "LICENSE").read_bytes(), 0o644),
        ):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    archive.write_bytes(gzip.compress(content.getvalue(), mtime=0))
    (dist / "turnstile.krew.yaml").write_text(
        f"""\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: turnstile
spec:
  version: v{version}
  homepage: {PROJECT}
  shortDescription: Who waits, preempts and would be preempted in a MultiKueue fleet
  description: |
    Shows what the MultiKueue orchestrator Turnstile does: which worker may preempt for which Workload,
    what each worker would do, and what is wrong with the clusters.
  caveats: |
    Needs uv or pipx, with which the plugin runs the released Python package.
  platforms:
    - selector:
        matchExpressions:
          - key: os
            operator: In
            values: [linux, darwin]
      uri: {PROJECT}/releases/download/v{version}/{archive.name}
      sha256: {_digest(archive)}
      bin: kubectl-turnstile
"""
    )


def provenance(dist: Path) -> dict[str, Any]:
    """Return where the artefacts come from, as an in-toto statement; the release workflow signs one of its own."""
    described = sorted({path for pattern in _DESCRIBED for path in dist.glob(pattern)})
    revision = _git("rev-parse", "HEAD")
    source = {"uri": f"git+{PROJECT}", **({"digest": {"gitCommit": revision}} if revision else {})}
    inputs = ("pyproject.toml", "requirements/runtime.txt", "requirements/build.txt", "deploy/container/Dockerfile")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": _digest(path)}} for path in described],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{PROJECT}/blob/main/Makefile#dist",
                "externalParameters": {"target": "dist", "isModified": bool(_git("status", "--porcelain"))},
                "resolvedDependencies": [
                    source,
                    *({"uri": name, "digest": {"sha256": _digest(ROOT / name)}} for name in inputs),
                ],
            },
            "runDetails": {"builder": {"id": f"{PROJECT}/blob/main/Makefile"}},
        },
    }


def write_checksums(dist: Path) -> None:
    """Write SHA256SUMS over everything else, for `sha256sum --check`."""
    tools = dist / "supply-chain"
    files = sorted(
        path
        for path in dist.rglob("*")
        if path.is_file() and not path.is_relative_to(tools) and path.name != "SHA256SUMS"
    )
    (dist / "SHA256SUMS").write_text("".join(f"{_digest(path)}  {path.relative_to(dist)}\n" for path in files))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_krew(folder, tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
    (folder / "provenance.intoto.json").write_text(json.dumps(provenance(folder), indent=1) + "\n")
    write_checksums(folder)
