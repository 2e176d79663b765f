"""Whether a worker honours gates, and who may find out whether that changed."""

from config.api.meta import ObjectKey
from gates.decision.gate_evidence import DOUBT_NS, NO_EVIDENCE, TRUST_NS, Moment, ReplicaEvidence
from gates.model.settings import SECOND
from gates.model.view import GateSupport
from manager.clusters.gate_support import GateSupportTracker

A, B = ObjectKey("ns", "a"), ObjectKey("ns", "b")
UNKNOWN, MISSING, HONOURED = GateSupport.UNKNOWN, GateSupport.MISSING, GateSupport.HONOURED
START = 1_750_000_000 * SECOND


def at(seconds: float) -> Moment:
    return Moment(START + int(seconds * SECOND), int(seconds * SECOND))


def silent(created: float) -> ReplicaEvidence:
    return ReplicaEvidence(MISSING, START + int(created * SECOND), is_silence=True)


def ignored(created: float) -> ReplicaEvidence:
    return ReplicaEvidence(MISSING, START + int(created * SECOND))


def honoured(when: float) -> ReplicaEvidence:
    return ReplicaEvidence(HONOURED, START + int(when * SECOND))


def judge(
    tracker: GateSupportTracker, key: ObjectKey, evidence: ReplicaEvidence, moment: Moment, *, may_try: bool
) -> GateSupport:
    """Do what a reconcile does: note what the replica shows, and claim a trial that is open."""
    want = tracker.support(key, evidence, moment)
    tracker.note(key, evidence, moment)
    assert tracker.support(key, evidence, moment) is want, "it is told the same before and after it is noted"
    assert not tracker.is_news(key, evidence, moment), "what is noted is no news"
    if may_try and tracker.is_trial_open(key):
        tracker.claim_trial(key)
    return tracker.support(key, evidence, moment)


def found_missing() -> tuple[GateSupportTracker, list[str]]:
    told: list[str] = []
    judgement = GateSupportTracker(lambda: told.append("changed"))
    judgement.learn(at(0), knows_gates=True)
    assert judge(judgement, A, NO_EVIDENCE, at(0), may_try=True) is UNKNOWN
    assert judge(judgement, A, silent(1), at(40), may_try=False) is MISSING
    return judgement, told


def test_a_verdict_holds_for_every_workload_and_is_told_once() -> None:
    judgement, told = found_missing()
    assert judge(judgement, B, NO_EVIDENCE, at(41), may_try=True) is MISSING
    assert judge(judgement, B, silent(5), at(42), may_try=True) is MISSING
    assert (judgement.verdict, told) == (MISSING, ["changed"])


def test_a_new_look_lets_one_workload_try() -> None:
    judgement, _ = found_missing()
    judgement.learn(at(50), knows_gates=True)
    assert judge(judgement, A, NO_EVIDENCE, at(51), may_try=False) is MISSING
    assert judge(judgement, B, NO_EVIDENCE, at(51), may_try=True) is UNKNOWN
    assert judge(judgement, A, NO_EVIDENCE, at(51), may_try=True) is MISSING
    assert judge(judgement, B, NO_EVIDENCE, at(60), may_try=False) is UNKNOWN  # until its replica shows something
    assert judge(judgement, B, silent(52), at(90), may_try=False) is MISSING
    assert judge(judgement, A, NO_EVIDENCE, at(91), may_try=True) is MISSING


def test_a_gate_that_shows_ends_the_verdict() -> None:
    judgement, told = found_missing()
    assert judge(judgement, A, honoured(60), at(61), may_try=False) is HONOURED
    assert judge(judgement, B, NO_EVIDENCE, at(61), may_try=True) is HONOURED
    assert (judgement.verdict, told) == (HONOURED, ["changed", "changed"])


def test_a_schema_without_gates_is_final_until_it_changes() -> None:
    told: list[str] = []
    judgement = GateSupportTracker(lambda: told.append("changed"))
    judgement.learn(at(0), knows_gates=False)
    assert judge(judgement, A, honoured(1), at(2), may_try=True) is MISSING
    judgement.learn(at(600), knows_gates=False)
    judgement.learn(at(700), knows_gates=True)
    assert judge(judgement, A, NO_EVIDENCE, at(700), may_try=True) is UNKNOWN
    assert (judgement.verdict, told) == (UNKNOWN, ["changed", "changed"])


def test_F3_what_was_shown_to_a_kueue_before_its_schema_changed_says_nothing_about_the_next() -> None:
    judgement = GateSupportTracker(lambda: None)
    judgement.learn(at(0), knows_gates=False)
    judgement.learn(at(100), knows_gates=True)
    assert judge(judgement, A, ignored(50), at(101), may_try=False) is UNKNOWN
    assert judge(judgement, B, ignored(102), at(140), may_try=False) is MISSING


def test_F3_an_old_gate_and_a_silent_copy_do_not_take_turns() -> None:
    told: list[str] = []
    judgement = GateSupportTracker(lambda: told.append("changed"))
    for second in range(40, 600):
        assert judge(judgement, A, honoured(10), at(second), may_try=False) is HONOURED
        # For the silent one itself it is not known; for the worker it is.
        assert judge(judgement, B, silent(5 if second < 100 else 40), at(second), may_try=False) is UNKNOWN
        assert judgement.verdict is HONOURED
    assert told == []
    late = (10 * SECOND + TRUST_NS) / SECOND
    assert judge(judgement, B, silent(40), at(late), may_try=False) is MISSING
    for second in range(100):
        assert judge(judgement, A, honoured(10), at(late + second), may_try=False) is MISSING
        assert judge(judgement, B, silent(40), at(late + second), may_try=False) is MISSING
    assert told == ["changed"]
    assert judge(judgement, B, honoured(late + 100), at(late + 100), may_try=False) is HONOURED
    assert told == ["changed", "changed"]


def test_F3_a_copy_that_was_handled_without_a_gate_counts_at_once_but_not_again_and_again() -> None:
    told: list[str] = []
    judgement = GateSupportTracker(lambda: told.append("changed"))
    for second in range(0, int(3 * DOUBT_NS / SECOND), 10):  # a Kueue that does both in turn
        judge(judgement, A, honoured(second), at(second), may_try=False)
        judge(judgement, B, ignored(second + 1), at(second + 5), may_try=False)
    assert len(told) <= 6


def test_F3_silence_of_a_copy_that_is_gone_is_not_held_against_the_worker_later() -> None:
    judgement = GateSupportTracker(lambda: None)
    judge(judgement, A, honoured(10), at(11), may_try=False)
    assert judge(judgement, B, silent(20), at(60), may_try=False) is UNKNOWN
    assert (judgement.unseen, judgement.verdict) == (B, HONOURED)
    assert judge(judgement, B, NO_EVIDENCE, at(10_000), may_try=False) is UNKNOWN  # it has to be shown again
    assert judgement.verdict is HONOURED
