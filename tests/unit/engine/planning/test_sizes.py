"""The search for the largest size: what it finds, and how few questions it asks."""

from collections.abc import Callable, Generator
from typing import Any

import pytest

from engine.forecasting.forecast import ForecastVerdict
from engine.planning.sizes import MAX_SIZE, Sizes, find_largest, find_sizes, resized, size_of, varied_pod_set

SEARCHES = {
    "nothing fits": (4, 0, 0),
    "less fits than is asked for": (8, 5, 5),
    "exactly what is asked for": (8, 8, 8),
    "more fits than is asked for": (3, 100, 100),
    "one pod": (1, 1, 1),
    "nothing is asked for, and something fits": (0, 2, 2),
    "without any limit": (1, 10 * MAX_SIZE, MAX_SIZE),
}


def run(search: Generator[int, Any, Any], answer: Callable[[int], object]) -> tuple[object, list[int]]:
    """Return what a search found, and what it asked for."""
    questions = [next(search)]
    while True:
        try:
            questions.append(search.send(answer(questions[-1])))
        except StopIteration as ended:
            return ended.value, questions


@pytest.mark.parametrize(("asked", "limit", "want"), SEARCHES.values(), ids=SEARCHES)
def test_the_largest_size(asked: int, limit: int, want: int) -> None:
    found, questions = run(find_largest(asked), lambda size: size <= limit)
    assert found == want
    assert len(questions) <= 2 * 21, "a search of a million sizes asks for few"
    assert all(0 < size <= MAX_SIZE for size in questions)


def test_both_sizes_are_found_without_asking_for_one_twice() -> None:
    def verdict(size: int) -> ForecastVerdict:
        return ForecastVerdict.FITS if size <= 3 else ForecastVerdict.PREEMPTS if size <= 7 else ForecastVerdict.CANNOT

    found, questions = run(find_sizes(5), verdict)
    assert found == Sizes(without_preemption=3, with_preemption=7)
    assert len(set(questions)) == len(questions)


@pytest.mark.parametrize("verdict", [ForecastVerdict.AMBIGUOUS, ForecastVerdict.UNSUPPORTED])
def test_what_is_not_certain_is_no_size(verdict: ForecastVerdict) -> None:
    found, _ = run(find_sizes(1), lambda _size: verdict)
    assert found == Sizes(0, 0)


JOB = {"spec": {"podSets": [{"name": "driver", "count": 1}, {"name": "workers", "count": 4, "minCount": 2}]}}


def test_the_largest_pod_set_is_varied_unless_another_is_named() -> None:
    assert varied_pod_set(JOB) == "workers"
    assert varied_pod_set(JOB, "driver") == "driver"
    with pytest.raises(ValueError, match=r'there is no pod set "other": the job has driver, workers'):
        varied_pod_set(JOB, "other")


def test_another_size_is_all_or_nothing_and_leaves_the_rest_alone() -> None:
    assert size_of(JOB, "workers") == 4
    changed = resized(JOB, "workers", 9)
    assert changed["spec"]["podSets"] == [{"name": "driver", "count": 1}, {"name": "workers", "count": 9}]
    assert JOB["spec"]["podSets"][1]["count"] == 4
