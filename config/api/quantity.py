"""Kubernetes quantities: exact parsing, and the integers that Kueue counts quota in.

Invariant: a quantity is exact (a Fraction) until it becomes an amount, and an amount is an int64: milli-units of cpu,
whole units of everything else, rounded away from zero. Amounts never wrap: they saturate, and a saturated sum *is*
`UNLIMITED`, because Kueue uses the largest int64 as its sign for "no limit".
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

UNLIMITED: Final = 2**63 - 1
MIN_AMOUNT: Final = -(2**63)
UNLIMITED_TEXT: Final = "<unlimited>"

_CPU: Final = "cpu"
_UNLIMITED_CORES: Final = UNLIMITED // 1000
_BINARY_FORMAT_RESOURCES: Final = frozenset({"memory", "ephemeral-storage"})
_BINARY_FORMAT_PREFIX: Final = "hugepages-"

_GRAMMAR: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+")
_MAX_LENGTH: Final = 1024
_NANO: Final = -9
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_INT64_DIGITS: Final = 18
_DECIMAL_UNITS: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT_BEYOND_ANY_AMOUNT: Final = 80
"""Any non-zero digits times ten to this saturate, also after a nano-sized factor: no need to build the number."""


class QuantityError(ValueError):
    """A value that is not a Kubernetes quantity."""


def parse_quantity(value: object) -> Fraction:
    """Return the exact value of a quantity as it is in JSON: a string or a number.

    As in Kubernetes, what is finer than nano is rounded away from zero to nano, and a value with a binary suffix is
    capped to an int64.
    """
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float):
        return _parse_text(repr(value))
    raise QuantityError(f"{value!r} is not a quantity: must be a string such as 500m or 1Gi, or a number")


def request_amount(resource: str, value: object) -> int:
    """Return the amount of `resource` that a request of `value` asks for, saturated to an int64."""
    if isinstance(value, str):
        return _request_amount_of_text(resource == _CPU, value)
    return to_amount(resource, parse_quantity(value))


def quota_amount(resource: str, value: object) -> int:
    """Return the amount of a quota or limit; what an int64 cannot count is UNLIMITED."""
    quantity = parse_quantity(value)
    if quantity >= (_UNLIMITED_CORES if resource == _CPU else UNLIMITED):
        return UNLIMITED
    return to_amount(resource, quantity)


def to_amount(resource: str, quantity: Fraction) -> int:
    """Round an exact quantity away from zero to the unit that `resource` is counted in, saturated."""
    return _round_and_saturate(quantity * 1000 if resource == _CPU else quantity)


def unchecked_amount(resource: str, value: object) -> int:
    """Return the amount that Kubernetes' plain conversion gives, which does not look for overflow.

    A number that it keeps as digits and an exponent becomes zero when it is too large; of others the low 64 bits stay.
    """
    exact = parse_quantity(value)
    scaled = exact * 1000 if resource == _CPU else exact
    amount = _round_away_from_zero(scaled)
    if MIN_AMOUNT <= amount <= UNLIMITED:
        return amount
    if _is_small_number(_split(value if isinstance(value, str) else repr(value))):
        return 0
    return wrap(amount)


def wrap(amount: int) -> int:
    """Return the low 64 bits of an integer as a signed one."""
    return (amount + 2**63) % 2**64 - 2**63


def add(a: int, b: int) -> int:
    """Return a + b, where UNLIMITED absorbs everything and bounded sums saturate."""
    if UNLIMITED in (a, b):
        return UNLIMITED
    return saturate(a + b)


def sub(a: int, b: int) -> int:
    """Return a - b: UNLIMITED less itself is nothing, less a bounded amount is still UNLIMITED."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    if b == UNLIMITED:
        return MIN_AMOUNT
    return saturate(a - b)


def saturate(amount: int) -> int:
    """Bound an integer to what an int64 can hold."""
    if amount > UNLIMITED:
        return UNLIMITED
    return max(amount, MIN_AMOUNT)


def format_amount(resource: str, amount: int) -> str:
    """Write an amount as the quantity that Kueue prints in messages and status."""
    if amount == UNLIMITED:
        return UNLIMITED_TEXT
    return format_request(resource, amount)


def format_request(resource: str, amount: int) -> str:
    """Write an amount that has no notion of "unlimited", such as the usage of a workload."""
    if resource == _CPU:
        return _format_milli(amount)
    is_binary = resource in _BINARY_FORMAT_RESOURCES or resource.startswith(_BINARY_FORMAT_PREFIX)
    if is_binary and amount % 1024 == 0 and amount != MIN_AMOUNT:
        return _with_unit(amount, 1024, _BINARY_UNITS)
    return _with_unit(amount, 1000, _DECIMAL_UNITS)


@lru_cache(maxsize=1 << 16)
def _request_amount_of_text(in_milli: bool, text: str) -> int:
    quantity = _parse_text(text)
    return _round_and_saturate(quantity * 1000 if in_milli else quantity)


class _Written(NamedTuple):
    """The parts of a quantity as it was written."""

    is_negative: bool
    whole: str
    fraction: str
    binary_exponent: int | None
    decimal_exponent: int
    suffix: str


