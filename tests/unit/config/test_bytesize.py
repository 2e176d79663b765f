"""Sizes are whole bytes, whatever unit they are written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.types.byte_size import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "want"), [("0", 0), ("1024", 1024), ("1Ki", 1024), ("1k", 1000), ("256Mi", 256 << 20), ("2T", 2 * 10**12)]
)
def test_parses_quantities(text: str, want: int) -> None:
    assert parse_size(text) == want


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "1KB", "Mi", "1 Mi", "1e3", "9" * 40])
def test_refuses_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="whole number and a unit"):
        parse_size(text)


@given(st.integers(0, 10**17))
def test_what_is_printed_parses_to_the_same(size: int) -> None:
    assert parse_size(format_size(size)) == size
