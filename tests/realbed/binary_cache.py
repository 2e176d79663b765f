"""Where built programs are kept: in the user's cache, in a directory named by everything that decides their content.

So a cached file is never stale; it appears by an atomic rename under a lock, so two runs neither build twice nor see
half a file.
"""

import fcntl
import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_VERSION_PACKAGE = "k8s.io/component-base/version"


def place_of(name: str, decisive: Sequence[bytes]) -> Path:
    """Return where a program is, or will be once built."""
    digest = hashlib.sha256(b"\0".join(decisive)).hexdigest()[:32]
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "multikueue-turnstile" / "bin" / digest / name


def this_machine() -> bytes:
    """Return what of the machine decides a program."""
    return f"{platform.system()}/{platform.machine()}".encode()


def ensure(path: Path, build: Callable[[Path, Path], None]) -> Path:
    """Return the path of a program; `build` is given a scratch directory and the file to make when there is none."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / "lock"):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as scratch:
                built = Path(scratch) / path.name
                build(Path(scratch), built)
                built.rename(path)
    return path


def version_stamps(version: str) -> str:
    """Return the linker's flags by which a Kubernetes program reports its version: one built outside of its release
    process reports v0.0.0 otherwise, which Kueue refuses."""
    major, minor, _ = version.removeprefix("v").split(".")
    stamps = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
