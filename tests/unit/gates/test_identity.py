"""Which name is used for a cluster: one of each, always the same, and never one that took it over."""

import random

from hypothesis import given
from hypothesis import strategies as st

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
    claims: list[WorkerClaim], known: dict[str, KnownCluster], given_up: frozenset[str], chance: random.Random
) -> None:
    names = resolve(claims, known, "hub", given_up)
    shuffled = list(claims)
    chance.shuffle(shuffled)
    assert resolve(shuffled, known, "hub", given_up) == names
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
    claims: list[WorkerClaim], known: dict[str, KnownCluster]
) -> None:
    names = resolve(claims, known, "hub", ())
    for author in names.unproven:
        others = [claim.name for claim in claims if claim.name != author]
        assert names.authorship(author).wrote(author)
        assert not any(names.authorship(other).wrote(author) for other in others)


def test_F4_a_name_that_was_known_first_is_not_displaced_by_an_older_one() -> None:
    claims = [
        WorkerClaim("old", "A", is_listed=True, seniority=(0, 0)),
        WorkerClaim("new", "A", is_listed=True, seniority=(1, 9)),
    ]
    known = {"old": KnownCluster("B", 1), "new": KnownCluster("A", 2)}
    before = resolve(claims, known, "hub", ())
    assert before.refused["old"].reason == CHANGED
    afterwards = resolve(claims, known, "hub", {"old"})
    assert afterwards.refused["old"].reason == DUPLICATE
    assert afterwards.proven == {"new": "A"}


def test_F4_a_worker_that_is_not_read_yet_may_be_a_new_name_of_a_known_one() -> None:
    known = {"w1": KnownCluster("A", 1), "w2": KnownCluster("B", 1)}
    names = resolve([WorkerClaim("w2"), WorkerClaim("new"), WorkerClaim("told", WITHHELD)], known, "hub", ())
    assert names.may_turn_out_as("w1", "new")
    assert names.may_turn_out_as("w1", "not there yet")
    assert not names.may_turn_out_as("w1", "w2"), "that one is known to be another"
    assert not names.may_turn_out_as("w1", "told"), "it never says"


def test_F4_objects_without_a_name_belong_to_the_connected_name() -> None:
    assert Authorship("w1").wrote("")
    assert not Authorship("w1").wrote("w2")
    assert Authorship("w1", is_proven=True, unproven=frozenset({"w2"})).wrote("former")
    assert not Authorship("w1", is_proven=True, unproven=frozenset({"w2"})).wrote("w2")


def test_F4_a_name_that_is_gone_stands_for_the_worker_that_shows_what_it_wrote() -> None:
    claims = [
        WorkerClaim("b", WITHHELD, is_listed=True, marks=frozenset({"gone", "a"})),
        WorkerClaim("c", WITHHELD, marks=frozenset({"gone"})),
        WorkerClaim("a", WITHHELD),
    ]
    names = resolve(claims, {}, "hub", ())
    assert names.aliases == {"gone": "b"}, "one of them, and no name that is configured"
    assert names.authorship("b").wrote("gone")
    assert not names.authorship("c").wrote("gone")
    assert not names.authorship("b").wrote("a")


def test_F4_marks_do_not_outweigh_what_was_read() -> None:
    known = {"gone": KnownCluster("A", 1)}
    claims = [WorkerClaim("w1", "B", marks=frozenset({"gone"})), WorkerClaim("w2", WITHHELD)]
    assert resolve(claims, known, "hub", ()).aliases == {}


def test_F4_a_known_name_whose_identity_is_withheld_is_believed_only_with_what_it_wrote() -> None:
    known = {"w1": KnownCluster("A", 1)}
    other = resolve([WorkerClaim("w1", WITHHELD, marks=frozenset({"w2"}))], known, "hub", ())
    assert other.refused["w1"].reason == UNIDENTIFIED
    for marks in ({"w1"}, {""}):
        assert not resolve([WorkerClaim("w1", WITHHELD, marks=frozenset(marks))], known, "hub", ()).refused
    assert not resolve([WorkerClaim("w1", WITHHELD)], known, "hub", {"w1"}).refused
