"""Active and inactive ClusterQueues."""

from typing import Any

import pytest

from engine.objects.activity import KnownChecks, why_inactive

Raw = dict[str, Any]
CHECKS = KnownChecks(
    {
        "ok": "example.com/check",
        "sleeping": "example.com/check",
        "mk": "kueue.x-k8s.io/multikueue",
        "mk2": "kueue.x-k8s.io/multikueue",
        "prov": "kueue.x-k8s.io/provisioning-request",
    },
    frozenset({"sleeping"}),
)


def queue(*checks: Raw, flavors: tuple[str, ...] = ("f",), **spec: object) -> Raw:
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": name} for name in flavors]}]
    strategy = {"admissionChecksStrategy": {"admissionChecks": list(checks)}} if checks else {}
    return {"metadata": {"name": "a"}, "spec": {"resourceGroups": groups, **strategy, **spec}}


@pytest.mark.parametrize(
    ("raw", "reason", "message"),
    [
        pytest.param(queue(stopPolicy="Hold"), "Stopped", "is stopped", id="9: stopped"),
        pytest.param(
            queue(flavors=("f", "g", "h")),
            "FlavorNotFound",
            "references missing ResourceFlavor(s): g,h",
            id="no flavor",
        ),
        pytest.param(
            queue({"name": "z"}, {"name": "y"}),
            "AdmissionCheckNotFound",
            "references missing AdmissionCheck(s): y,z",
            id="no check",
        ),
        pytest.param(
            queue({"name": "sleeping"}),
            "AdmissionCheckInactive",
            "references inactive AdmissionCheck(s): sleeping",
            id="inactive check",
        ),
        pytest.param(
            queue({"name": "mk2"}, {"name": "mk"}),
            "MultipleMultiKueueAdmissionChecks",
            "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: mk,mk2",
            id="two MultiKueue checks",
        ),
        pytest.param(
            queue({"name": "mk", "onFlavors": ["g"]}),
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            "Cannot specify MultiKueue AdmissionCheck per flavor, found: mk",
            id="MultiKueue per flavor",
        ),
        pytest.param(
            queue({"name": "mk"}, {"name": "prov"}),
            "MultiKueueWithProvisioningRequest",
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: mk, prov",
            id="MultiKueue and ProvisioningRequest",
        ),
        pytest.param(
            queue(flavors=("g",), stopPolicy="HoldAndDrain"),
            "Stopped",
            "is stopped, references missing ResourceFlavor(s): g",
            id="several causes",
        ),
    ],
)
def test_inactive_queue_says_why(raw: Raw, reason: str, message: str) -> None:
    found = why_inactive(raw, {"f"}, CHECKS, in_cohort_cycle=False)
    assert found is not None
    assert (found.reason, found.message) == (reason, f"Can't admit new workloads: {message}.")


@pytest.mark.parametrize("raw", [queue(), queue({"name": "ok"}), queue({"name": "mk", "onFlavors": ["f"]})])
def test_active_queue(raw: Raw) -> None:
    assert why_inactive(raw, {"f"}, CHECKS, in_cohort_cycle=False) is None


def test_terminating_queue() -> None:
    raw = queue()
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = why_inactive(raw, {"f"}, CHECKS, in_cohort_cycle=False)
    assert found is not None
    assert found.reason == "Terminating"


def test_queue_in_a_cycle_of_cohorts() -> None:
    found = why_inactive(queue(), {"f"}, CHECKS, in_cohort_cycle=True)
    assert found is not None
    assert found.reason == "HasCycle"
