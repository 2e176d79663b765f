"""Keeps files that a configuration or a cluster object names inside directories that the operator chose.

Without it, anyone who may create a MultiKueueCluster could make the daemon read any file of its machine. Symbolic links
are resolved on both sides, and a directory's name is compared as a whole: `/etc/a-other` is not inside `/etc/a`.
"""

from collections.abc import Iterable
from pathlib import Path

from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.types.syntax import printable

NOT_ALLOWED = "kubeconfig path is not under the allowed prefix"


def confine(path: str | Path, directories: Iterable[Path]) -> Path:
    """Return the real path of a file that lies in one of the directories; KubeconfigError if it does not."""
    text = str(path)
    if not text:
        raise _bad("kubeconfig path must not be empty")
    if ".." in Path(text).parts:
        raise _bad(f'{NOT_ALLOWED}: path contains ".."')
    if not text.startswith("/"):
        raise _bad(f"{NOT_ALLOWED}: path must be absolute")
    if "\0" in text:
        raise _bad(f"{NOT_ALLOWED}: path contains a zero byte")
    return _resolved_inside(text, tuple(directories))


def _resolved_inside(text: str, directories: tuple[Path, ...]) -> Path:
    real_directories = [real for directory in directories if (real := _real(directory)) is not None]
    if not real_directories:
        raise _bad(f"{NOT_ALLOWED}: {_quoted(text)} is not under {_listed(directories)}")
    try:
        real_path = Path(text).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "too many symbolic links"
        raise _bad(f"cannot resolve kubeconfig path symlinks: {_quoted(text)}: {why}") from error
    if any(real_path.is_relative_to(directory) and real_path != directory for directory in real_directories):
        return real_path
    raise _bad(f"{NOT_ALLOWED}: {_quoted(str(real_path))} is not under {_listed(real_directories)}")


def _real(directory: Path) -> Path | None:
    try:
        return directory.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _listed(directories: Iterable[Path]) -> str:
    return " or ".join(_quoted(str(directory)) for directory in directories) or "any directory: none is allowed"


def _quoted(text: str) -> str:
    return f'"{printable(text)}"'


def _bad(problem: str) -> KubeconfigError:
    return KubeconfigError(KubeconfigReason.BAD, problem)
