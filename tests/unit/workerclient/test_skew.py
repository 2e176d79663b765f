"""The clock of a cluster is known within bounds that always hold."""

from email.utils import formatdate

from hypothesis import given, settings
from hypothesis import strategies as st

from workerclient.wire.skew import SkewEstimator

SECOND = 1_000_000_000
NOON = 1_750_000_000 * SECOND


def date_header(server_ns: int) -> str:
    return formatdate(server_ns // SECOND, usegmt=True)


def test_one_answer_bounds_the_difference_to_a_second_and_the_round_trip() -> None:
    estimator = SkewEstimator()
    assert estimator.estimate() is None
    estimator.observe(date_header(NOON + 60 * SECOND), NOON, NOON + 200_000_000)
    estimate = estimator.estimate()
    assert estimate is not None
    assert round(estimate.seconds, 3) == 60.4
    assert round(estimate.uncertainty_seconds, 3) == 0.6


def test_answers_on_both_sides_of_a_tick_narrow_it_far_below_a_second() -> None:
    estimator = SkewEstimator()
    skew = 7 * SECOND
    for sent in (NOON + 990_000_000, NOON + 1_005_000_000):
        estimator.observe(date_header(sent + 1_000_000 + skew), sent, sent + 2_000_000)
    estimate = estimator.estimate()
    assert estimate is not None
    assert abs(estimate.seconds - 7) < 0.01
    assert estimate.uncertainty_seconds < 0.01


def test_a_clock_that_was_set_makes_the_old_answers_void() -> None:
    estimator = SkewEstimator()
    for number in range(20):
        at = NOON + number * SECOND
        estimator.observe(date_header(at), at, at)
    at = NOON + 20 * SECOND
    estimator.observe(date_header(at + 3600 * SECOND), at, at)
    estimate = estimator.estimate()
    assert estimate is not None
    assert abs(estimate.seconds - 3600) <= 1.0


def test_what_is_no_date_is_ignored() -> None:
    estimator = SkewEstimator()
    for header in ("", "yesterday", "Tue, 99 Nov 2025 00:00:00 GMT"):
        estimator.observe(header, NOON, NOON)
    estimator.observe(date_header(NOON), NOON, NOON - 1)  # our own clock was set back in between
    assert estimator.estimate() is None


@settings(deadline=None)
@given(
    skew_ns=st.integers(-10_000 * SECOND, 10_000 * SECOND),
    trips=st.lists(st.tuples(st.integers(0, 90 * SECOND), st.integers(0, 3 * SECOND), st.floats(0, 1)), min_size=1),
)
def test_the_true_difference_is_always_within_the_uncertainty(
    skew_ns: int, trips: list[tuple[int, int, float]]
) -> None:
    estimator = SkewEstimator()
    for after, round_trip, stamped in trips:
        sent = NOON + after
        server = sent + int(round_trip * stamped) + skew_ns
        estimator.observe(date_header(server), sent, sent + round_trip)
    estimate = estimator.estimate()
    assert estimate is not None
    assert abs(estimate.seconds - skew_ns / SECOND) <= estimate.uncertainty_seconds + 1e-6
