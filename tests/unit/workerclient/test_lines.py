"""A stream is cut into lines wherever its chunks end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workerclient.wire.lines import LineSplitter, LineTooLongError


@settings(deadline=None)
@given(st.lists(st.binary().filter(lambda line: b"\n" not in line)), st.data())
def test_any_cut_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(1 << 20)
    found: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == [line for line in lines if line]


def test_a_line_that_outgrows_the_limit_is_refused_before_it_ends() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"0123456789") == []
    with pytest.raises(LineTooLongError, match="a line has more than 10 bytes"):
        splitter.feed(b"0")
