"""`turnstile explain` makes its sentences from the fields of the document."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import ReplicaUID
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.values import PodCost, PodOutcome, PodOutlook, PodVerdict, PodVictim, unsupported
from gates.model.forecast_documents import (
    forecast_document,
    pod_outlook_document,
    pod_victim_document,
    victim_document,
)
from gates.model.forecasts import ForecastRecord
from gates.model.pod_records import PodRecord
from gates.model.rules import Rule
from gates.model.settings import SECOND
from gates.reports.explanation import (
    NextKind,
    NextStep,
    ReplicaReport,
    ReplicaState,
    WorkerExplanation,
    WorkloadExplanation,
    explanation_document,
    unreadable_document,
)
from gates.reports.hub_state import HubReason, HubState
from gates.reports.preemptions import PreemptionVictim, RunningPreemption
from gates.wire.record_readers import hub_record
from gates.wire.records import CheckEntry, HubRecord
from manager.cli.ask.explain import report_of
from manager.cli.ask.explain_report import (
    forecast_sentence,
    lines_of,
    pod_victim_sentence,
    pods_sentence,
    preempted_sentence,
    replica_sentence,
    victim_sentence,
    worker_sentence,
)
from manager.cli.ask.next_sentences import next_sentence, state_sentence
from manager.cli.conventions.options import Form
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.conventions.watching import Follower
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW

Obj = dict[str, Any]
AS_OF = "2027-01-15T08:00:00Z"
VICTIM = ForecastVictim("ns", "low", "u", "cq", "InClusterQueue", 5, "Job j", 2, NOW - 90 * SECOND)
FORECAST = Forecast(
    ForecastVerdict.PREEMPTS, NOW, flavors=(("cpu", "f"),), borrowing=1, victims=(VICTIM,), cost=Cost(victims=1, pods=2)
)
POD = PodVictim("ns", "a", "n1", 3, "gang", NOW - 5 * SECOND, violates_budget=True)
OUTLOOK = PodOutlook(
    PodVerdict.EVICTS, NOW - SECOND, "1.36", "", 2, (POD,), (PodOutcome(("ns/a",)),), cost=PodCost(1, 0, 20)
)


def record(*conditions: str, check: str | None = "Pending", cluster: str = "") -> tuple[HubRecord, CheckEntry | None]:
    held = [{"type": name, "status": "True", "lastTransitionTime": AS_OF} for name in conditions]
    status = {"conditions": held, "admissionChecks": [{"name": "mk", "state": check}] if check else []}
    metadata = {"name": "wl", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    found = hub_record({"metadata": metadata, "spec": {}, "status": {**status, "clusterName": cluster}})
    return found, found.check(frozenset({"mk"}))


def document(step: NextStep, *workers: WorkerExplanation) -> Obj:
    found, entry = record("QuotaReserved")
    return {"asOf": AS_OF, **explanation_document(found, entry, WorkloadExplanation(workers, step))}


AT = NOW + 18 * SECOND
NEXT = {
    NextKind.GATE_OPENS: (NextStep(NextKind.GATE_OPENS, W1, NOW), "the gate of w1 opens now"),
    NextKind.GATE_OPENS_AFTER_WINDOW: (
        NextStep(NextKind.GATE_OPENS_AFTER_WINDOW, W2, AT, W1),
        "the gate of w2 opens in 18s, when the window of w1 ends",
    ),
    NextKind.GATE_OPENS_AFTER_GRACE: (
        NextStep(NextKind.GATE_OPENS_AFTER_GRACE, W1, AT),
        "the gate of w1 opens in 18s (at 2027-01-15T08:00:18Z), unless another worker has room",
    ),
    NextKind.GATE_DEFERRED: (
        NextStep(NextKind.GATE_DEFERRED, W1, AT, reason="the policy waits"),
        "w1 waits 18s at most: the policy waits",
    ),
    NextKind.GATE_HELD: (
        NextStep(NextKind.GATE_HELD, W1, other_worker=W2),
        "no gate opens while w2 has quota reserved",
    ),
    NextKind.WINDOW_OPEN: (NextStep(NextKind.WINDOW_OPEN, W1, AT), "w1 may preempt for another 18s"),
    NextKind.NO_REQUEST: (
        NextStep(NextKind.NO_REQUEST),
        "no worker asks to preempt; the first worker to admit wins",
    ),
    NextKind.JOB_FOLLOWED: (
        NextStep(NextKind.JOB_FOLLOWED, W1),
        "the hub's job follows the one on w1 until it ends",
    ),
    NextKind.OTHER: (NextStep(NextKind.OTHER, rule=Rule.REPLICA_FINISHED), "its end is copied to the hub"),
    NextKind.FIX_NEEDED: (NextStep(NextKind.FIX_NEEDED), "nothing, until this is done: "),
    NextKind.HUB_RESERVES_QUOTA: (
        NextStep(NextKind.HUB_RESERVES_QUOTA),
        "it is sent to workers once the hub has reserved quota for it",
    ),
    NextKind.REQUEUED: (NextStep(NextKind.REQUEUED, at_ns=AT), "the hub queues it again in 18s"),
    NextKind.OTHER_CHECKS: (
        NextStep(NextKind.OTHER_CHECKS),
        "it is sent to workers once the other admission checks are Ready",
    ),
    NextKind.REMOVED: (NextStep(NextKind.REMOVED), "its replicas are removed"),
    NextKind.NOT_DISPATCHED: (
        NextStep(NextKind.NOT_DISPATCHED),
        "nothing: without that check it is not sent to workers",
    ),
    NextKind.NOTHING: (NextStep(NextKind.NOTHING), "nothing"),
    NextKind.UNKNOWN: (NextStep(NextKind.UNKNOWN), "only the daemon knows"),
}


@pytest.mark.parametrize("kind", NextKind)
def test_what_happens_next_is_a_sentence(kind: NextKind) -> None:
    step, want = NEXT[kind]
    assert next_sentence(document(step)) == want


def test_a_reason_comes_before_what_the_rule_does() -> None:
    step = NextStep(NextKind.OTHER, rule=Rule.FOREIGN_JOB, reason="it waits for its job")
    assert next_sentence(document(step)) == "it waits for its job"


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_is_told_without_its_name(rule: Rule) -> None:
    told = next_sentence(document(NextStep(NextKind.OTHER, rule=rule)))
    assert told
    assert str(rule) not in told


@pytest.mark.parametrize("reason", HubReason)
def test_every_state_of_the_hub_has_words(reason: HubReason) -> None:
    body = {**document(NextStep(NextKind.NOTHING)), "state": HubState(reason, check="mk").document()}
    assert state_sentence(body) not in ("", str(reason))


STATES = {
    "pending": (record("QuotaReserved"), "admission check mk is Pending, waits for a worker to admit it"),
    "running": (record("QuotaReserved", check="Ready", cluster="w1"), "admission check mk is Ready, runs on w1"),
    "without quota": (record(), "waits for quota on the hub"),
    "without a check": (record("QuotaReserved", check=None), "has no MultiKueue admission check"),
    "finished": (record("QuotaReserved", "Finished"), "finished 0s ago"),
}


@pytest.mark.parametrize(("found", "want"), STATES.values(), ids=STATES)
def test_the_state(found: tuple[HubRecord, CheckEntry | None], want: str) -> None:
    explanation = WorkloadExplanation((), NextStep(NextKind.NOTHING))
    assert state_sentence({"asOf": AS_OF, **explanation_document(*found, explanation)}) == want


def test_an_object_that_cannot_be_read_has_the_same_fields() -> None:
    found = unreadable_document("ns", "wl", "bad annotation")
    assert found.keys() | {"asOf"} == document(NextStep(NextKind.NOTHING)).keys()
    assert lines_of({"asOf": AS_OF, **found}, TerminalScreen(), is_wide=False) == [
        "Workload ns/wl",
        "state     cannot be read: bad annotation",
        "next      nothing, until this is done: repair the object",
    ]


@pytest.mark.parametrize("state", ReplicaState)
def test_every_state_of_a_replica_has_words(state: ReplicaState) -> None:
    report = ReplicaReport(state, NOW, "told")
    (worker,) = document(NextStep(NextKind.NOTHING), WorkerExplanation("w1", report))["workers"]
    assert replica_sentence(worker["replica"]) not in ("", str(state))


def of(forecast: Forecast, *, is_reliable: bool = True) -> Obj:
    return {**forecast_document(forecast), "reliable": is_reliable}


FORECASTS = {
    "preempts": (of(FORECAST), "Preempts 1 workload(s), 2 pod(s), for cpu=f, borrowing at level 1"),
    "at a cost": (
        of(replace(FORECAST, borrowing=0, cost=Cost(preemption_cost=7, victims=2, pods=4))),
        "Preempts 2 workload(s), 4 pod(s), preemption cost 7, for cpu=f",
    ),
    "fits": (of(Forecast(ForecastVerdict.FITS, NOW, flavors=(("cpu", "f"), ("cpu", "g")))), "Fits in cpu=f, cpu=g"),
    "cannot": (of(Forecast(ForecastVerdict.CANNOT, NOW, "no: room"), is_reliable=False), "Cannot [unreliable]"),
    "flavors depend on victims": (
        of(replace(FORECAST, borrowing=0, other_flavors=((("cpu", "g"),), (("cpu", "h"),)))),
        "Preempts 1 workload(s), 2 pod(s), for cpu=f (or cpu=g or cpu=h, depending on which victim leaves first)",
    ),
    "none": (None, "-"),
}


@pytest.mark.parametrize(("forecast", "want"), FORECASTS.values(), ids=FORECASTS)
def test_what_a_worker_would_do(forecast: Obj | None, want: str) -> None:
    assert forecast_sentence(forecast) == want


def test_victims_are_described() -> None:
    assert victim_sentence(victim_document(VICTIM), AS_OF) == (
        "ns/low (Job j), priority 5, running for 90s, InClusterQueue"
    )
    other = replace(VICTIM, owner="", preemption_cost=7, running_since_ns=None, in_flight=True)
    assert victim_sentence(victim_document(other), AS_OF) == (
        "ns/low, priority 5, preemption cost 7, InClusterQueue, leaving already"
    )


@pytest.mark.parametrize(
    ("is_preempted", "want"),
    [
        (True, "preempted ns/low (Job j), priority 5, InClusterQueue"),
        (False, "is to preempt ns/low (Job j), priority 5, running for 90s, InClusterQueue"),
        (None, "was forecast to preempt ns/low (Job j), priority 5, running for 90s, InClusterQueue"),
    ],
)
def test_a_running_preemption_says_how_far_it_is(is_preempted: bool | None, want: str) -> None:
    victim = PreemptionVictim("ns", "low", "InClusterQueue", VICTIM, is_preempted)
    assert preempted_sentence(victim.document(), AS_OF) == want


def test_a_victim_that_was_not_forecast_is_told() -> None:
    victim = PreemptionVictim("ns", "x", "InCohortReclamation", is_preempted=True)
    want = "preempted ns/x, InCohortReclamation, which was not forecast"
    assert preempted_sentence(victim.document(), AS_OF) == want


def test_an_open_gate_shows_its_victims_and_not_another_forecast() -> None:
    victim = PreemptionVictim("ns", "low", "InClusterQueue", VICTIM, is_preempted=True)
    preemption = RunningPreemption(NOW, NOW + SECOND, (victim,))
    cannot = Forecast(ForecastVerdict.CANNOT, NOW, "no room")
    replica = ReplicaReport(ReplicaState.PENDING, message="Pending the preemption of 1 workload(s)")
    worker = WorkerExplanation("w1", replica, "Open", cannot, preemption=preemption)
    body = document(NextStep(NextKind.WINDOW_OPEN, W1, AT), worker)
    assert worker_sentence(body["workers"][0]) == "Preempted 1 workload(s), 2 pod(s)"
    assert lines_of(body, TerminalScreen(), is_wide=False)[-1] == (
        "  w1 preempted ns/low (Job j), priority 5, InClusterQueue"
    )


def test_pods_are_described() -> None:
    def told(outlook: PodOutlook) -> str:
        return pods_sentence(pod_outlook_document(outlook))

    assert told(OUTLOOK) == "Evicts 1 pod(s) for 2"
    assert told(replace(OUTLOOK, verdict=PodVerdict.FITS)) == "Fits: 2 pod(s) find nodes"
    assert told(unsupported("why", NOW)) == "Unsupported: why"
    both = replace(
        OUTLOOK,
        verdict=PodVerdict.AMBIGUOUS,
        message="2 outcomes are possible",
        outcomes=(PodOutcome(), PodOutcome(("ns/a", "ns/b"))),
        approximate=("images",),
    )
    assert told(both) == "Ambiguous: 2 outcomes are possible: evicts none; or ns/a, ns/b [approximate: images]"
    described = "ns/a (with PodGroup gang) on n1, priority 3, running for 5s, against its PodDisruptionBudget"
    assert pod_victim_sentence(pod_victim_document(POD), AS_OF) == described
    assert pod_victim_sentence(pod_victim_document(PodVictim("ns", "b", "n1")), AS_OF) == "ns/b on n1, priority 0"


def test_a_refusal_is_explained_once() -> None:
    cannot = Forecast(ForecastVerdict.CANNOT, NOW, "no: room")
    says = ReplicaReport(ReplicaState.PENDING, message="no: room")
    silent = ReplicaReport(ReplicaState.PENDING)
    for replica, want in ((says, []), (silent, ["  w1 cannot: no: room"])):
        body = document(NextStep(NextKind.NO_REQUEST), WorkerExplanation("w1", replica, forecast=cannot))
        assert lines_of(body, TerminalScreen(), is_wide=False)[6:] == want


def test_both_kinds_of_victims_and_both_results_are_told() -> None:
    found, entry = record("QuotaReserved")
    kept = ForecastRecord(
        W1,
        ReplicaUID("u"),
        NOW,
        FORECAST,
        ForecastResult.WRONG,
        "others",
        pods=PodRecord(OUTLOOK, ForecastResult.EXACT),
    )
    replica = ReplicaReport(ReplicaState.ASKS_TO_PREEMPT, NOW)
    worker = WorkerExplanation("w1", replica, "Closed", FORECAST, pods=OUTLOOK)
    explanation = WorkloadExplanation((worker,), NextStep(NextKind.NO_REQUEST))
    body = {"asOf": AS_OF, **explanation_document(replace(found, forecast=kept), entry, explanation)}
    assert lines_of(body, TerminalScreen(), is_wide=False) == [
        "Workload ns/wl",
        "state     admission check mk is Pending, waits for a worker to admit it",
        "forecast  w1: Preempts, wrong (others)",
        "pods      w1: Evicts, exact",
        "next      no worker asks to preempt; the first worker to admit wins",
        "",
        "WORKER  GATE    WOULD                                                              SAYS",
        "w1      closed  Preempts 1 workload(s), 2 pod(s), for cpu=f, borrowing at level 1"
        "  asks to preempt since 2027-01-15T08:00:00Z",
        "  w1 would preempt ns/low (Job j), priority 5, running for 90s, InClusterQueue",
        "  w1 pods: Evicts 1 pod(s) for 2",
        "  w1 would evict pod ns/a (with PodGroup gang) on n1, priority 3, running for 5s, "
        "against its PodDisruptionBudget",
    ]


def test_time_that_passes_is_no_change_to_watch_for() -> None:
    worker = WorkerExplanation("w1", ReplicaReport(ReplicaState.PENDING), "Closed", FORECAST)

    def answer(now: str, step: NextStep) -> Obj:
        return {**document(step, worker), "source": "daemon", "now": now, "asOf": now}

    waits = answer(AS_OF, NextStep(NextKind.GATE_OPENS_AFTER_GRACE, W1, AT))
    later = answer("2027-01-15T08:00:02Z", NextStep(NextKind.GATE_OPENS_AFTER_GRACE, W1, AT + SECOND))
    opens = answer("2027-01-15T08:00:18Z", NextStep(NextKind.GATE_OPENS, W1, AT))
    follower = Follower(Form.TABLE, TerminalScreen())
    shown = [bool(list(follower.lines(report_of(each)))) for each in (waits, later, opens)]
    assert shown == [True, False, True]
