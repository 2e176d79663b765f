"""Each HTTP answer becomes the error that tells the caller what to do."""

from dataclasses import dataclass

import pytest

from workerclient.base.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Denied,
    Expired,
    Forbidden,
    InternalFailure,
    Invalid,
    NotFound,
    NotServed,
    Operation,
    ProtocolViolation,
    Refused,
    Retryable,
    Status,
    Throttled,
    TimedOut,
    Unauthenticated,
    Unavailable,
    error_for,
    excerpt,
)

OPERATION = Operation("w1", "create", "workloads.kueue.x-k8s.io", "team/a")


CANNOT = (
    'workloads.kueue.x-k8s.io "a" is forbidden: User "hub" cannot create resource "workloads" '
    'in API group "kueue.x-k8s.io" in the namespace "team"'
)
DENIED = 'admission webhook "vworkload.kb.io" denied the request: spec.active: Invalid value'


@dataclass(frozen=True)
class Case:
    code: int
    status: Status | None
    want: type[ClusterError]


CASES = {
    "409 AlreadyExists is not a lost race": Case(409, Status(reason="AlreadyExists"), AlreadyExists),
    "409 Conflict is": Case(409, Status(reason="Conflict"), Conflict),
    "409 without a Status is taken as a lost race": Case(409, None, Conflict),
    "404 that names an object proves its absence": Case(404, Status(reason="NotFound", name="a"), NotFound),
    "404 without a Status proves nothing about objects": Case(404, None, NotServed),
    "404 with a Status that names nothing proves nothing either": Case(404, Status(reason="NotFound"), NotServed),
    "410 asks for a list": Case(410, Status(reason="Expired"), Expired),
    "429 asks for patience": Case(429, None, Throttled),
    "408 leaves the outcome open": Case(408, None, TimedOut),
    "504 Timeout leaves the outcome open": Case(504, Status(reason="Timeout"), TimedOut),
    "504 of a proxy means unavailable": Case(504, None, Unavailable),
    "500 with a Status comes from a server that is alive": Case(500, Status(reason="InternalError"), InternalFailure),
    "500 without a Status does not": Case(500, None, Unavailable),
    "503 means unavailable": Case(503, Status(reason="ServiceUnavailable"), Unavailable),
    "401 asks for other credentials": Case(401, None, Unauthenticated),
    "403 of authorization asks for a role": Case(403, Status(reason="Forbidden", message=CANNOT), Forbidden),
    "403 of a webhook does not": Case(403, Status(reason="Forbidden", message=DENIED), Denied),
    "403 without a sentence does not either": Case(403, None, Denied),
    "422 about the uid is a failed precondition": Case(422, Status(fields=frozenset(["metadata.uid"])), Conflict),
    "422 asks for another object": Case(422, Status(reason="Invalid"), Invalid),
    "400 is refused": Case(400, None, Invalid),
    "a redirect is no answer of an API server": Case(302, None, ProtocolViolation),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_answers_become_errors_by_what_the_caller_should_do(case: Case) -> None:
    assert type(error_for(OPERATION, case.code, case.status)) is case.want


def test_an_error_names_cluster_verb_resource_and_object() -> None:
    error = error_for(OPERATION, 409, Status(message="it is there", reason="AlreadyExists"))
    assert str(error) == "cluster w1: create workloads.kueue.x-k8s.io team/a: it is there"
    assert error.reason == "AlreadyExists"


def test_a_refusal_says_what_would_help() -> None:
    error = error_for(OPERATION, 403, Status(message=CANNOT))
    assert isinstance(error, Refused)
    assert error.remedy == 'grant the verb "create" on workloads.kueue.x-k8s.io in cluster w1'
    assert str(error).endswith(f"({error.remedy})")


def test_a_throttled_request_was_not_executed_and_a_failed_one_may_have_been() -> None:
    throttled = error_for(OPERATION, 429, Status(retry_after=3.0))
    failed = error_for(OPERATION, 503, None, retry_after=2.0)
    assert isinstance(throttled, Retryable)
    assert (throttled.retry_after, throttled.may_have_been_executed) == (3.0, False)
    assert isinstance(failed, Retryable)
    assert (failed.retry_after, failed.may_have_been_executed) == (2.0, True)


def test_the_header_wins_over_the_body_about_when_to_come_back() -> None:
    error = error_for(OPERATION, 429, Status(retry_after=3.0), retry_after=7.0)
    assert isinstance(error, Throttled)
    assert error.retry_after == 7.0


def test_a_missing_namespace_is_named() -> None:
    error = error_for(OPERATION, 404, Status(message="gone", kind="namespaces", name="team"))
    assert isinstance(error, NotFound)
    assert (error.kind, error.name) == ("namespaces", "team")


def test_foreign_texts_are_cut_and_escaped() -> None:
    error = error_for(OPERATION, 500, Status(message="\x1b[31mred\n" + "x" * 5000))
    assert "\x1b" not in str(error)
    assert "\n" not in str(error)
    assert "\\x1b[31mred\\n" in error.message
    assert error.message.endswith(" ...")
    assert len(error.message) < 1100


def test_an_excerpt_leaves_printable_texts_alone() -> None:
    assert excerpt("Größe 5 µs") == "Größe 5 µs"
