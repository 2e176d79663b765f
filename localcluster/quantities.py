"""Resource quantities as exact numbers, for the comparisons that validation makes."""

from decimal import Decimal
from functools import lru_cache
from typing import Final

_DECIMAL_POWERS: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_POWERS: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


@lru_cache(maxsize=4096)
def parse_quantity(quantity: str | int) -> Decimal:
    """Return the exact value of a quantity that its schema accepts."""
    text = str(quantity)
    if text[-2:] in _BINARY_POWERS:
        return Decimal(text[:-2]) * Decimal(1024) ** _BINARY_POWERS[text[-2:]]
    if text[-1] in _DECIMAL_POWERS:
        return Decimal(text[:-1]).scaleb(_DECIMAL_POWERS[text[-1]])
    return Decimal(text)
