"""A search that would take long is given up after a counted number of steps, and says so."""

import pytest

from engine.pod_outlook.values import PodVerdict
from engine.pods.values.values import SchedulerMode
from engine.vocabulary.effort import Effort, TooMuchEffortError
from tests.support.pod_builders import group, node, pod
from tests.unit.engine.outlook.asking import ask, pod_set

CROWDED = [node(f"n{number}", 10) for number in range(50)]
CROWDED += [pod(f"p{number}", 1, on=f"n{number % 50}") for number in range(500)]


def test_steps_are_counted_and_the_last_one_is_allowed() -> None:
    effort = Effort(3)
    effort.spend(2)
    effort.spend()
    with pytest.raises(TooMuchEffortError, match="too many possibilities: given up after 3 steps"):
        effort.spend()


@pytest.mark.parametrize("mode", list(SchedulerMode))
def test_equal_pods_everywhere_are_given_up_and_promise_nothing(mode: SchedulerMode) -> None:
    found = ask(CROWDED, [pod_set()], [6], mode=mode)
    assert found.verdict is PodVerdict.AMBIGUOUS
    assert found.message.startswith("too many possibilities: given up after ")
    assert not found.promises
    assert ask(CROWDED, [pod_set()], [6], mode=mode) == found


@pytest.mark.parametrize("mode", list(SchedulerMode))
def test_a_group_is_given_up_as_well(mode: SchedulerMode) -> None:
    objects = [*CROWDED, group("g", 10, minimum=6)]
    sets = [pod_set(schedulingGroup={"podGroupName": "g"})]
    found = ask(objects, sets, [6], mode=mode)
    assert found.message.startswith("too many possibilities: given up after ")
    assert not found.promises


def test_where_everybody_finds_room_no_search_is_needed() -> None:
    found = ask([*CROWDED, *(node(f"free{number}", 10) for number in range(50))], [pod_set()], [100])
    assert found.verdict is PodVerdict.FITS
