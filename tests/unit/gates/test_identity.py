"""Which name is used for a cluster: one of each, always the same, and never one that took it over."""

import random

from hypothesis import given
from hypothesis import strategies as st

from config.api.identifiers import NO_WORKER, ClusterUID, WorkerName
from gates.model.identity import (
    CHANGED,
    DUPLICATE,
    UNIDENTIFIED,
    WITHHELD,
    Authorship,
    KnownCluster,
    WorkerClaim,
    resolve,
)
from tests.support.worker_names import W1, W2

NAMES = ("w1", "w2", "w3", "w4")
UIDS = ("A", "B", "hub", WITHHELD)
CLAIMS = st.lists(
    st.builds(
        WorkerClaim,
        st.sampled_from(NAMES),
        st.none() | st.sampled_from(UIDS),
        st.booleans(),
        st.tuples(st.integers(0, 1), st.integers(0, 2)),
        st.frozensets(st.sampled_from((*NAMES, "gone", ""))),
    ),
    unique_by=lambda claim: claim.name,
)
KNOWN = st.dictionaries(
    st.sampled_from((*NAMES, "gone")),
    st.builds(KnownCluster, st.sampled_from(("A", "B")), st.none() | st.integers(1, 3)),
)


@given(CLAIMS, KNOWN, st.frozensets(st.sampled_from(NAMES)), st.randoms())
def test_F4_each_cluster_has_one_name_whatever_the_order(
    claims: list[WorkerClaim],
    known: dict[WorkerName, KnownCluster],
    given_up: frozenset[WorkerName],
    chance: random.Random,
) -> None:
    names = resolve(claims, known, ClusterUID("hub"), given_up)
    shuffled = list(claims)
    chance.shuffle(shuffled)
    assert resolve(shuffled, known, ClusterUID("hub"), given_up) == names
    assert len(set(names.proven.values())) == len(names.proven), "one name for each cluster"
    assert not names.refused.keys() & names.proven.keys()
    assert set(names.aliases.values()) <= {claim.name for claim in claims} - names.refused.keys()
    assert not names.aliases.keys() & names.proven.keys()
    for claim in claims:
        if claim.uid == "hub":
            assert claim.name in names.refused
        if claim.uid == WITHHELD and claim.name not in known:
            assert claim.name not in names.refused, "a role that is older keeps working"


@given(CLAIMS, KNOWN)
def test_F4_what_an_unidentified_name_may_have_written_is_touched_by_that_name_alone(
    claims: list[WorkerClaim], known: dict[WorkerName, KnownCluster]
) -> None:
    names = resolve(claims, known, ClusterUID("hub"), ())
    for author in names.unproven:
        others = [claim.name for claim in claims if claim.name != author]
        assert names.authorship(author).wrote(author)
        assert not any(names.authorship(other).wrote(author) for other in others)


def test_F4_a_name_that_was_known_first_is_not_displaced_by_an_older_one() -> None:
    claims = [
        WorkerClaim(WorkerName("old"), ClusterUID("A"), is_listed=True, seniority=(0, 0)),
        WorkerClaim(WorkerName("new"), ClusterUID("A"), is_listed=True, seniority=(1, 9)),
    ]
    known = {WorkerName("old"): KnownCluster(ClusterUID("B"), 1), WorkerName("new"): KnownCluster(ClusterUID("A"), 2)}
    before = resolve(claims, known, ClusterUID("hub"), ())
    assert before.refused[WorkerName("old")].reason == CHANGED
    afterwards = resolve(claims, known, ClusterUID("hub"), {WorkerName("old")})
    assert afterwards.refused[WorkerName("old")].reason == DUPLICATE
    assert afterwards.proven == {"new": "A"}


def test_F4_a_worker_that_is_not_read_yet_may_be_a_new_name_of_a_known_one() -> None:
    known = {W1: KnownCluster(ClusterUID("A"), 1), W2: KnownCluster(ClusterUID("B"), 1)}
    names = resolve(
        [WorkerClaim(W2), WorkerClaim(WorkerName("new")), WorkerClaim(WorkerName("told"), WITHHELD)],
        known,
        ClusterUID("hub"),
        (),
    )
    assert names.may_turn_out_as(W1, WorkerName("new"))
    assert names.may_turn_out_as(W1, WorkerName("not there yet"))
    assert not names.may_turn_out_as(W1, W2), "that one is known to be another"
    assert not names.may_turn_out_as(W1, WorkerName("told")), "it never says"


def test_F4_objects_without_a_name_belong_to_the_connected_name() -> None:
    assert Authorship(W1).wrote(NO_WORKER)
    assert not Authorship(W1).wrote(W2)
    assert Authorship(W1, is_proven=True, unproven=frozenset({W2})).wrote(WorkerName("former"))
    assert not Authorship(W1, is_proven=True, unproven=frozenset({W2})).wrote(W2)


def test_F4_a_name_that_is_gone_stands_for_the_worker_that_shows_what_it_wrote() -> None:
    claims = [
        WorkerClaim(WorkerName("b"), WITHHELD, is_listed=True, marks=frozenset({WorkerName("gone"), WorkerName("a")})),
        WorkerClaim(WorkerName("c"), WITHHELD, marks=frozenset({WorkerName("gone")})),
        WorkerClaim(WorkerName("a"), WITHHELD),
    ]
    names = resolve(claims, {}, ClusterUID("hub"), ())
    assert names.aliases == {"gone": "b"}, "one of them, and no name that is configured"
    assert names.authorship(WorkerName("b")).wrote(WorkerName("gone"))
    assert not names.authorship(WorkerName("c")).wrote(WorkerName("gone"))
    assert not names.authorship(WorkerName("b")).wrote(WorkerName("a"))


def test_F4_marks_do_not_outweigh_what_was_read() -> None:
    known = {WorkerName("gone"): KnownCluster(ClusterUID("A"), 1)}
    claims = [WorkerClaim(W1, ClusterUID("B"), marks=frozenset({WorkerName("gone")})), WorkerClaim(W2, WITHHELD)]
    assert resolve(claims, known, ClusterUID("hub"), ()).aliases == {}


def test_F4_a_known_name_whose_identity_is_withheld_is_believed_only_with_what_it_wrote() -> None:
    known = {W1: KnownCluster(ClusterUID("A"), 1)}
    other = resolve([WorkerClaim(W1, WITHHELD, marks=frozenset({W2}))], known, ClusterUID("hub"), ())
    assert other.refused[W1].reason == UNIDENTIFIED
    for marks in ({W1}, {NO_WORKER}):
        assert not resolve([WorkerClaim(W1, WITHHELD, marks=frozenset(marks))], known, ClusterUID("hub"), ()).refused
    assert not resolve([WorkerClaim(W1, WITHHELD)], known, ClusterUID("hub"), {W1}).refused
