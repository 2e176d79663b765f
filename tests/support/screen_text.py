"""Reads a screenshot of Textual back as lines of text."""

import html
import re

_TEXT = re.compile(r'<text class="[^"]*-r\d+" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', re.DOTALL)
_CELL = 12.2
_LINE = 24.4


def lines_of(svg: str) -> list[str]:
    """Return the lines of a picture, as far down as there is text."""
    found: dict[int, str] = {}
    for x, y, text in _TEXT.findall(svg):
        row, column = int(float(y) // _LINE), round(float(x) / _CELL)
        shown = html.unescape(text).replace("\xa0", " ").rstrip("\n")
        found[row] = found.get(row, "").ljust(column) + shown
    return [found.get(row, "").rstrip() for row in range(max(found, default=-1) + 1)]
