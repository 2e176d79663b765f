"""The demo's screen fits terminals: nothing is cut without a mark, and everything that it explains is there."""

from pathlib import Path

import pytest

from manager.demo.frame import Frame
from tests.screens.demo_frames import FORETOLD, KUBECONFIG, OPEN, PICTURES, recorded, svg

SIZES = [(80, 24), (120, 40), (60, 15), (200, 50)]


def rows(frame: Frame, width: int, height: int) -> list[str]:
    return recorded(frame, width, height).export_text().splitlines()


@pytest.mark.parametrize(("width", "height"), SIZES, ids=str)
@pytest.mark.parametrize("frame", [FORETOLD, OPEN, Frame()], ids=["foretold", "open", "starting"])
def test_it_is_as_large_as_the_terminal(frame: Frame, width: int, height: int) -> None:
    drawn = rows(frame, width, height)
    assert len(drawn) <= height
    assert max(map(len, drawn)) <= width


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_what_matters_is_there_in_whole_words(width: int, height: int) -> None:
    drawn = rows(OPEN, width, height)
    text = " ".join(line.strip("│ ") for line in drawn)
    for expected in (
        "Act 3 of 4: A preemption gets stuck; the next worker takes over",
        "After 8 s (by default 5 minutes) the next gate opens.",
        "─ worker-1 ─",
        "─ 2 preempted ─",
        "batch-1  told to stop",
        "batch-4  would stop",
        "urgent-b GATE OPEN 5 s",
        "gate open: worker-1 since 12:00:00",
        "next is worker-2",
        "batch-1 and batch-3 ignore it: urgent-b cannot start",
        "space hold  n next act  q quit",
        "■ low priority  ■ told to stop  ■ urgent",
        KUBECONFIG,
    ):
        assert expected in text, expected


def test_a_message_that_is_too_long_is_marked() -> None:
    assert any(line.rstrip("│ ").endswith(" …") for line in rows(OPEN, 60, 24))


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_the_pictures_in_the_docs_are_what_is_drawn(path: Path) -> None:
    assert path.read_text() == svg(*PICTURES[path]), "run `make docs`"
