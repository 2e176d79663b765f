"""The cells of `turnstile top`."""

import pytest

from manager.cli.conventions.terminal import Tone
from manager.cli.top.cells import bar, countdown, lane_cell, lanes_cell, quota_segment, quota_tone
from tests.unit.cli.top.fleets import NOW_NS, Obj, lane, quota

ENDS = "2027-01-15T08:00:22Z"
LANES: dict[str, tuple[Obj, str, Tone | None]] = {
    "a closed gate": (lane(), "closed", None),
    "a closed gate where it would fit": (lane(verdict="Fits", victims=0), "closed fits", None),
    "a worker that cannot take it": (lane(verdict="Cannot", victims=0), "closed ×", None),
    "a forecast that is not made": (lane(verdict="Unsupported", victims=0), "closed ?", None),
    "a request": (lane(state="AsksToPreempt", gate="Asked"), "asks", Tone.DOUBTFUL),
    "a request with victims": (
        lane(state="AsksToPreempt", gate="Asked", verdict="Preempts", victims=2),
        "asks 2v",
        Tone.DOUBTFUL,
    ),
    "an open gate counts down": (lane(gate="Open", windowEnds=ENDS), "OPEN 22s", Tone.STRONG),
    "a window that is over": (lane(gate="Open", windowEnds="2027-01-15T07:59:00Z"), "open", Tone.STRONG),
    "the longest": (
        lane(gate="Open", windowEnds="2027-01-15T08:04:48Z", verdict="Preempts", victims=3),
        "OPEN 4:48 3v",
        Tone.STRONG,
    ),
    "no gate": (lane(gate=""), "no gate", None),
    "quota": (lane(state="QuotaReserved"), "reserved", Tone.GOOD),
    "the winner": (lane(state="Admitted", won=True), "RUNS", Tone.GOOD),
    "admitted before it won": (lane(state="Admitted"), "admitted", Tone.GOOD),
    "no replica": (lane(state="Missing", gate=""), "-", None),
    "a lost worker": (lane(state="Unreachable"), "away", Tone.BAD),
    "a replica that cannot be read": (lane(state="Problem"), "unreadable", Tone.BAD),
}


@pytest.mark.parametrize("case", LANES)
def test_a_lane_in_a_few_characters(case: str) -> None:
    document, text, tone = LANES[case]
    cell = lane_cell(document, NOW_NS)
    assert (cell.text, cell.tone) == (text, tone)
    assert len(cell.text) <= 12


def test_many_lanes_in_one_cell_begin_with_those_on_which_something_happens() -> None:
    lanes = [lane("a"), lane("b", state="AsksToPreempt", gate="Asked"), lane("c", gate="Open", windowEnds=ENDS)]
    lanes.append(lane("d", state="Missing", gate=""))
    assert lanes_cell(lanes, 0, NOW_NS, 80).text == "c OPEN 22s, b asks, a closed"
    assert lanes_cell(lanes, 4, NOW_NS, 25).text == "c OPEN 22s, b asks +5"
    assert lanes_cell([], 0, NOW_NS, 80).text == "-"


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, "░░░░░░░░"),
        (0.01, "█░░░░░░░"),
        (0.5, "████░░░░"),
        (0.99, "████████"),
        (1.5, "████████"),
        (None, "        "),
    ],
)
def test_a_bar_shows_the_part_that_is_used(share: float | None, drawn: str) -> None:
    assert bar(share) == drawn


def test_a_quota_names_its_resource_in_short() -> None:
    assert quota_segment(quota("3", "4", 0.75, "nvidia.com/gpu")) == "gpu ██████░░ 3/4"
    assert quota_segment(quota("0", "<unlimited>", None)) == "cpu          0/<unlimited>"


def test_the_fullest_quota_gives_the_colour() -> None:
    assert quota_tone([None, 0.1]) is None
    assert quota_tone([0.1, 0.95]) is Tone.DOUBTFUL
    assert quota_tone([1.2, 0.95]) is Tone.BAD


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59, "59s"), (60, "1:00"), (605, "10:05"), (7200, "120m")])
def test_a_countdown_is_short(seconds: int, text: str) -> None:
    assert countdown(seconds) == text
