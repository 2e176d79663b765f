"""Whether a worker honours gates, and who may find out whether that changed."""

from gates.view import GateSupport
from manager.judgement import GateJudgement
from workerclient.kind import Key

A, B = Key("ns", "a"), Key("ns", "b")
UNKNOWN, MISSING, HONOURED = GateSupport.UNKNOWN, GateSupport.MISSING, GateSupport.HONOURED


def found_missing() -> tuple[GateJudgement, list[str]]:
    told: list[str] = []
    judgement = GateJudgement(lambda: told.append("changed"))
    judgement.learn(knows_gates=True)
    assert judgement.judge(A, UNKNOWN, may_try=True) is UNKNOWN
    assert judgement.judge(A, MISSING, may_try=False) is MISSING
    return judgement, told


def test_a_verdict_holds_for_every_workload_and_is_told_once() -> None:
    judgement, told = found_missing()
    assert judgement.judge(B, UNKNOWN, may_try=True) is MISSING
    assert judgement.judge(B, MISSING, may_try=True) is MISSING
    assert (judgement.is_missing, told) == (True, ["changed"])


def test_a_new_look_lets_one_workload_try() -> None:
    judgement, _ = found_missing()
    judgement.learn(knows_gates=True)
    assert judgement.judge(A, UNKNOWN, may_try=False) is MISSING
    assert judgement.judge(B, UNKNOWN, may_try=True) is UNKNOWN
    assert judgement.judge(A, UNKNOWN, may_try=True) is MISSING
    assert judgement.judge(B, UNKNOWN, may_try=False) is UNKNOWN  # until its replica shows something
    assert judgement.judge(B, MISSING, may_try=False) is MISSING
    assert judgement.judge(A, UNKNOWN, may_try=True) is MISSING


def test_a_gate_that_shows_ends_the_verdict() -> None:
    judgement, told = found_missing()
    assert judgement.judge(A, HONOURED, may_try=False) is HONOURED
    assert judgement.judge(B, UNKNOWN, may_try=True) is HONOURED
    assert (judgement.is_missing, told) == (False, ["changed", "changed"])


def test_a_schema_without_gates_is_final_until_it_changes() -> None:
    judgement = GateJudgement(lambda: None)
    judgement.learn(knows_gates=False)
    assert judgement.is_missing
    assert judgement.judge(A, HONOURED, may_try=True) is MISSING
    judgement.learn(knows_gates=True)
    assert judgement.judge(A, UNKNOWN, may_try=True) is UNKNOWN
    assert not judgement.is_missing
