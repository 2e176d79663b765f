"""The rules around every model: bounds, what is left alone, and models that misbehave."""

from typing import Any

import pytest

from engine.cost.facts import JobFacts, WorkloadFacts
from engine.cost.rules import (
    CostDecision,
    CostPolicy,
    KeepCost,
    Leave,
    Untouched,
    WriteCost,
    current_workload,
    decide_cost,
)
from tests.unit.engine.cost.cases import COST, NOW, a_job, a_workload, policy, preempted


def write(cost: int, previous: str | None = None, *, invalid: bool = False) -> WriteCost:
    return WriteCost(cost, previous, invalid)


def annotated(text: str, **changes: Any) -> JobFacts:
    return a_job(annotations={COST: text}, **changes)


CASES: dict[str, tuple[JobFacts, WorkloadFacts | None, CostPolicy, CostDecision]] = {
    "R1 no queue": (a_job(labels={}), preempted(1), policy(), Leave(Untouched.NOT_MANAGED)),
    "R2 no Workload": (a_job(), None, policy(), Leave(Untouched.NO_WORKLOAD)),
    "R2 no cost needs no annotation": (a_job(), a_workload(), policy(), Leave(Untouched.UP_TO_DATE)),
    "R3 once per preemption": (a_job(), preempted(3), policy(), write(3)),
    "R3 a cost that fell to 0": (annotated("3"), a_workload(), policy(), write(0, "3")),
    "R4 initializing": (a_job(), preempted(1), policy(running_increment=5), write(1)),
    "R4 running": (a_job(), preempted(1, has_pods_ready=True), policy(running_increment=5), write(6)),
    "R4 bounded above": (
        a_job(),
        preempted(8, has_pods_ready=True),
        policy(running_increment=5, max_cost=10),
        write(10),
    ),
    "R4 bounded below": (annotated("4"), a_workload(), policy(lambda _: -7), write(0, "4")),
    "R6 equal": (annotated("3"), preempted(3), policy(), Leave(Untouched.UP_TO_DATE)),
    "R6 equal in another spelling": (annotated("+03"), preempted(3), policy(), Leave(Untouched.UP_TO_DATE)),
    "R8 no integer": (annotated("dear"), preempted(3), policy(), write(3, "dear", invalid=True)),
    "R8 no integer, and no cost": (annotated(""), a_workload(), policy(), write(0, "", invalid=True)),
    "R8 out of range": (annotated("2147483648"), preempted(3), policy(), write(3, "2147483648", invalid=True)),
    "R9 finished": (a_job(is_finished=True), preempted(3), policy(), Leave(Untouched.FINISHED)),
    "R9 being deleted": (a_job(is_deleted=True), preempted(3), policy(), Leave(Untouched.DELETED)),
}


@pytest.mark.parametrize(("job", "workload", "how", "want"), CASES.values(), ids=CASES)
def test_decisions(job: JobFacts, workload: WorkloadFacts | None, how: CostPolicy, want: CostDecision) -> None:
    assert decide_cost(job, workload, how, NOW) == want


@pytest.mark.parametrize(("job", "workload", "how", "want"), CASES.values(), ids=CASES)
def test_a_second_look_writes_nothing(
    job: JobFacts, workload: WorkloadFacts | None, how: CostPolicy, want: CostDecision
) -> None:
    if isinstance(want, WriteCost):
        after = decide_cost(annotated(want.text), workload, how, NOW)
        assert after == Leave(Untouched.UP_TO_DATE)


def test_r10_the_newest_workload_that_is_not_over() -> None:
    old, new = a_workload(uid="old", created_ns=1), a_workload(uid="new", created_ns=2)
    over, going = a_workload(created_ns=3, is_finished=True), a_workload(created_ns=4, is_deleted=True)
    twin = a_workload(uid="newer", created_ns=2)
    assert current_workload([over, new, going, old]) == new
    assert current_workload([new, twin]) == current_workload([twin, new]) == twin
    assert current_workload([over, going]) is None
    assert current_workload([]) is None


def explode(_facts: object) -> int:
    raise KeyError("gpu")


MISBEHAVING = {
    "raises": (explode, "cost model mine failed: KeyError: 'gpu'"),
    "NaN": (lambda _: float("nan"), "cost model mine returned nan: must be a whole number from"),
    "a fraction": (lambda _: 1.5, "cost model mine returned 1.5: must be a whole number from"),
    "a string": (lambda _: "7", "cost model mine returned '7': must be a whole number from"),
    "a long string": (lambda _: "x" * 10_000, "cost model mine returned 'xxx"),
    "too much": (lambda _: 10**12, "returned 1000000000000: must be a whole number from -2147483648 to 2147483647"),
    "too little": (lambda _: -(2**31) - 1, "returned -2147483649"),
    "a truth": (lambda _: True, "returned True"),
    "nothing": (lambda _: None, "returned a NoneType"),
    "a list": (lambda _: [1] * 10_000, "returned a list"),
}


@pytest.mark.parametrize(("model", "want"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_a_misbehaving_model_changes_nothing(model: Any, want: str) -> None:
    decision = decide_cost(annotated("3"), preempted(1), policy(model), NOW)
    assert isinstance(decision, KeepCost)
    assert want in decision.problem
    assert len(decision.problem) < 200
