"""Whether Kueue copies costs is learnt by watching it."""

from manager.cost.copywatch import PATIENCE_SECONDS, Attitude, CopyWatch


def test_a_difference_that_another_client_ends_means_that_kueue_copies() -> None:
    watch = CopyWatch()
    assert watch.observe("u", "3", is_there=False, now=0) == PATIENCE_SECONDS
    assert watch.observe("u", "3", is_there=True, now=1) == 0
    assert watch.attitude is Attitude.COPIES


def test_equality_at_first_sight_says_nothing() -> None:
    watch = CopyWatch()
    watch.observe("u", "3", is_there=True, now=0)
    assert watch.attitude is Attitude.UNKNOWN


def test_a_difference_that_stays_means_that_kueue_ignores_costs() -> None:
    watch = CopyWatch()
    watch.observe("u", "3", is_there=False, now=0)
    assert watch.observe("u", "3", is_there=False, now=4) == PATIENCE_SECONDS - 4
    assert watch.observe("u", "3", is_there=False, now=PATIENCE_SECONDS) == 0
    assert watch.attitude is Attitude.IGNORES


def test_a_new_cost_gets_a_new_moment() -> None:
    watch = CopyWatch()
    watch.observe("u", "3", is_there=False, now=0)
    assert watch.observe("u", "4", is_there=False, now=9) == PATIENCE_SECONDS
    assert watch.attitude is Attitude.UNKNOWN


def test_what_we_copied_ourselves_says_nothing() -> None:
    watch = CopyWatch()
    watch.observe("u", "3", is_there=False, now=0)
    watch.forget("u")
    watch.observe("u", "3", is_there=True, now=1)
    assert watch.attitude is Attitude.UNKNOWN
