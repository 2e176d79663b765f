"""Binaries of two Kubernetes releases, built from the module in podoracle, which has one module file for each release.

Kept in the same cache as the other binaries, and under the same rule: the directory is named by all that decides the
content, and a binary appears in it by an atomic rename under a lock.
"""

import fcntl
import hashlib
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.realbed import build

_MODULE = Path(__file__).parent / "podoracle"
_VERSION_PACKAGE = "k8s.io/component-base/version"


@dataclass(frozen=True, slots=True)
class Release:
    """A minor release of Kubernetes, and how the module is told to use it."""

    minor: str
    version: str
    module_file: str
    tags: str = ""


RELEASES = {
    "1.36": Release("1.36", "v1.36.3", "kubernetes-1.36.mod", "kubernetes_1_36"),
    "1.37": Release("1.37", "v1.37.0", "go.mod"),
}


def pod_oracle(release: Release) -> Path:
    """Return the oracle that asks the scheduler of a release."""
    digest = hashlib.sha256()
    for source in sorted(_MODULE.glob("*.go")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    # The stamp makes the sources part of what decides the binary, and so part of its name in the cache.
    return _ensure_built(release, "podoracle", ".", f"-X main.sourceDigest={digest.hexdigest()[:16]}")


def kubernetes(release: Release, name: str) -> Path:
    """Return a program of a release, stamped with its version."""
    major, minor = release.minor.split(".")
    stamps = {"gitVersion": release.version, "gitMajor": major, "gitMinor": minor}
    ldflags = " ".join(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())
    return _ensure_built(release, name, f"k8s.io/kubernetes/cmd/{name}", ldflags)


def _ensure_built(release: Release, name: str, package: str, ldflags: str) -> Path:
    path = _cached_path(release, name, package, ldflags)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as scratch:
                built = Path(scratch) / name
                flags = [f"-modfile={release.module_file}", f"-tags={release.tags}", f"-ldflags={ldflags}"]
                _go("build", "-buildvcs=false", *flags, "-o", str(built), package)
                built.rename(path)
    return path


def _cached_path(release: Release, name: str, package: str, ldflags: str) -> Path:
    module_file = _MODULE / release.module_file
    decisive = [
        module_file.read_bytes(),
        module_file.with_suffix(".sum").read_bytes(),
        package.encode(),
        ldflags.encode(),
        release.tags.encode(),
        _go("env", "GOVERSION").encode(),
        f"{platform.system()}/{platform.machine()}".encode(),
    ]
    digest = hashlib.sha256(b"\0".join(decisive)).hexdigest()[:32]
    return build.cached_path(build.ETCD).parents[1] / digest / name


def _go(*arguments: str) -> str:
    command: list[str | Path] = [build.go_command(), *arguments]
    done = subprocess.run(command, cwd=_MODULE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        why = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "no output")
        raise build.ToolchainError(
            f"`go {arguments[0]}` failed ({why}); it needs a module proxy or a filled module cache"
        )
    return done.stdout.strip()
