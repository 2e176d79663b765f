"""Sizes in bytes, written as Kubernetes quantities: `512Mi`, `2Gi`, `500M`, `1048576`."""

import re
from typing import Final

PATTERN: Final = r"([0-9]{1,18})(Ki|Mi|Gi|Ti|k|M|G|T)?"

_WHOLE: Final = re.compile(PATTERN)
_BINARY: Final = {"Ti": 1 << 40, "Gi": 1 << 30, "Mi": 1 << 20, "Ki": 1 << 10}
_DECIMAL: Final = {"T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}
_UNITS: Final = _BINARY | _DECIMAL


def parse_size(text: str) -> int:
    """Return the number of bytes; a ValueError says that `text` is no size."""
    match = _WHOLE.fullmatch(text)
    if not match:
        raise ValueError('must be a whole number and a unit, such as "64Mi" or "2Gi"')
    return int(match[1]) * _UNITS.get(match[2], 1)


def format_size(size: int) -> str:
    """Print with the largest unit that leaves a whole number, binary units first."""
    for unit, factor in _UNITS.items():
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
