"""Where a Workload is, read from the hub's object alone, and what to do about it."""

from typing import Any

import pytest

from gates.reports.explanation import NextKind, next_by_hub
from gates.reports.hub_state import HubReason, HubState, hub_state
from gates.wire.eligibility import ELIGIBLE
from gates.wire.record_readers import hub_record
from gates.wire.records import HubRecord

AT = "2027-01-15T08:00:00Z"


def record(
    *conditions: dict[str, str],
    checks: list[dict[str, str]] | None = None,
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **status: Any,
) -> HubRecord:
    about = {"name": "wl", "namespace": "ns", "uid": "u", "resourceVersion": "1", **(metadata or {})}
    listed = [{"type": "", "status": "True", "lastTransitionTime": AT, **each} for each in conditions]
    found = checks if checks is not None else [{"name": "mk", "state": "Pending"}]
    body = {"conditions": listed, "admissionChecks": found, **status}
    return hub_record({"metadata": about, "spec": {"queueName": "main", **(spec or {})}, "status": body})


def state_of(found: HubRecord) -> HubState:
    return hub_state(found, found.check(frozenset({"mk"})))


RESERVED = {"type": "QuotaReserved"}


def rejected(message: str) -> HubRecord:
    return record(checks=[{"name": "mk", "state": "Rejected", "message": message}])


def unreserved(reason: str, message: str) -> HubRecord:
    return record({"type": "QuotaReserved", "status": "False", "reason": reason, "message": message})


STATES = {
    "being deleted": (record(RESERVED, metadata={"deletionTimestamp": AT}), HubReason.TERMINATING, NextKind.REMOVED),
    "sent back": (
        record(RESERVED, checks=[{"name": "mk", "state": "Retry"}]),
        HubReason.CHECK_RETRY,
        NextKind.REQUEUED,
    ),
    "on workers": (record(RESERVED), HubReason.ON_WORKERS, None),
    "running": (record(RESERVED, checks=[{"name": "mk", "state": "Ready"}]), HubReason.CHECK_READY, None),
    "a check that is late, after workers were nominated": (
        record(
            RESERVED,
            checks=[{"name": "mk", "state": "Pending"}, {"name": "late", "state": "Pending"}],
            nominatedClusterNames=["w1"],
        ),
        HubReason.ON_WORKERS,
        None,
    ),
    "finished, although it was deactivated": (
        record({"type": "Finished"}, spec={"active": False}),
        HubReason.FINISHED,
        NextKind.NOTHING,
    ),
    "deactivated before Kueue noticed": (record(spec={"active": False}), HubReason.DEACTIVATED, NextKind.FIX_NEEDED),
    "waiting after an eviction": (
        record({"type": "Evicted"}, requeueState={"requeueAt": AT}),
        HubReason.BACK_OFF,
        NextKind.REQUEUED,
    ),
}


@pytest.mark.parametrize(("found", "reason", "kind"), STATES.values(), ids=STATES)
def test_the_first_reason_that_holds_is_the_state(found: HubRecord, reason: HubReason, kind: NextKind | None) -> None:
    state = state_of(found)
    assert state.reason is reason
    step = next_by_hub(state)
    assert (step.kind if step is not None else None) == kind


REMEDIES = {
    "a kind that is not switched on": (
        rejected('No multikueue adapter found for owner kind "x"'),
        "add the kind job to jobs.integrations of Turnstile, or use a LocalQueue without this check",
    ),
    "something that cannot be had across clusters": (
        rejected("Not supported with MultiKueue: x"),
        "delete the job and create it again without that, or use a LocalQueue without this check",
    ),
    "a check of another controller": (
        rejected("no money"),
        "do what the message asks for, then activate the Workload: kubectl -n ns patch workload wl --type merge "
        """-p '{"spec":{"active":true}}'""",
    ),
    "a queue without a name that is known": (
        unreserved("Misconfigured", "it is odd"),
        "change on the hub what the message names",
    ),
    "a ClusterQueue that does not exist": (
        unreserved("Inadmissible", "ClusterQueue cq doesn't exist"),
        "see why it admits nothing, such as a stopPolicy: kubectl describe clusterqueue cq",
    ),
}


@pytest.mark.parametrize(("found", "want"), REMEDIES.values(), ids=REMEDIES)
def test_what_to_do_is_said(found: HubRecord, want: str) -> None:
    assert state_of(found).remedy == want


def test_who_deactivated_it_is_the_last_field_manager() -> None:
    def owner(manager: str, time: str, field: str = "f:active") -> dict[str, Any]:
        return {"manager": manager, "time": time, "fieldsV1": {"f:spec": {field: {}}}}

    fields = [
        owner("kueue", "2027-01-15T07:00:00Z"),
        owner("kubectl-patch", AT),
        owner("x", "2027-01-15T09:00:00Z", "f:priority"),
    ]
    found = record(metadata={"managedFields": fields}, spec={"active": False})
    assert state_of(found).deactivated_by == "kubectl-patch"


def test_what_may_be_admitted_shares_one_value() -> None:
    assert record().eligibility is ELIGIBLE
    assert record(spec={"active": True}).eligibility is ELIGIBLE


@pytest.mark.parametrize(
    "raw",
    [{"spec": {"active": "no"}}, {"requeueState": {"requeueAt": "soon"}}, {"requeueState": []}],
    ids=["active", "requeueAt", "requeueState"],
)
def test_odd_fields_are_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"active|requeueAt|requeueState"):
        record(**raw)
