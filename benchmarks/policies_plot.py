"""A small picture of bars, as SVG."""

from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

Bar = tuple[str, int, int, float]
"""Name, victims, those of them for nothing, lost pod-hours."""

_WIDTH: Final = 860
_NAMES: Final = 190
_BARS: Final = 250
_LINE: Final = 26
_TITLE: Final = 46
_COLORS: Final = {"victims": "#4878a8", "wasted": "#c44e52", "hours": "#8c8c8c"}


def picture(panels: Mapping[str, Sequence[Bar]]) -> str:
    """Return the picture: a panel under the other, in each victims on the left and pod-hours on the right."""
    height = sum(_TITLE + _LINE * (len(bars) + 1) for bars in panels.values()) + 40
    found = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    top = 0
    for title, bars in panels.items():
        found += _panel(title, bars, top)
        top += _TITLE + _LINE * (len(bars) + 1)
    found += _legend(top + 18)
    return "\n".join([*found, "</svg>", ""])


def _panel(title: str, bars: Sequence[Bar], top: int) -> list[str]:
    most_victims = max((victims for _, victims, _, _ in bars), default=1) or 1
    most_hours = max((hours for *_, hours in bars), default=1.0) or 1.0
    right = _NAMES + _BARS + 90
    found = [_text(10, top + 24, title, bold=True)]
    found += [_text(_NAMES, top + _TITLE, "victims"), _text(right, top + _TITLE, "lost pod-hours")]
    for index, (name, victims, wasted, hours) in enumerate(bars):
        y = top + _TITLE + 8 + index * _LINE
        long, part = _BARS * victims / most_victims, _BARS * wasted / most_victims
        found += [
            _text(10, y + 14, name),
            _bar(_NAMES, y, long, _COLORS["victims"]),
            _bar(_NAMES + long - part, y, part, _COLORS["wasted"]),
            _text(_NAMES + long + 6, y + 14, str(victims)),
            _bar(right, y, _BARS * hours / most_hours * 0.8, _COLORS["hours"]),
            _text(right + _BARS * hours / most_hours * 0.8 + 6, y + 14, f"{hours:.1f}"),
        ]
    return found


def _legend(y: int) -> list[str]:
    entries = (("victims", "evicted"), ("wasted", "evicted for a copy that did not win"), ("hours", "lost pod-hours"))
    found, x = [], 10
    for key, label in entries:
        found += [_bar(x, y - 11, 14, _COLORS[key]), _text(x + 20, y, label)]
        x += 40 + 7 * len(label)
    return found


def _bar(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="18" fill="{color}"/>'


def _text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{weight}>{escape(text)}</text>'
