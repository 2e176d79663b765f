"""The lines around the panels of `turnstile top`."""

import pytest

from manager.cli.top.head import KEYS, data_line, keys_line, question_words, title_line, too_small
from tests.support.foreign_text import BAD, unprintable
from tests.unit.cli.top.fleets import NOW_NS, Obj, fleet, workload

ROLES: dict[str, tuple[Obj, str]] = {
    "the only instance": ({}, "acts"),
    "the leader": ({"leader": "turnstile-0"}, "leads as turnstile-0"),
    "a standby": ({"acts": False, "leader": "turnstile-1"}, "standby; turnstile-1 leads"),
    "a standby that knows no leader": ({"acts": False}, "standby; the leader is not known"),
    "shadow mode": ({"acts": False, "isShadow": True}, "shadow mode"),
}


@pytest.mark.parametrize("case", ROLES)
def test_the_title_says_who_acts(case: str) -> None:
    daemon, role = ROLES[case]
    assert [cell.text for cell in title_line(fleet(**daemon))] == [
        "turnstile top",
        "hub-a Connected",
        role,
        "policy LeastDisruption",
        "0.1.0",
    ]


def test_data_say_their_age() -> None:
    def ages(*, is_paused: bool = False, is_stale: bool = False) -> list[str]:
        line = data_line(fleet(workload()), NOW_NS, 12, is_paused=is_paused, is_stale=is_stale)
        return [cell.text for cell in line]

    assert ages() == ["1 Pending", "08:00:00Z", "12s old"]
    assert ages(is_stale=True)[-1] == "STALE, 12s old"
    assert ages(is_paused=True, is_stale=True)[-1] == "PAUSED, 12s old"


def test_all_keys_fit_on_the_smallest_usual_terminal() -> None:
    assert keys_line(KEYS, 80).endswith("<q> quit")


def test_a_terminal_that_is_too_small_says_what_is_needed() -> None:
    assert too_small(59, 15) == "too small: 59×15, needs 60×15"
    assert too_small(60, 15) == ""


def test_no_text_of_a_daemon_or_a_user_reaches_the_terminal_as_it_is() -> None:
    document = fleet(version=BAD, origin=BAD, hub=BAD, leader=BAD, policy=BAD)
    document["workloads"]["phases"] = {BAD: 1}
    line = data_line(document, NOW_NS, 0, is_paused=False, is_stale=False)
    shown = [cell.text for cell in (*title_line(document), *line)] + [question_words(BAD, BAD, BAD)]
    assert [text for text in shown if unprintable(text) or "\n" in text] == []
