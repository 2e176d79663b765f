"""What happened to a Workload, told from recorded decisions and from the hub's object."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from config.api.identifiers import ReplicaUID, WorkerName
from config.names import DOMAIN
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.decision.decide import decide
from gates.model.actions import Decision, PatchHubStatus, Step
from gates.model.forecasts import ForecastRecord, Witness, format_record
from gates.model.hub_workload import CheckState
from gates.model.openings import Opening
from gates.model.rules import Rule
from gates.model.settings import SECOND, Settings
from gates.model.view import WorkloadView
from gates.reports.timeline import timeline
from gates.reports.timeline_events import Recorded, TimelineEventKind
from gates.wire.annotations import format_openings
from gates.wire.record_readers import hub_record
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, T, condition, group, hub, opened, replica, signalled, worker

SETTINGS = Settings()
ASKING = worker("w2", signalled("w2", at=NOW - 9 * SECOND))
VICTIM = ForecastVictim("ns", "low", "low-uid", "cq", "InClusterQueue")
PROMISE = Forecast(ForecastVerdict.PREEMPTS, NOW, victims=(VICTIM,), cost=Cost(victims=1, pods=2))


def recorded(state: WorkloadView, at: int = NOW) -> Recorded:
    return Recorded(at, state, decide(state, at, SETTINGS, {}), SETTINGS)


def told(*decisions: Recorded, raw: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    events = timeline(hub_record(raw) if raw is not None else None, reversed(decisions))
    return [(str(event.what), event.cluster, event.message) for event in events]


def test_copies_are_made_and_a_worker_asks() -> None:
    first = recorded(group(hub(), worker("w1"), worker("w2")), NOW)
    assert told(first)[1:] == [
        ("Nominated", "", "w1, w2"),
        ("Replicated", "w1", "gate closed"),
        ("Replicated", "w2", "gate closed"),
    ]


def test_an_opening_says_who_else_asked_and_whose_clock_was_corrected() -> None:
    early = worker("w1", signalled("w1", at=NOW - 2 * SECOND), clock_skew_ns=-8 * SECOND)
    late = worker("w2", signalled("w2", at=NOW - 7 * SECOND))
    events = told(recorded(group(hub(), early, late)))
    assert events[1:] == [
        ("Signalled", "w2", "asks to preempt"),
        ("Signalled", "w1", "asks to preempt (its clock is -8.0s off)"),
        ("GateOpened", "w2", "FirstComeFirstServed; w1 asked too"),
    ]


def test_times_of_a_worker_are_brought_to_the_hubs_clock() -> None:
    ahead = worker("w1", signalled("w1", at=NOW + 5 * SECOND), clock_skew_ns=7 * SECOND)
    signals = [
        event for event in timeline(None, [recorded(group(hub(), ahead))]) if event.what is TimelineEventKind.SIGNALLED
    ]
    assert [event.at_ns for event in signals] == [NOW - 2 * SECOND]


def test_the_winner_is_followed_and_losers_are_removed() -> None:
    admitted = replica("w1", condition("QuotaReserved"), condition("Admitted", message="it is admitted"))
    state = group(hub(), worker("w1", admitted), worker("w2", replica("w2")))
    assert ("AdmittedOnWorker", "w1", "it is admitted") in told(recorded(state))
    assert ("Removed", "w2", "w1 won") in told(recorded(state))


def test_a_decision_that_had_to_be_repeated_is_told_once_for_each_attempt() -> None:
    written = PatchHubStatus(check_state=CheckState.READY, check_message="it runs on w1", cluster_name=W1)
    decision = Decision(Rule.WINNER_FOLLOWED, (Step((written,)),))
    decisions = [
        Recorded(NOW + seconds * SECOND, group(hub(evictions=evictions), worker("w1")), decision, SETTINGS)
        for seconds, evictions in ((0, 0), (2, 0), (9, 1))
    ]
    events = timeline(None, reversed(decisions))
    assert [(event.what, event.at_ns) for event in events if event.what in ("Won", "Ready")] == [
        ("Won", NOW),
        ("Ready", NOW),
        ("Won", NOW + 9 * SECOND),
        ("Ready", NOW + 9 * SECOND),
    ]


def test_each_victim_is_told_once() -> None:
    evicted = Evicted("ns", "low", "low-uid", "InClusterQueue")
    state = group(hub(), worker("w1", signalled("w1", at=NOW), witness=Witness(evicted=(evicted,))))
    looks = [recorded(state, NOW + seconds * SECOND) for seconds in range(3)]
    victims = [event for event in timeline(None, reversed(looks)) if event.what is TimelineEventKind.VICTIM]
    assert [(event.at_ns, event.cluster, event.message) for event in victims] == [
        (NOW, "w1", "preempted ns/low (InClusterQueue)")
    ]
    assert victims[0].details == {"victims": [{"workload": "ns/low", "reason": "InClusterQueue"}]}


def test_a_forecast_and_its_verification_are_told() -> None:
    record = ForecastRecord(
        W1, ReplicaUID("w1-uid"), NOW, PROMISE, ForecastResult.WRONG, "ns/other was preempted", NOW + SECOND
    )
    state = group(hub(forecast=record), worker("w1", signalled("w1", at=NOW)))
    raw = hub_object(forecast=record)
    assert told(recorded(state), raw=raw)[-1] == ("Verified", "w1", "the forecast was wrong: ns/other was preempted")
    assert ("Forecast", "w1", "Preempts ns/low, 2 pod(s)") in told(raw=raw)


def test_what_decisions_and_the_object_both_know_is_told_once() -> None:
    state = group(hub(), worker("w1", signalled("w1", at=NOW)))
    raw = hub_object(openings=[(W1, ReplicaUID("w1-uid"), NOW)])
    opened = [event for event in told(recorded(state), raw=raw) if event[0] == "GateOpened"]
    assert opened == [("GateOpened", "w1", "FirstComeFirstServed; no other worker asked")]


def test_an_earlier_workload_of_the_same_name_is_left_out() -> None:
    earlier = recorded(group(hub(uid="old"), worker("w1")), NOW - 60 * SECOND)
    later = recorded(group(hub(), worker("w2")))
    assert {cluster for _, cluster, _ in told(earlier, later)} == {"", "w2"}
    assert told(earlier, raw=hub_object()) == told(raw=hub_object())


def test_within_one_second_things_come_in_their_order() -> None:
    admitted = replica("w1", condition("Admitted", at=NOW), signal_ns=NOW)
    before = recorded(group(hub(), worker("w1", signalled("w1", at=NOW))), NOW + SECOND // 2)
    after = recorded(group(hub(), worker("w1", admitted)), NOW + SECOND // 2)
    order = [what for what, _, _ in told(before, after)]
    assert order.index("Signalled") < order.index("GateOpened") < order.index("AdmittedOnWorker")


MOMENT = NOW + SECOND // 2
"""Between two whole seconds, as decisions are; objects only know the second."""


def test_a_signal_that_came_after_an_opening_is_told_after_it() -> None:
    first, asking = worker("w1", signalled("w1", at=NOW)), worker("w2", signalled("w2", at=NOW))
    before = recorded(group(hub(), first, worker("w2", replica("w2"))), MOMENT)
    open_now = worker("w1", signalled("w1", at=NOW, gate_open=True, gate_opened_ns=MOMENT))
    after = recorded(group(hub(), open_now, asking), MOMENT + SECOND // 4)
    events = [(what, cluster) for what, cluster, _ in told(before, after) if what in ("Signalled", "GateOpened")]
    assert events == [("Signalled", "w1"), ("GateOpened", "w1"), ("Signalled", "w2")]


def test_a_window_that_ends_without_an_admission_is_told_before_the_next_opening() -> None:
    first = worker("w1", opened("w1", at=NOW - T - SECOND))
    view = group(hub(openings=(Opening(W1, ReplicaUID("w1-uid"), NOW - T - SECOND),)), first, ASKING)
    events = [(what, cluster) for what, cluster, _ in told(recorded(view))][-3:]
    assert events == [("Signalled", "w2"), ("WindowEnded", "w1"), ("GateOpened", "w2")]


def test_the_end_comes_before_the_removal_that_follows_it() -> None:
    over = hub(conditions={each.type: each for each in (condition("QuotaReserved"), condition("Finished", at=NOW))})
    events = [what for what, _, _ in told(recorded(group(over, worker("w1", replica("w1"))), MOMENT))]
    assert events.index("Finished") < events.index("Removed")


def test_what_only_the_object_says_comes_before_what_follows_from_it() -> None:
    raw = hub_object(openings=[(W1, ReplicaUID("w1-uid"), MOMENT)])
    raw["metadata"]["creationTimestamp"] = "2027-01-15T08:00:00Z"
    assert [what for what, _, _ in told(raw=raw)] == ["Created", "GateOpened"]
    first = group(hub(conditions={"QuotaReserved": condition("QuotaReserved", at=NOW)}), worker("w1"))
    assert [what for what, _, _ in told(recorded(first), raw=raw)][:2] == ["Created", "QuotaReserved"]


@given(
    st.lists(
        st.tuples(st.integers(0, 3 * SECOND), st.sampled_from(("replica", "asks", "open", "admitted", "over"))),
        max_size=8,
    ),
    st.integers(-2, 2),
)
def test_times_never_decrease(looks: list[tuple[int, str]], skew: int) -> None:
    decisions = []
    for at, what in sorted(looks):
        moment = NOW + at
        stamp = moment // SECOND * SECOND
        replicas = {
            "replica": replica("w1"),
            "asks": signalled("w1", at=stamp + skew * SECOND),
            "open": opened("w1", at=moment),
            "admitted": replica("w1", condition("QuotaReserved", at=stamp), condition("Admitted", at=stamp)),
            "over": replica("w1", condition("Finished", at=stamp)),
        }
        view = group(hub(), worker("w1", replicas[what], clock_skew_ns=skew * SECOND), worker("w2"))
        decisions.append(recorded(view, moment))
    times = [event.at_ns for event in timeline(None, reversed(decisions))]
    assert times == sorted(times)


def hub_object(
    openings: list[tuple[WorkerName, ReplicaUID, int]] | None = None, forecast: ForecastRecord | None = None
) -> dict[str, Any]:
    """Return the hub's Workload as its API server sends it."""
    annotations = {f"{DOMAIN}/gate-openings": format_openings(Opening(*each) for each in openings or ())}
    if forecast is not None:
        annotations[f"{DOMAIN}/forecast"] = format_record(forecast)
    metadata = {"name": "wl", "namespace": "ns", "uid": "hub-uid", "resourceVersion": "7", "annotations": annotations}
    return {"metadata": metadata, "spec": {"queueName": "main"}, "status": {}}


def test_nothing_known_is_nothing_told() -> None:
    assert timeline(None, []) == []
