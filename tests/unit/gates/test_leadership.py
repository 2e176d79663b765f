"""Who may act: the moves of an election, as a table."""

from dataclasses import dataclass, replace

import pytest

from gates.upkeep.leadership import (
    Create,
    LeaseObservation,
    LeaseRecord,
    LeaseTimings,
    Move,
    Renew,
    StandBy,
    TakeOver,
    lease_record,
    lease_spec,
    next_move,
    released_spec,
    sight,
)

TERMS = LeaseTimings(lease_seconds=15, renew_seconds=10, retry_seconds=2)
OURS = LeaseRecord("uid", "7", "me", 15, "2027-01-15T08:00:00.000000Z", 3)
THEIRS = replace(OURS, holder="other")
NOW_NS = 1_800_000_000_123_456_789


@dataclass(frozen=True)
class Case:
    record: LeaseRecord | None
    seen_for: float
    want: Move


CASES = {
    "no Lease: make it": Case(None, 0, Create()),
    "ours: renew it, however old it is": Case(OURS, 100, Renew(OURS)),
    "not held: take it at once": Case(replace(OURS, holder=""), 0, TakeOver(replace(OURS, holder=""))),
    "another instance's, just seen: try again after the retry period": Case(THEIRS, 0, StandBy("other", 2)),
    "another instance's, nearly over: try again when it is": Case(THEIRS, 14.5, StandBy("other", 0.5)),
    "another instance's, over: take it": Case(THEIRS, 15, TakeOver(THEIRS)),
    "its own duration counts, not ours": Case(replace(THEIRS, duration_seconds=40), 15, StandBy("other", 2)),
    "without a duration ours counts": Case(
        replace(THEIRS, duration_seconds=None), 15, TakeOver(replace(THEIRS, duration_seconds=None))
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_next_move(case: Case) -> None:
    assert next_move(LeaseObservation(case.record, 1000 - case.seen_for), "me", 1000, TERMS) == case.want


def test_a_lease_ages_while_it_looks_the_same_and_starts_over_with_every_change() -> None:
    first = sight(None, THEIRS, 100)
    assert sight(first, THEIRS, 110) == first
    renewed = replace(THEIRS, resource_version="8")
    assert sight(first, renewed, 110) == LeaseObservation(renewed, 110)


def test_what_is_written() -> None:
    assert lease_spec(Create(), "me", NOW_NS, TERMS) == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2027-01-15T08:00:00.123456Z",
        "renewTime": "2027-01-15T08:00:00.123456Z",
        "leaseTransitions": 0,
    }
    renewed = lease_spec(Renew(OURS), "me", NOW_NS, TERMS)
    assert (renewed["acquireTime"], renewed["leaseTransitions"]) == (OURS.acquired, 3)
    assert lease_spec(TakeOver(THEIRS), "me", NOW_NS, TERMS)["leaseTransitions"] == 4
    assert released_spec(OURS, NOW_NS)["holderIdentity"] == ""


def test_a_duration_is_never_written_shorter_than_it_is() -> None:
    assert lease_spec(Create(), "me", NOW_NS, LeaseTimings(lease_seconds=1.2))["leaseDurationSeconds"] == 2


def test_a_lease_is_read_as_it_was_written() -> None:
    spec = lease_spec(TakeOver(THEIRS), "me", NOW_NS, TERMS)
    record = lease_record({"metadata": {"uid": "uid", "resourceVersion": "9"}, "spec": spec})
    assert record == LeaseRecord("uid", "9", "me", 15, "2027-01-15T08:00:00.123456Z", 4)
    assert lease_record({"metadata": {"uid": "uid", "resourceVersion": "9"}}) == LeaseRecord("uid", "9")
