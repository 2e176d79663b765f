"""Whatever the replicas of a worker show, in whatever order and how often: the verdict on its gates cannot flap."""

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from gates.decision.gate_evidence import (
    DOUBT_NS,
    NO_EVIDENCE,
    TRUST_NS,
    Findings,
    Moment,
    ReplicaEvidence,
    described,
    trying,
    weighed,
)
from gates.model.settings import SECOND
from gates.model.view import GateSupport

START = 1_800_000_000 * SECOND
HOUR = 3600
MISSING, HONOURED, UNKNOWN = GateSupport.MISSING, GateSupport.HONOURED, GateSupport.UNKNOWN

seconds = st.integers(-HOUR, 3 * HOUR)
evidences = st.builds(
    lambda support, at, is_silence: ReplicaEvidence(support, START + at * SECOND, is_silence=is_silence),
    st.sampled_from([MISSING, HONOURED, UNKNOWN]),
    seconds,
    st.booleans(),
)
names = st.sampled_from(["ns/a", "ns/b", "ns/c"])


def moment(passed: float, step: int = 0) -> Moment:
    """Return the time after so many seconds; the worker's clock may be off, the steady one never is."""
    return Moment(START + int((passed + step) * SECOND), int(passed * SECOND))


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 900), evidences, names, st.sampled_from([None, True, False]), st.integers(-HOUR, HOUR)
        ),
        max_size=60,
    )
)
def test_F3_gates_are_found_missing_at_most_once_per_ten_minutes(
    looks: list[tuple[int, ReplicaEvidence, str, bool | None, int]],
) -> None:
    """Also while the worker is described again and again, and its clock is set; only true time is counted."""
    known, passed, turns = Findings(), 0, []
    for wait, evidence, workload, knows_gates, step in looks:
        passed += wait
        now = moment(passed, step)
        if knows_gates is not None:
            known = described(known, now, knows_gates=knows_gates)
        before = known.support
        known = trying(weighed(known, evidence, now, workload), workload)
        if before is not MISSING and known.support is MISSING:
            turns.append(passed)
    assert all(later - earlier >= DOUBT_NS // SECOND for earlier, later in pairwise(turns))


@settings(max_examples=300, deadline=None)
@given(st.lists(evidences, max_size=8), st.randoms(use_true_random=False), st.integers(0, 4 * HOUR))
def test_F3_looking_again_at_the_same_replicas_changes_nothing(
    shown: list[ReplicaEvidence], order: Random, passed: int
) -> None:
    now, known = moment(passed), Findings()
    for evidence in shown:
        known = weighed(known, evidence, now)
    settled = known.support
    for _ in range(3):
        order.shuffle(shown)
        for evidence in shown:
            known = weighed(known, evidence, now)
            assert known.support is settled


@settings(max_examples=300, deadline=None)
@given(st.permutations(range(6)), st.lists(evidences, min_size=6, max_size=6), st.integers(3 * HOUR, 5 * HOUR))
def test_F3_the_order_of_looks_does_not_decide(order: list[int], shown: list[ReplicaEvidence], passed: int) -> None:
    """The first round may find less than the whole; once everything was seen twice, the verdict is the same."""

    def verdict(sequence: list[ReplicaEvidence]) -> GateSupport:
        known = Findings()
        for each in (*sequence, *sequence):
            known = weighed(known, each, Moment(START + passed * SECOND, 0))
        for each in sequence:  # long enough after a first conclusion for another one
            known = weighed(known, each, Moment(START + passed * SECOND, DOUBT_NS))
        return known.support

    assert verdict(shown) is verdict([shown[index] for index in order])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), seconds), max_size=30))
def test_F3_silence_never_counts_while_gates_were_honoured_of_late(looks: list[tuple[int, int]]) -> None:
    known, passed = weighed(Findings(), ReplicaEvidence(HONOURED, START), moment(0)), 0
    for wait, created in looks:
        passed += wait
        known = weighed(known, ReplicaEvidence(MISSING, START + created * SECOND, is_silence=True), moment(passed))
        assert known.support is HONOURED or passed * SECOND >= TRUST_NS


@given(st.lists(evidences, max_size=20), names)
def test_F3_a_worker_whose_description_has_no_gates_has_none(shown: list[ReplicaEvidence], workload: str) -> None:
    known = described(Findings(), moment(0), knows_gates=False)
    for evidence in shown:
        known = trying(weighed(known, evidence, moment(HOUR), workload), workload)
        assert known.verdict is MISSING
        assert known.about(workload, moment(HOUR).worker_ns, NO_EVIDENCE) is MISSING
