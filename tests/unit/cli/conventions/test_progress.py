"""What a person sees while a command works for longer than a second."""

import threading
from collections.abc import Callable
from io import StringIO

import pytest

from manager.cli.conventions.progress import frames, working


class Terminal(StringIO):
    """A stream that a person looks at."""

    def isatty(self) -> bool:
        return True


def done_after(waits: int) -> Callable[[float], bool]:
    left = [waits]

    def is_over(_seconds: float) -> bool:
        left[0] -= 1
        return left[0] < 0

    return is_over


def test_what_is_done_within_a_second_shows_nothing() -> None:
    assert list(frames("reading", done_after(0))) == []


def test_what_takes_longer_turns_counts_and_goes() -> None:
    assert list(frames("reading", done_after(3))) == ["| reading (1 s)", "/ reading (1 s)", "- reading (1 s)", ""]
    assert list(frames("reading", done_after(8)))[-2] == "\\ reading (2 s)"


@pytest.mark.parametrize("dumb", [True, False])
def test_only_a_terminal_that_can_be_drawn_on_gets_it(monkeypatch: pytest.MonkeyPatch, dumb: bool) -> None:
    monkeypatch.setenv("TERM", "dumb" if dumb else "xterm")
    stream = Terminal() if dumb else StringIO()
    with working("reading", stream):
        assert threading.active_count() == 1 or "progress" not in {each.name for each in threading.enumerate()}
    assert stream.getvalue() == ""


def test_an_error_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ValueError, match="broken"), working("reading", Terminal()):
        raise ValueError("broken")
    assert "progress" not in {each.name for each in threading.enumerate()}
