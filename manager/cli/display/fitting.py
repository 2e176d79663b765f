"""Fits tables and sentences into the width of a terminal, so that no line wraps where it should not.

Of a table, the least important columns are left out, and of those that stay the widest are shortened.
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

GAP: Final = 2
"""Between two columns."""
_LEGIBLE: Final = 10
"""A column that is shortened below this many characters says nothing; then one that matters less is left out."""
_SENTENCE: Final = 30
"""An essential column gets this many before an extra one gets any: its beginning should say what it is about."""
_LEAST: Final = 3
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_LABEL: Final = re.compile(r"\S+ {2,}(?=\S)")
_NARROWEST: Final = 20


class Priority(IntEnum):
    """How much a column matters where there is no room for all."""

    EXTRA = 0
    USEFUL = 1
    ESSENTIAL = 2


class ColumnNeed(NamedTuple):
    """What a column would like to have."""

    head: int
    """The width of its head."""
    natural: int
    """The width of its widest cell, or of its head."""
    priority: Priority

    @property
    def least(self) -> int:
        """Return the width below which it is of no use."""
        return min(self.natural, max(self.head, _LEGIBLE))

    def least_beside(self, lowest: Priority) -> int:
        """Return the same where the least important column has this priority."""
        if lowest is Priority.EXTRA and self.priority is Priority.ESSENTIAL:
            return min(self.natural, max(self.head, _SENTENCE))
        return self.least


def fit(needs: Sequence[ColumnNeed], width: int | None) -> list[int | None]:
    """Return the width of each column, None for one that is left out."""
    kept = list(range(len(needs)))
    if width is not None:
        kept = _kept(needs, width)
    widths: list[int | None] = [None] * len(needs)
    room = None if width is None else width - GAP * (len(kept) - 1)
    for column, given in zip(kept, _shared([needs[column] for column in kept], room), strict=True):
        widths[column] = given
    return widths


def _kept(needs: Sequence[ColumnNeed], width: int) -> list[int]:
    """Leave out what matters least, from the right, until the rest is legible; essential columns go last."""
    kept = list(range(len(needs)))
    while len(kept) > 1:
        lowest = min(needs[column].priority for column in kept)
        least = [needs[column].least_beside(lowest) for column in kept]
        if lowest is Priority.ESSENTIAL:
            least = [min(each, _LEAST) for each in least]
        if sum(least) + GAP * (len(kept) - 1) <= width:
            break
        kept.remove(max(column for column in kept if needs[column].priority is lowest))
    return kept


def _shared(needs: Sequence[ColumnNeed], room: int | None) -> list[int]:
    """Share the room: the narrow columns get what they need, the wide ones are cut to the same width."""
    naturals = [need.natural for need in needs]
    if room is None or sum(naturals) <= room:
        return naturals
    floors = [need.least for need in needs]
    if sum(floors) > room:
        floors = [0] * len(needs)
    level = max(range(room + 1), key=lambda level: (_taken(naturals, floors, level) <= room, level))
    widths = [_width(natural, floor, level) for natural, floor in zip(naturals, floors, strict=True)]
    for column in range(len(widths)):  # what the common level leaves over
        spare = room - sum(widths)
        widths[column] += min(spare, naturals[column] - widths[column], 1)
    return widths


def _taken(naturals: Sequence[int], floors: Sequence[int], level: int) -> int:
    return sum(_width(natural, floor, level) for natural, floor in zip(naturals, floors, strict=True))


def _width(natural: int, floor: int, level: int) -> int:
    return min(natural, max(floor, level))


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes; colours take none, some characters take two."""
    plain = _COLOUR.sub("", text) if "\x1b" in text else text
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len

    return cell_len(plain)


def shortened(text: str, width: int) -> str:
    """Cut a text that is too wide, and mark the cut."""
    if cells(text) <= width:
        return text
    kept = text[: max(0, width - 1)]
    while kept and cells(kept) > width - 1:
        kept = kept[:-1]
    return f"{kept}…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Fill a text up to a width."""
    return text + " " * (width - cells(text))


def wrapped(line: str, width: int) -> list[str]:
    """Break a sentence between words; what follows is indented under its beginning, or under the text of a label."""
    if cells(line) <= width:
        return [line]
    label = _LABEL.match(line)
    indent = len(label[0]) if label else len(line) - len(line.lstrip()) + GAP
    indent = indent if width - indent >= _NARROWEST else 0
    beginning = label[0] if label and indent else line[: len(line) - len(line.lstrip())]
    lines, current = [], beginning
    is_empty = True
    for word in line[len(beginning) :].split(" "):
        for piece in _pieces(word, width - indent):
            if not is_empty and cells(current) + 1 + cells(piece) > width:
                lines.append(current)
                current, is_empty = " " * indent, True
            current = current + piece if is_empty else f"{current} {piece}"
            is_empty = False
    return [*lines, current]


def _pieces(word: str, width: int) -> list[str]:
    """Break a word that is wider than a line; one with colours is left whole."""
    if cells(word) <= width or "\x1b" in word:
        return [word]
    return [word[start : start + width] for start in range(0, len(word), width)]
