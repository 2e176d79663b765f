"""When `turnstile top` asks next."""

from manager.cli.top.pacing import RefreshPace


def pace(interval: float = 1.0) -> RefreshPace:
    return RefreshPace(interval, lambda: 1.0)


def test_a_quick_daemon_is_asked_once_in_each_interval() -> None:
    assert pace().after_answer(0.25) == 0.75


def test_a_slow_daemon_rests_as_long_as_it_worked() -> None:
    assert pace().after_answer(3.0) == 3.0
    assert pace().after_answer(300.0) == 30.0


def test_failures_double_the_wait_up_to_a_limit_and_an_answer_ends_that() -> None:
    failing = pace()
    assert [failing.after_failure() for _ in range(7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    failing.after_answer(0.0)
    assert failing.after_failure() == 1.0


def test_a_long_interval_is_never_shortened_by_a_failure() -> None:
    assert pace(60.0).after_failure() == 60.0


def test_a_busy_daemon_is_not_asked_before_it_said() -> None:
    assert pace().after_failure(5.0) == 5.0
