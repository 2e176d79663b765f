"""Finds packages of Turnstile that another distribution or folder hides.

The top-level packages have everyday names (`config`, `manager`), so a stray `config.py` on the path, or another
distribution installed into the same environment, would otherwise surface as an unrelated ImportError.
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("config", "engine", "gates", "workerclient", "localcluster", "manager")


def shadowed_packages() -> list[str]:
    """Return one sentence for each package that does not lie beside this one."""
    home = Path(__file__).resolve().parents[2]
    problems = []
    for name in PACKAGES:
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec and spec.origin else None
        if found != home / name / "__init__.py":
            where = found or "nothing"
            problems.append(
                f"package `{name}` is shadowed by {where}; install multikueue-turnstile in an environment of its own"
            )
    return problems
