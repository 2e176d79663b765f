"""The shipped cost models, one table each."""

import re

import pytest

from config.api.meta import format_time
from engine.cost.facts import CostFacts
from engine.cost.models import LAST_CHECKPOINT, PROGRESS, checkpoint, progress, reference
from tests.unit.engine.cost.cases import MINUTE, NOW, a_job, a_workload, facts, preempted


def ago(minutes: float) -> str:
    return format_time(NOW - int(minutes * MINUTE))


def running(minutes: float, **changes: object) -> CostFacts:
    return facts(a_job(**changes), a_workload(admitted_ns=NOW - int(minutes * MINUTE)))


REFERENCE = {
    "never evicted": (facts(), 0),
    "preempted twice": (facts(workload=preempted(2)), 2),
    "evicted for other reasons": (facts(workload=a_workload(evictions={"PodsReadyTimeout": 3})), 0),
    "preempted and evicted for other reasons": (
        facts(workload=a_workload(evictions={"Preempted": 1, "Deactivated": 4})),
        1,
    ),
}
CHECKPOINT = {
    "pending: nothing to lose": (facts(a_job(annotations={LAST_CHECKPOINT: ago(90)})), 0),
    "no checkpoint yet: since it was admitted": (running(42.9), 42),
    "a checkpoint of this run": (running(42, annotations={LAST_CHECKPOINT: ago(7)}), 7),
    "a checkpoint of an earlier run": (running(5, annotations={LAST_CHECKPOINT: ago(60)}), 5),
    "a checkpoint from the future": (running(5, annotations={LAST_CHECKPOINT: ago(-3)}), 0),
    "admitted in the future": (running(-5), 0),
    "the annotation is on the Workload": (
        facts(workload=a_workload(admitted_ns=NOW - 9 * MINUTE, annotations={LAST_CHECKPOINT: ago(4)})),
        4,
    ),
    "the Job's goes before the Workload's": (
        facts(
            a_job(annotations={LAST_CHECKPOINT: ago(2)}),
            a_workload(admitted_ns=NOW - 9 * MINUTE, annotations={LAST_CHECKPOINT: ago(4)}),
        ),
        2,
    ),
}
PROGRESSES = {
    "nothing known": (facts(workload=a_workload(pods=8)), 0),
    "three of four pods succeeded": (facts(a_job(completions=4, succeeded=3), a_workload(pods=4)), 3),
    "half done, by annotation": (facts(a_job(annotations={PROGRESS: "0.5"}), a_workload(pods=9)), 4),
    "done, by annotation": (facts(a_job(annotations={PROGRESS: "1"}), a_workload(pods=9)), 9),
    "the annotation goes before the count": (
        facts(a_job(annotations={PROGRESS: "0.25"}, completions=4, succeeded=3), a_workload(pods=4)),
        1,
    ),
    "more succeeded than asked for": (facts(a_job(completions=2, succeeded=3), a_workload(pods=4)), 4),
    "no completions asked for": (facts(a_job(completions=0, succeeded=0), a_workload(pods=4)), 0),
}


@pytest.mark.parametrize(("given", "want"), REFERENCE.values(), ids=REFERENCE)
def test_reference(given: CostFacts, want: int) -> None:
    assert reference(given) == want


@pytest.mark.parametrize(("given", "want"), CHECKPOINT.values(), ids=CHECKPOINT)
def test_checkpoint(given: CostFacts, want: int) -> None:
    assert checkpoint(given) == want


@pytest.mark.parametrize(("given", "want"), PROGRESSES.values(), ids=PROGRESSES)
def test_progress(given: CostFacts, want: int) -> None:
    assert progress(given) == want


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00:00Z"])
def test_a_checkpoint_that_is_no_time_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"annotation {re.escape(LAST_CHECKPOINT)}: .*is not a time"):
        checkpoint(running(5, annotations={LAST_CHECKPOINT: text}))


@pytest.mark.parametrize("text", ["", "half", "NaN", "-0.1", "1.01", "Infinity", "50%"])
def test_a_progress_that_is_no_fraction_is_named(text: str) -> None:
    allowed = f'annotation {PROGRESS}: "{text}" is not allowed: must be a number from 0 to 1'
    with pytest.raises(ValueError, match=re.escape(allowed)):
        progress(facts(a_job(annotations={PROGRESS: text})))
