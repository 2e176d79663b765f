"""Go durations."""

import pytest

from config.api.duration import parse_duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("60s", 60 * SECOND),
        ("59.999s", 59_999_000_000),
        ("1h30m", 5400 * SECOND),
        ("1.5h", 5400 * SECOND),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("-1m", -60 * SECOND),
        ("+1m", 60 * SECOND),
        ("1us", 1_000),
        ("1µs", 1_000),
        ("3ns", 3),
        ("2562047h47m16.854775807s", 2**63 - 1),
    ],
)
def test_duration_is_read_in_nanoseconds(text: str, want: int) -> None:
    assert parse_duration(text) == want


@pytest.mark.parametrize("text", ["", "60", "1d", "s", "1h 30m", "1hour", "-", "1s.", 60, None, "2562048h", "1" * 300])
def test_other_values_are_refused(text: object) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)
