"""Quantities: what Kubernetes reads, and the integers Kueue makes of it."""

from fractions import Fraction

import pytest

from config.api.quantity import (
    MIN_AMOUNT,
    UNLIMITED,
    QuantityError,
    add,
    canonical_text,
    format_amount,
    format_request,
    parse_quantity,
    quota_amount,
    request_amount,
    saturate,
    sub,
    unchecked_amount,
)


@pytest.mark.parametrize(
    ("written", "want"),
    [
        ("1", Fraction(1)),
        ("500m", Fraction(1, 2)),
        ("1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("1.G", Fraction(10**9)),
        ("+3", Fraction(3)),
        ("-250m", Fraction(-1, 4)),
        ("1n", Fraction(1, 10**9)),
        ("333333u", Fraction(333333, 10**6)),
        ("2Ki", Fraction(2048)),
        ("0.5Ki", Fraction(512)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("5e-2", Fraction(1, 20)),
        (" 7 ", Fraction(7)),
        ("m", Fraction(0)),
        (3, Fraction(3)),
        (1.5, Fraction(3, 2)),
        (1e21, Fraction(10**21)),
    ],
)
def test_quantity_is_read_exactly(written: object, want: Fraction) -> None:
    assert parse_quantity(written) == want


@pytest.mark.parametrize(
    ("written", "want"),
    [("0.1n", Fraction(1, 10**9)), ("-0.1n", Fraction(-1, 10**9)), ("1.0000000001", Fraction(1_000_000_001, 10**9))],
)
def test_finer_than_nano_is_rounded_away_from_zero(written: str, want: Fraction) -> None:
    assert parse_quantity(written) == want


def test_binary_suffix_is_capped_to_int64_but_decimal_is_not() -> None:
    assert parse_quantity("9Ei") == UNLIMITED
    assert parse_quantity("-9Ei") == -UNLIMITED
    assert parse_quantity("100E") == 10**20


@pytest.mark.parametrize(
    "written",
    [
        "",
        "abc",
        "1Zi",
        "1e",
        "--1",
        "1..5",
        "1_000",
        "0x10",
        "1 2",
        "Ei",
        "e-12",
        "1e99999999999999999999",
        "٣",
        "1\n2",
    ],
)
def test_text_that_is_no_quantity_is_refused_with_its_value(written: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity") as caught:
        parse_quantity(written)
    assert repr(written) in str(caught.value)


@pytest.mark.parametrize("value", [None, True, [], {}, float("inf"), float("nan")])
def test_values_of_other_types_are_refused(value: object) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(value)


@pytest.mark.parametrize("written", ["1e999999999", "-1e999999999", "1e-999999999", "9" * 1000 + "e2147483647"])
def test_absurd_exponents_cost_nothing(written: str) -> None:
    assert abs(request_amount("cpu", written)) in (1, UNLIMITED, -MIN_AMOUNT)


def test_overlong_text_is_refused() -> None:
    with pytest.raises(QuantityError, match="longer than"):
        parse_quantity("1" * 5000)


@pytest.mark.parametrize(
    ("resource", "written", "want"),
    [
        pytest.param("cpu", "1n", 1, id="cpu rounds up to a milli"),
        pytest.param("cpu", "333333u", 334, id="11: 333333u of cpu is 334m"),
        pytest.param("cpu", 2, 2000, id="cpu of a JSON number"),
        pytest.param("memory", "100m", 1, id="memory rounds up to a byte"),
        pytest.param("memory", "1Gi", 2**30, id="binary suffix"),
        pytest.param("nvidia.com/gpu", 1.5, 2, id="other resources count whole units"),
        pytest.param("cpu", "10E", UNLIMITED, id="requests saturate"),
        pytest.param("cpu", "-10E", MIN_AMOUNT, id="negative requests saturate"),
        pytest.param("cpu", "-1500u", -2, id="negative amounts round away from zero"),
    ],
)
def test_request_amount(resource: str, written: object, want: int) -> None:
    assert request_amount(resource, written) == want


@pytest.mark.parametrize(
    ("resource", "written", "want"),
    [
        pytest.param("cpu", "10E", UNLIMITED, id="10: 10E cpu is unlimited"),
        pytest.param("cpu", "9223372036854775", UNLIMITED, id="cpu from floor(MaxInt64/1000) cores on"),
        pytest.param("cpu", "9223372036854774", 9223372036854774000, id="cpu just below"),
        pytest.param("memory", "9223372036854775807", UNLIMITED, id="memory from MaxInt64 on"),
        pytest.param("memory", "9223372036854775806", 9223372036854775806, id="memory just below"),
        pytest.param("memory", "8Ei", UNLIMITED, id="memory 8Ei"),
        pytest.param("cpu", "1500m", 1500, id="ordinary"),
    ],
)
def test_quota_amount(resource: str, written: str, want: int) -> None:
    assert quota_amount(resource, written) == want


def test_saturating_arithmetic_treats_unlimited_as_absorbing() -> None:
    assert add(UNLIMITED, -5) == UNLIMITED
    assert add(UNLIMITED - 1, 5) == UNLIMITED
    assert add(MIN_AMOUNT, -1) == MIN_AMOUNT
    assert sub(UNLIMITED, UNLIMITED) == 0
    assert sub(UNLIMITED, 7) == UNLIMITED
    assert sub(7, UNLIMITED) == MIN_AMOUNT
    assert sub(MIN_AMOUNT, 1) == MIN_AMOUNT
    assert sub(-1, MIN_AMOUNT) == UNLIMITED
    assert saturate(2**70) == UNLIMITED


@pytest.mark.parametrize(
    ("resource", "amount", "want"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("cpu", 2_000_000, "2k"),
        ("cpu", 0, "0"),
        ("cpu", -500, "-500m"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1500 * 2**20, "1500Mi"),
        ("memory", 1000, "1k"),
        ("memory", 400_000, "400k"),
        ("memory", 1025, "1025"),
        ("memory", MIN_AMOUNT, "-9223372036854775808"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("ephemeral-storage", 2**10, "1Ki"),
        ("nvidia.com/gpu", 1000, "1k"),
        ("pods", 12, "12"),
    ],
)
def test_amount_is_written_as_kueue_prints_it(resource: str, amount: int, want: str) -> None:
    assert format_amount(resource, amount) == want


def test_only_quota_amounts_know_unlimited() -> None:
    assert format_amount("cpu", UNLIMITED) == "<unlimited>"
    assert format_request("memory", UNLIMITED) == "9223372036854775807"


@pytest.mark.parametrize(
    ("written", "want"),
    [
        ("1000m", "1"),
        ("1.5", "1500m"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1073741824", "1073741824"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("1.500", "1.500"),
        ("0.1Ki", "102400m"),
        ("0Gi", "0"),
        (2, "2"),
    ],
)
def test_canonical_text_is_what_kubernetes_writes_back(written: object, want: str) -> None:
    assert canonical_text(written) == want


@pytest.mark.parametrize(
    ("resource", "value", "want"),
    [
        ("cpu", "2", 2000),
        ("cpu", "1P", 10**18),
        ("cpu", "9E", 0),
        ("cpu", "9e18", 0),
        ("cpu", "9223372036854775807m", 2**63 - 1),
        ("cpu", "9223372036854775807", -1000),
        ("cpu", "8Ei", -1000),
        ("memory", "8Ei", 2**63 - 1),
        ("memory", "9E", 9 * 10**18),
        ("memory", "10E", 0),
        ("memory", "18446744073709551617", 1),
        ("memory", "-18446744073709551617", -1),
        ("memory", 7, 7),
    ],
)
def test_an_unchecked_amount_overflows_as_kubernetes_own_conversion_does(
    resource: str, value: object, want: int
) -> None:
    assert unchecked_amount(resource, value) == want
