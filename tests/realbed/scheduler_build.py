"""Binaries of two Kubernetes releases, built from the module in podoracle with one module file for each release."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tests.realbed import binary_cache
from tests.realbed.build import KUBERNETES_VERSION, build_program, ensure_built, kubernetes_program, place_of

_MODULE = Path(__file__).parent / "podoracle"


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
    """Return a program of a release, stamped with its version: the bed's own where that is of this release."""
    program = kubernetes_program(name, release.version)
    if release.version == KUBERNETES_VERSION:
        return ensure_built(program)
    return _ensure_built(release, name, program.package, program.ldflags)


def _ensure_built(release: Release, name: str, package: str, ldflags: str) -> Path:
    def build(_: Path, built: Path) -> None:
        flags = (f"-modfile={release.module_file}", f"-tags={release.tags}")
        build_program(_MODULE, package, built, *flags, ldflags=ldflags)

    place = place_of(name, _MODULE / release.module_file, package, ldflags, release.tags)
    return binary_cache.ensure(place, build)
