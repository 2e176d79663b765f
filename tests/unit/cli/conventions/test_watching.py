"""`--watch`: what is printed when something changes, and when nobody answers."""

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
from manager.cli.conventions.watching import Follower, follow

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
        follow(lambda: fetching(answers), Form.TABLE, lambda: None, TerminalScreen())
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["NAME  SIZE", "a     1", "a     2"]
    assert printed.err.splitlines() == ["no daemon answers; waiting"] * 2


def test_who_never_answered_is_not_waited_for() -> None:
    answers: Iterator[TableView | NoAnswerError] = iter([NoAnswerError("no daemon answers")])
    with pytest.raises(NoAnswerError):
        follow(lambda: fetching(answers), Form.TABLE, lambda: None, TerminalScreen())


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
