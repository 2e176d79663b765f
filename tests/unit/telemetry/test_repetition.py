"""Warnings that repeat are written once a minute, with the number of those that were not."""

import io
import json
from typing import Any

import pytest

from config.sections.process import Logging
from gates.model.rules import Rule
from manager.logging.logs import begin_cause, configure_logging, current_cause, get_log, suppressed_lines
from manager.logging.repetition import MOST_ALIKE, MOST_PER_EVENT, WINDOW_SECONDS


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def lines(time: Time) -> Any:
    stream = io.StringIO()
    configure_logging(Logging(), stream, time.monotonic)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    configure_logging(Logging())


def test_the_same_warning_is_written_once(lines: Any, time: Time) -> None:
    for attempt in range(5):
        begin_cause()
        get_log().warning("action.failed", worker="w1", error="no", failures=attempt)
        time.seconds += 1
    assert len(lines()) == 1
    assert suppressed_lines() == 4


def test_the_next_one_says_how_many_were_left_out(lines: Any, time: Time) -> None:
    for _ in range(5):
        get_log().warning("action.failed", worker="w1", error="no")
    time.seconds += WINDOW_SECONDS
    get_log().warning("action.failed", worker="w1", error="no")
    first, second = lines()
    assert "repeated" not in first
    assert second["repeated"] == 4


def test_another_worker_is_another_line(lines: Any) -> None:
    get_log().warning("action.failed", worker="w1", error="no")
    get_log().warning("action.failed", worker="w2", error="no")
    get_log().error("action.failed", worker="w2", error="no")
    assert len(lines()) == 3


def test_a_crowd_of_different_lines_of_one_event_is_bounded(lines: Any, time: Time) -> None:
    for number in range(3 * MOST_PER_EVENT):
        get_log().warning("action.failed", workload=f"ns/{number}")
    get_log().warning("workload.held_up", workload="ns/1")
    assert len(lines()) == MOST_PER_EVENT + 1
    time.seconds += WINDOW_SECONDS
    get_log().warning("action.failed", workload="ns/new")
    assert lines()[-1]["left_out"] == 2 * MOST_PER_EVENT


def test_decisions_are_not_left_out(lines: Any) -> None:
    for number in range(500):
        get_log().info("workload.decided", rule=Rule.GATE_OPENED, workload=f"ns/{number % 100}")
    assert len(lines()) == 500


def test_F2_the_same_decision_without_end_does_not_fill_the_log(lines: Any, time: Time) -> None:
    for number in range(10_000):
        begin_cause()
        get_log().info(
            "workload.decided", rule=Rule.FINISHED_OR_NO_QUOTA, workload="ns/terminating", actions=["RemoveRemote"]
        )
        if number % 1000 == 0:
            get_log().info("workload.decided", rule=Rule.GATE_OPENED, workload=f"ns/{number}", actions=["OpenGate"])
    assert len(lines()) == MOST_ALIKE + 10
    time.seconds += WINDOW_SECONDS
    get_log().info(
        "workload.decided", rule=Rule.FINISHED_OR_NO_QUOTA, workload="ns/terminating", actions=["RemoveRemote"]
    )
    assert lines()[-1]["repeated"] == 10_000 - MOST_ALIKE
    assert suppressed_lines() == 10_000 - MOST_ALIKE


def test_memory_is_bounded(lines: Any, time: Time) -> None:
    for number in range(20_000):
        get_log().warning(f"event.{number}")
    assert len(lines()) == 20_000
    time.seconds += 1
    get_log().warning("event.0")
    assert len(lines()) == 20_001, "what was forgotten is written again"


def test_every_line_of_a_reconcile_has_its_cause(lines: Any) -> None:
    first = begin_cause()
    get_log().info("a")
    second = begin_cause()
    get_log().info("b")
    assert first != second == current_cause()
    assert [line["cause"] for line in lines()] == [first, second]
