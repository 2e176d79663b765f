"""Durations behave exactly as Go's do."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.types.duration import (
    DurationError,
    format_duration,
    go_string,
    nanoseconds_of,
    parse_duration,
    parse_nanoseconds,
)

# Printed by Go 1.26's time.ParseDuration and Duration.String; None where Go returns an error.
GO: dict[str, tuple[int, str] | None] = {
    "0": (0, "0s"),
    "-0": (0, "0s"),
    "+0": (0, "0s"),
    "5s": (5000000000, "5s"),
    "30s": (30000000000, "30s"),
    "1478s": (1478000000000, "24m38s"),
    "-5s": (-5000000000, "-5s"),
    "+5s": (5000000000, "5s"),
    "5.0s": (5000000000, "5s"),
    "5.6s": (5600000000, "5.6s"),
    "5.": None,
    "5.s": (5000000000, "5s"),
    ".5s": (500000000, "500ms"),
    "1.0s": (1000000000, "1s"),
    "1.00s": (1000000000, "1s"),
    "1.004s": (1004000000, "1.004s"),
    "1.0040s": (1004000000, "1.004s"),
    "100.00100s": (100001000000, "1m40.001s"),
    "10ns": (10, "10ns"),
    "11us": (11000, "11µs"),
    "12µs": (12000, "12µs"),
    "12μs": (12000, "12µs"),
    "13ms": (13000000, "13ms"),
    "14s": (14000000000, "14s"),
    "15m": (900000000000, "15m0s"),
    "16h": (57600000000000, "16h0m0s"),
    "3h30m": (12600000000000, "3h30m0s"),
    "10.5s4m": (250500000000, "4m10.5s"),
    "-2m3.4s": (-123400000000, "-2m3.4s"),
    "1h2m3s4ms5us6ns": (3723004005006, "1h2m3.004005006s"),
    "39h9m14.425s": (140954425000000, "39h9m14.425s"),
    "52763797000ns": (52763797000, "52.763797s"),
    "0.3333333333333333333h": (1200000000000, "20m0s"),
    "9007199254740993ns": (9007199254740993, "2501h59m59.254740993s"),
    "9223372036854775807ns": (9223372036854775807, "2562047h47m16.854775807s"),
    "9223372036854775.807us": (9223372036854775807, "2562047h47m16.854775807s"),
    "9223372036s854ms775us807ns": (9223372036854775807, "2562047h47m16.854775807s"),
    "-9223372036854775808ns": (-9223372036854775808, "-2562047h47m16.854775808s"),
    "9223372036854775808ns": None,
    "0.100000000000000000000h": (360000000000, "6m0s"),
    "0.830103483285477580700h": (2988372539827, "49m48.372539827s"),
    "": None,
    "3": None,
    "-": None,
    "s": None,
    ".": None,
    "-.": None,
    "-.s": None,
    "+.s": None,
    "1d": None,
    "5m ": None,
    "1h-3m": None,
    " 5m": None,
    "5 m": None,
    "1e3s": None,
    "0x10s": None,
    "3000000h": None,
    "00": None,
    "1.5h": (5400000000000, "1h30m0s"),
    "300ms": (300000000, "300ms"),
    "2562047h47m16.854775808s": None,
    "-2562047h47m16.854775808s": (-9223372036854775808, "-2562047h47m16.854775808s"),
    "0.00000000000000000000000000009223372036854775807h": (0, "0s"),
    "0.9223372036854775808h": (3320413933267, "55m20.413933267s"),
    "0.92233720368547758090h": (3320413933267, "55m20.413933267s"),
    "168h": (604800000000000, "168h0m0s"),
    "1m60s": (120000000000, "2m0s"),
}
INT64 = st.integers(-(2**63), 2**63 - 1)
UNITS = st.sampled_from(["ns", "us", "µs", "μs", "ms", "s", "m", "h"])
TERMS = st.lists(
    st.tuples(st.integers(0, 10**5), st.one_of(st.none(), st.text("0123456789", max_size=25)), UNITS), max_size=8
)


@pytest.mark.parametrize("text", GO, ids=[repr(text) for text in GO])
def test_parses_and_prints_what_go_does(text: str) -> None:
    want = GO[text]
    if want is None:
        with pytest.raises(DurationError):
            parse_nanoseconds(text)
    else:
        assert (parse_nanoseconds(text), go_string(parse_nanoseconds(text))) == want


@given(INT64)
def test_what_go_string_prints_parses_to_the_same(nanoseconds: int) -> None:
    assert parse_nanoseconds(go_string(nanoseconds)) == nanoseconds


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_what_format_duration_prints_parses_to_the_same(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration
    assert nanoseconds_of(duration) == parse_nanoseconds(format_duration(duration))


@given(TERMS)
def test_terms_add_up(terms: list[tuple[int, str | None, str]]) -> None:
    texts = [f"{whole}{'' if fraction is None else '.' + fraction}{unit}" for whole, fraction, unit in terms]
    if texts and len("".join(texts)) <= 128:
        assert parse_nanoseconds("".join(texts)) == sum(map(parse_nanoseconds, texts))


@given(st.text(max_size=200))
def test_any_text_parses_or_is_refused_with_a_sentence(text: str) -> None:
    try:
        parse_nanoseconds(text)
    except DurationError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right; only another exception is not


@pytest.mark.parametrize(
    ("duration", "want"),
    [
        (timedelta(0), "0s"),
        (timedelta(minutes=5), "5m"),
        (timedelta(hours=1), "1h"),
        (timedelta(hours=1, minutes=30), "1h30m"),
        (timedelta(hours=1, seconds=1), "1h0m1s"),
        (timedelta(minutes=10), "10m"),
        (timedelta(seconds=10), "10s"),
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(days=7), "168h"),
        (timedelta(seconds=-90), "-1m30s"),
    ],
)
def test_prints_for_people_without_trailing_zero_parts(duration: timedelta, want: str) -> None:
    assert format_duration(duration) == want


def test_refuses_what_a_timedelta_cannot_hold() -> None:
    with pytest.raises(DurationError, match="microsecond"):
        parse_duration("1500ns")