@lru_cache(maxsize=1 << 14)
def _parse_text(raw: str) -> Fraction:
    written = _split(raw)
    digits = (written.whole + written.fraction).lstrip("0")
    if not digits:
        return Fraction(0)
    if written.binary_exponent is None:
        magnitude = _scale_by_ten(digits, written.decimal_exponent - len(written.fraction))
    else:
        exact = _scale_by_ten(digits, -len(written.fraction), power_of_two=written.binary_exponent)
        magnitude = min(exact, Fraction(UNLIMITED))
    return -magnitude if written.is_negative else magnitude


def _split(raw: str) -> _Written:
    text = raw.strip()
    if len(text) > _MAX_LENGTH:
        raise QuantityError(f"{text[:32]!r}... is not a quantity: longer than {_MAX_LENGTH} characters")
    match = _GRAMMAR.fullmatch(text)
    if match is None or not text:
        raise QuantityError(
            f"{raw!r} is not a quantity: must be a number with an optional suffix "
            f"(n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3)"
        )
    sign, whole, fraction, suffix = match.group(1), match.group(2), match.group(3) or "", match.group(4)
    binary_exponent = _BINARY_SUFFIXES.get(suffix)
    decimal_exponent = 0 if binary_exponent is not None else _decimal_exponent(raw, suffix)
    if not whole and not fraction:
        _check_zero_is_written_out(raw, binary_exponent, decimal_exponent)
    return _Written(sign == "-", whole, fraction, binary_exponent, decimal_exponent, suffix)


def _decimal_exponent(raw: str, suffix: str) -> int:
    known = _DECIMAL_SUFFIXES.get(suffix)
    if known is not None:
        return known
    if _EXPONENT.fullmatch(suffix):
        exponent = int(suffix[1:])
        if -(2**63) <= exponent < 2**63:
            return (exponent + 2**31) % 2**32 - 2**31  # Kubernetes keeps the low 32 bits
    raise QuantityError(f"{raw!r} is not a quantity: unknown suffix {suffix!r}")


def _check_zero_is_written_out(raw: str, binary_exponent: int | None, decimal_exponent: int) -> None:
    """Refuse a bare suffix where Kubernetes does: it reads `m` as zero, but neither `Ei` nor `e-12`."""
    if (binary_exponent or 0) >= _BINARY_SUFFIXES["Pi"] or decimal_exponent < _NANO:
        raise QuantityError(f"{raw!r} is not a quantity: it has no digits")


def _scale_by_ten(digits: str, exponent: int, power_of_two: int = 0) -> Fraction:
    """Return digits x 10^exponent x 2^power_of_two, rounded up to nano, in bounded time for any exponent."""
    exponent = min(exponent, _EXPONENT_BEYOND_ANY_AMOUNT)
    unscaled = int(digits) << power_of_two
    if exponent >= _NANO:
        return Fraction(unscaled * 10**exponent) if exponent >= 0 else Fraction(unscaled, 10**-exponent)
    surplus_digits = _NANO - exponent
    if surplus_digits > len(digits) + power_of_two:
        return Fraction(1, 10**-_NANO)
    return Fraction(-(-unscaled // 10**surplus_digits), 10**-_NANO)


def _round_and_saturate(quantity: Fraction) -> int:
    return saturate(_round_away_from_zero(quantity))


def _round_away_from_zero(quantity: Fraction) -> int:
    numerator, denominator = quantity.numerator, quantity.denominator
    return numerator // denominator if numerator < 0 else -(-numerator // denominator)


def canonical_text(value: object) -> str:
    """Write a quantity as Kubernetes does after reading it: `1000m` becomes `1`, but `1Gi` not `1073741824`."""
    text = value if isinstance(value, str) else repr(value)
    return _canonical_text(text)


@lru_cache(maxsize=1 << 14)
def _canonical_text(raw: str) -> str:
    quantity, written = _parse_text(raw), _split(raw)
    if not quantity:
        return "0"
    if _is_kept_as_written(written):
        return raw.strip()
    if written.binary_exponent is not None and quantity.denominator == 1 and abs(quantity) >= 1024:
        return _with_unit(int(quantity), 1024, _BINARY_UNITS)
    nanos, exponent = int(quantity * 10**-_NANO), _NANO
    while nanos % 1000 == 0:
        nanos, exponent = nanos // 1000, exponent + 3
    if _EXPONENT.fullmatch(written.suffix):
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX_OF.get(exponent, '')}"


def _is_small_number(written: _Written) -> bool:
    """Return whether Kubernetes keeps the number as an int64 of digits and an exponent, and not as a big decimal."""
    whole = written.whole.lstrip("0") or "0"
    if written.binary_exponent is not None:
        return not written.fraction and 14 - len(whole) - written.binary_exponent * 3 // 10 >= 0
    scale = written.decimal_exponent - len(written.fraction)
    return len(whole + written.fraction) <= _INT64_DIGITS and scale >= _NANO


def _is_kept_as_written(written: _Written) -> bool:
    """Return whether Kubernetes takes the text for canonical already and keeps it, sign and zeros included."""
    if not _is_small_number(written):
        return False
    whole = written.whole.lstrip("0") or "0"
    if written.binary_exponent is not None:
        return int(whole) & 7 != 0
    digits, scale = whole + written.fraction, written.decimal_exponent - len(written.fraction)
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _format_milli(amount: int) -> str:
    if amount % 1000:
        return f"{amount}m"
    return _with_unit(amount // 1000, 1000, _DECIMAL_UNITS)


def _with_unit(amount: int, base: int, units: tuple[str, ...]) -> str:
    unit = 0
    while amount and amount % base == 0:
        amount //= base
        unit += 1
    return f"{amount}{units[unit]}"
