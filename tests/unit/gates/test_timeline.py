"""What happened to a Workload, told from recorded decisions and from the hub's object."""

from typing import Any

from config.names import DOMAIN
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult
from gates.decision.decide import decide
from gates.model.forecasts import ForecastRecord, Witness, format_record
from gates.model.names import ReplicaUID
from gates.model.settings import SECOND, Settings
from gates.model.view import Opening, WorkloadView
from gates.reports.timeline import Recorded, TimelineEvent, TimelineEventKind, timeline
from gates.wire.annotations import format_openings
from gates.wire.records import hub_record
from tests.unit.gates.groups import NOW, condition, group, hub, replica, signalled, worker

SETTINGS = Settings()
VICTIM = ForecastVictim("ns", "low", "low-uid", "cq", "InClusterQueue")
PROMISE = Forecast(ForecastVerdict.PREEMPTS, NOW, victims=(VICTIM,), cost=Cost(victims=1, pods=2))


def recorded(state: WorkloadView, at: int = NOW) -> Recorded:
    return Recorded(at, state, decide(state, at, SETTINGS, {}), SETTINGS)


def told(*decisions: Recorded, raw: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    events = timeline(hub_record(raw) if raw is not None else None, reversed(decisions))
    return [(str(event.what), event.cluster, event.message) for event in events]


def test_copies_are_made_and_somebody_asks() -> None:
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
        ("GateOpened", "w2", "FirstComeFirstServed; w1 asked too"),
        ("Signalled", "w1", "asks to preempt (its clock is -8.0 s off)"),
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


def test_each_victim_is_told_once() -> None:
    evicted = Evicted("ns", "low", "low-uid", "InClusterQueue")
    state = group(hub(), worker("w1", signalled("w1", at=NOW), witness=Witness(evicted=(evicted,))))
    looks = [recorded(state, NOW + seconds * SECOND) for seconds in range(3)]
    victims = [event for event in timeline(None, reversed(looks)) if event.what is TimelineEventKind.VICTIM]
    assert victims == [TimelineEvent(NOW, TimelineEventKind.VICTIM, "w1", "preempted ns/low (InClusterQueue)")]


def test_a_forecast_and_its_verification_are_told() -> None:
    record = ForecastRecord(
        "w1", ReplicaUID("w1-uid"), NOW, PROMISE, ForecastResult.WRONG, "ns/other was preempted", NOW + SECOND
    )
    state = group(hub(forecast=record), worker("w1", signalled("w1", at=NOW)))
    raw = hub_object(forecast=record)
    assert told(recorded(state), raw=raw)[-1] == ("Verified", "w1", "the forecast was wrong: ns/other was preempted")
    assert ("Forecast", "w1", "Preempts ns/low, 2 pod(s)") in told(raw=raw)


def test_what_decisions_and_the_object_both_know_is_told_once() -> None:
    state = group(hub(), worker("w1", signalled("w1", at=NOW)))
    raw = hub_object(openings=[("w1", ReplicaUID("w1-uid"), NOW)])
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
    order = [what for what, _, _ in told(after, before)]
    assert order.index("Signalled") < order.index("GateOpened") < order.index("AdmittedOnWorker")


def hub_object(
    openings: list[tuple[str, ReplicaUID, int]] | None = None, forecast: ForecastRecord | None = None
) -> dict[str, Any]:
    """Return the hub's Workload as its API server sends it."""
    annotations = {f"{DOMAIN}/gate-openings": format_openings(Opening(*each) for each in openings or ())}
    if forecast is not None:
        annotations[f"{DOMAIN}/forecast"] = format_record(forecast)
    metadata = {"name": "wl", "namespace": "ns", "uid": "hub-uid", "resourceVersion": "7", "annotations": annotations}
    return {"metadata": metadata, "spec": {"queueName": "main"}, "status": {}}


def test_nothing_known_is_nothing_told() -> None:
    assert timeline(None, []) == []
