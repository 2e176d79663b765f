"""Field paths: cheap to extend on the way down, rendered only when there is something to report."""

from typing import Final, TypeAlias

NO_PATH: Final = "<nil>"

Path: TypeAlias = "tuple[Path, str | int] | None"
"""None is the object itself; otherwise the parent and a field name or a list index."""


def render_path(path: Path) -> str:
    """Print a path as `spec.list[0].name`; the object itself has none, which Kubernetes prints as `<nil>`."""
    if path is None:
        return NO_PATH
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).lstrip(".")
