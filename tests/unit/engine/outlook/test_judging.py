"""Outlooks held against what became of the pods."""

import pytest

from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.judging import Landed, judge
from engine.pod_outlook.values import PodOutcome, PodOutlook, PodVerdict, unsupported

PROMISE = PodOutlook(PodVerdict.EVICTS, 0, pods=2, outcomes=(PodOutcome(("a", "b")),))
EITHER = PodOutlook(PodVerdict.AMBIGUOUS, 0, pods=2, outcomes=(PodOutcome(("a",)), PodOutcome(("b",))))
STUCK = PodOutlook(PodVerdict.CANNOT, 0, pods=2, outcomes=(PodOutcome(("a",), places_all=False),))
CASES = {
    "the same": (PROMISE, Landed(("a", "b"), 2), ForecastResult.EXACT),
    "fewer": (PROMISE, Landed(("a",), 2), ForecastResult.SUBSET),
    "more": (PROMISE, Landed(("a", "b", "c"), 2), ForecastResult.SUPERSET),
    "others": (PROMISE, Landed(("a", "c"), 2), ForecastResult.WRONG),
    "no node in time": (PROMISE, Landed(("a",), 1), ForecastResult.TIMEOUT),
    "no node, and others went": (PROMISE, Landed(("c",), 1), ForecastResult.WRONG),
    "one of two": (EITHER, Landed(("b",), 2), ForecastResult.EXACT),
    "neither of two": (EITHER, Landed((), 2), ForecastResult.SUBSET),
    "stuck as said": (STUCK, Landed(("a",), 1), ForecastResult.EXACT),
    "stuck and nevertheless placed": (STUCK, Landed(("a",), 2), ForecastResult.WRONG),
    "nothing was said": (unsupported("why", 0), Landed(("a",), 2), ForecastResult.NONE),
}


@pytest.mark.parametrize(("outlook", "landed", "want"), CASES.values(), ids=CASES)
def test_the_result(outlook: PodOutlook, landed: Landed, want: ForecastResult) -> None:
    assert judge(outlook, None, landed).result is want


def test_a_change_before_the_pods_came_explains_a_miss() -> None:
    again = PodOutlook(PodVerdict.FITS, 0, pods=2, outcomes=(PodOutcome(),))
    assert judge(PROMISE, again, Landed((), 2)).result is ForecastResult.OVERTAKEN
    assert judge(PROMISE, again, Landed(("c",), 2)).result is ForecastResult.WRONG


def test_the_sentence_says_both() -> None:
    said = judge(EITHER, None, Landed(("c",), 2)).message
    assert said == "forecast: evicted a or evicted b; happened: evicted c, 2 of 2 pods have a node"
    assert judge(EITHER, None, Landed(("a",), 2)).message == "one of 2 outcomes"
