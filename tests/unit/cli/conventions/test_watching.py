"""`--watch`: what is printed when something changes, and when nothing answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from manager.cli.conventions.ages import age, span, until
from manager.cli.conventions.errors import NoAnswerError
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import Report, TableColumn, TableView
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.conventions.watching import Follower, Redrawing, follow

COLUMNS = (TableColumn("NAME", lambda each: each["name"]), TableColumn("SIZE", lambda each: each["size"]))


def listing(**sizes: int) -> TableView:
    items: list[dict[str, Any]] = [{"name": name, "size": size} for name, size in sizes.items()]
    return TableView("ThingList", items, COLUMNS, lambda each: f"thing/{each['name']}", "nothing")


def told(form: Form, *listings: TableView) -> list[str]:
    follower = Follower(form, TerminalScreen())
    return [line for each in listings for line in follower.lines(each)]


STEPS = (listing(a=1, b=2), listing(a=1, b=2), listing(a=1, b=3, longer=4), listing(b=3, longer=4))


def test_a_table_grows_by_what_changed() -> None:
    assert told(Form.TABLE, *STEPS) == [
        "NAME  SIZE",
        "a     1",
        "b     2",
        "b       3",
        "longer  4",
        "thing/a gone",
    ]


def test_documents_are_events() -> None:
    events = [(event["type"], event["object"]["name"]) for event in map(json.loads, told(Form.JSON, *STEPS))]
    assert events == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "b"), ("ADDED", "longer"), ("DELETED", "a")]
    text = "\n".join(told(Form.YAML, *STEPS))
    assert [event["type"] for event in yaml.safe_load_all(text)] == [kind for kind, _ in events]


def test_names_are_those_that_changed() -> None:
    assert told(Form.NAME, *STEPS) == ["thing/a", "thing/b", "thing/b", "thing/longer"]


def test_a_report_is_told_again_when_its_state_changes() -> None:
    def report(size: int, moment: int) -> Report:
        body = {"size": size, "asOf": moment}
        return Report("Thing", body, lambda _screen, _wide: [f"{size} at {moment}"], [], {"size": size})

    follower = Follower(Form.TABLE, TerminalScreen())
    lines = [line for each in (report(1, 1), report(1, 2), report(2, 3)) for line in follower.lines(each)]
    assert lines == ["1 at 1", "", "2 at 3"]


def aged(now: int, **born: int) -> TableView:
    """Return things with their ages at a moment."""
    columns = (COLUMNS[0], TableColumn("AGE", lambda each: f"{now - each['born']}s"))
    items: list[dict[str, Any]] = [{"name": name, "born": moment} for name, moment in born.items()]
    gone = lambda each: f"{each['name']} of team finished or gone"  # noqa: E731
    return TableView("ThingList", items, columns, lambda each: each["name"], "nothing here", gone=gone)


def test_a_row_that_changes_later_has_the_age_of_that_moment() -> None:
    assert told(Form.TABLE, aged(0, a=0), aged(20, a=0, b=15)) == ["NAME  AGE", "a     0s", "b     5s"]
    assert told(Form.TABLE, aged(0, a=0), aged(5)) == ["NAME  AGE", "a     0s", "a of team finished or gone"]


def window(width: int = 40, height: int = 24) -> TerminalScreen:
    return TerminalScreen(is_terminal=True, has_colours=False, width=width, height=height)


def test_on_a_terminal_the_screen_is_drawn_again_in_place_with_true_ages() -> None:
    drawing = Redrawing(Form.TABLE, window)
    assert drawing.text(aged(0, a=0)) == "\r\x1b[JNAME  AGE\na     0s\n"
    assert drawing.text(aged(20, a=0)) == "\x1b[2A\r\x1b[JNAME  AGE\na     20s\n", "nothing changed but the time"
    assert drawing.text(aged(30)) == "\x1b[2A\r\x1b[Jnothing here\n"
    assert drawing.text(None, "no daemon answers; waiting") == (
        "\x1b[1A\r\x1b[Jnothing here\nno daemon answers; waiting\n"
    )
    assert drawing.text(aged(40, a=0)) == "\x1b[2A\r\x1b[JNAME  AGE\na     40s\n"


def test_what_does_not_fit_on_the_screen_is_counted() -> None:
    drawing = Redrawing(Form.TABLE, lambda: window(height=4))
    listing_of_many = aged(0, **dict.fromkeys("abcdef", 0))
    assert drawing.text(listing_of_many) == "\r\x1b[JNAME  AGE\na     0s\n… and 5 more lines; a pipe gets them all\n"


def test_a_wide_table_does_not_wrap_while_it_is_drawn_in_place() -> None:
    wide = Redrawing(Form.WIDE, lambda: window(width=6)).text(aged(0, a=0))
    assert wide == "\r\x1b[JNAME …\na    …\n"


def test_a_window_that_became_smaller_is_drawn_within_its_new_size() -> None:
    sizes = iter([window(height=24), window(height=3)])
    drawing = Redrawing(Form.TABLE, lambda: next(sizes))
    drawing.text(aged(0, a=0, b=0, c=0))
    assert drawing.text(aged(1, a=0)).startswith("\x1b[2A\r\x1b[J")


def test_a_report_is_drawn_in_place_as_well() -> None:
    report = Report("Thing", {}, lambda _screen, _wide: ["next      the gate opens in 18 s, unless there is room"], [])
    assert Redrawing(Form.TABLE, lambda: window(width=30)).text(report) == (
        "\r\x1b[Jnext      the gate opens in 18\n          s, unless there is\n          room\n"
    )


class StopError(Exception):
    """Ends an endless command."""


def fetching(answers: Iterator[TableView | NoAnswerError]) -> TableView:
    try:
        answer = next(answers)
    except StopIteration:
        raise StopError from None
    if isinstance(answer, NoAnswerError):
        raise answer
    return answer


def test_a_daemon_that_falls_silent_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    silence = NoAnswerError("no daemon answers")
    answers: Iterator[TableView | NoAnswerError] = iter([listing(a=1), silence, silence, listing(a=2), silence])
    with pytest.raises(StopError):
        follow(lambda: fetching(answers), Form.TABLE, lambda: None, TerminalScreen)
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["NAME  SIZE", "a     1", "a     2"]
    assert printed.err.splitlines() == ["no daemon answers; waiting"] * 2


def test_who_never_answered_is_not_waited_for() -> None:
    answers: Iterator[TableView | NoAnswerError] = iter([NoAnswerError("no daemon answers")])
    with pytest.raises(NoAnswerError):
        follow(lambda: fetching(answers), Form.TABLE, lambda: None, TerminalScreen)


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (-5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (601, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (12_000, "3h20m"),
        (30_000, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
    ],
)
def test_a_span_is_written_as_people_say_it(seconds: int, want: str) -> None:
    assert span(seconds) == want


def test_ages_refer_to_the_time_of_the_answer() -> None:
    now = "2027-01-15T08:00:00Z"
    assert age("2027-01-15T07:59:00Z", now) == "60s"
    assert age("", now) == "-"
    assert until("2027-01-15T08:00:30Z", now) == "in 30s"
    assert until("2027-01-15T07:00:30Z", now) == "over"
    assert until("", now) == "-"
