"""Puts a planted bug into a tree, wherever its piece of code is by now.

A piece is compared by its words, not by its lines: code that was indented, wrapped or moved to another module of the
same package still matches.
"""

import re
from pathlib import Path

from tests.simulation.mutants.table import Mutant


class PlantingError(Exception):
    """A bug that does not fit the product any more; the message says which, in one line."""


def planted(mutant: Mutant, root: Path) -> tuple[Path, str]:
    """Return the module that a bug goes into, and what it holds then."""
    pattern = _pattern(mutant.old)
    first = root / mutant.path
    others = sorted((root / mutant.path.partition("/")[0]).rglob("*.py"))
    places = _holding(pattern, [first] if first.is_file() else []) or _holding(pattern, others)
    if len(places) != 1:
        raise PlantingError(f'"{mutant.name}": its piece of code is in {len(places)} places of {mutant.path}')
    path, content = places[0]
    found = pattern.search(content)
    assert found is not None
    return path, content[: found.start()] + mutant.new + content[found.end() :]


def _holding(pattern: re.Pattern[str], paths: list[Path]) -> list[tuple[Path, str]]:
    contents = [(path, path.read_text()) for path in paths]
    return [(path, content) for path, content in contents for _ in pattern.finditer(content)]


def _pattern(piece: str) -> re.Pattern[str]:
    """Return what matches a piece however its lines are broken."""
    words = re.findall(r"\w+|[^\w\s]", piece)
    leading = piece[: len(piece) - len(piece.lstrip(" "))]
    body = r"\s*".join(re.escape(word) for word in words)
    return re.compile(re.escape(leading) + body + (r"\n" if piece.endswith("\n") else ""))
