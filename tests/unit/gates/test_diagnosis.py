"""What the doctor concludes, from times, versions and marks alone."""

from collections.abc import Iterator

import pytest

from config.api.identifiers import ClusterUID
from config.api.meta import ObjectKey, format_time
from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from gates.diagnosis.capabilities import permission_findings, version_findings
from gates.diagnosis.connection import (
    DAY,
    Expiries,
    Handshake,
    Trouble,
    expiry_findings,
    handshake_findings,
    skew_findings,
)
from gates.diagnosis.finding import Finding, Severity, Topic
from gates.diagnosis.objects import Marked, StatusAuthor, namesake_findings, rival_findings
from gates.model.marks import HubIdentity
from gates.model.settings import SECOND
from tests.unit.gates.groups import NOW

HOUR = 3600 * SECOND
TODAY = format_time(NOW)


def said(findings: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(str(each.severity), each.message) for each in findings]


EXPIRIES: dict[str, tuple[Expiries, list[tuple[str, str]]]] = {
    "nothing ends": (Expiries(), []),
    "everything is good for long": (Expiries(NOW + 90 * DAY, NOW + 90 * DAY, NOW + 90 * DAY), []),
    "a token ends at the bound of the notice": (
        Expiries(token_ns=NOW + 7 * DAY),
        [("warning", f"the token expires at {format_time(NOW + 7 * DAY)}, in 7 days")],
    ),
    "a token is good for a moment more than that": (Expiries(token_ns=NOW + 7 * DAY + SECOND), []),
    "a token ends within the day": (
        Expiries(token_ns=NOW + 5 * HOUR),
        [("warning", f"the token expires at {format_time(NOW + 5 * HOUR)}, in 5 hours")],
    ),
    "a token file that is renewed": (Expiries(token_ns=NOW + HOUR, token_is_renewed=True), []),
    "a token file that was not renewed": (
        Expiries(token_ns=NOW, token_is_renewed=True),
        [("error", f"the token expired at {TODAY}")],
    ),
    "a client certificate has ended": (
        Expiries(client_certificate_ns=NOW - DAY),
        [("error", f"the client certificate expired at {format_time(NOW - DAY)}")],
    ),
    "the authority ends": (
        Expiries(authority_ns=NOW + 2 * DAY),
        [("warning", f"the authority in the kubeconfig expires at {format_time(NOW + 2 * DAY)}, in 2 days")],
    ),
}


@pytest.mark.parametrize(("expiries", "want"), EXPIRIES.values(), ids=EXPIRIES)
def test_what_ends(expiries: Expiries, want: list[tuple[str, str]]) -> None:
    assert said(expiry_findings("w1", expiries, NOW)) == want


def test_the_hubs_token_is_not_renewed_by_a_command_for_workers() -> None:
    (on_hub,) = expiry_findings("hub", Expiries(token_ns=NOW), NOW)
    (on_worker,) = expiry_findings("w1", Expiries(token_ns=NOW), NOW)
    assert "turnstile worker rotate" not in on_hub.remedy
    assert "turnstile worker rotate" in on_worker.remedy


@pytest.mark.parametrize("trouble", Trouble)
def test_every_trouble_of_a_handshake_has_a_sentence_and_a_remedy(trouble: Trouble) -> None:
    (found,) = handshake_findings("w1", Handshake("https://w1.example", trouble, "why"), NOW)
    assert found.severity is Severity.ERROR
    assert "https://w1.example" in found.message
    assert found.message.endswith(": why")
    assert found.remedy


SKEWS = {
    "in step": (0, []),
    "at the bound": (30 * SECOND, []),
    "ahead": (31 * SECOND, [("warning", "its clock is 31 s ahead of this machine's")]),
    "behind": (-600 * SECOND, [("warning", "its clock is 600 s behind this machine's")]),
}


@pytest.mark.parametrize(("skew", "want"), SKEWS.values(), ids=SKEWS)
def test_clocks(skew: int, want: list[tuple[str, str]]) -> None:
    assert said(skew_findings("w1", skew)) == want


VERSIONS: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "everything is there": (("v1beta2", "v1beta1"), [], []),
    "an old Kueue": (
        ("v1beta1", "v1alpha1"),
        ["workloads.kueue.x-k8s.io"],
        ["it serves kueue.x-k8s.io at v1beta1, v1alpha1, not at v1beta2"],
    ),
    "a kind is missing": (("v1beta2",), ["cohorts.kueue.x-k8s.io"], ["it does not serve cohorts.kueue.x-k8s.io"]),
    "no Kueue": ((), [], ["it does not serve kueue.x-k8s.io: Kueue is not installed"]),
}


@pytest.mark.parametrize(("served", "absent", "want"), VERSIONS.values(), ids=VERSIONS)
def test_versions(served: tuple[str, ...], absent: list[str], want: list[str]) -> None:
    assert [message for _, message in said(version_findings("w1", served, absent))] == want


def test_verbs_are_joined_by_resource() -> None:
    missing = [("get", "jobs.batch"), ("list", "jobs.batch"), ("get", "secrets")]
    assert said(permission_findings("w1", missing, "role.yaml", Severity.WARNING)) == [
        ("warning", "it does not allow get, list on jobs.batch"),
        ("warning", "it does not allow get on secrets"),
    ]


def test_many_namesakes_are_counted_and_ours_are_none() -> None:
    keys = [ObjectKey("ns", f"w{number}") for number in range(8)]
    found = [Marked(key, "", ClusterUID("")) for key in keys[:7]] + [Marked(keys[7], "origin", ClusterUID("hub"))]
    ours = HubIdentity("origin", ClusterUID("hub"))
    assert said(namesake_findings("w1", "jobs.batch", frozenset(keys), found, ours)) == [
        (
            "error",
            "jobs.batch that Turnstile did not create take names that it needs: "
            "ns/w0, ns/w1, ns/w2, ns/w3, ns/w4 and 2 more",
        )
    ]
    assert said(namesake_findings("w1", "jobs.batch", frozenset(), found, ours)) == []


def test_only_kueues_own_name_has_rivals() -> None:
    writes = [StatusAuthor("mk", "kueue", TODAY), StatusAuthor("other", "multikueue-turnstile.dev", TODAY)]
    assert said(rival_findings(CONTROLLER_NAME, writes, writes)) == []
    (check,) = rival_findings(MULTIKUEUE_NAME, writes, [])
    assert check.topic is Topic.RIVALS
    assert check.message == f'AdmissionCheck "mk" was last written by kueue at {TODAY}, not by Turnstile'
