"""What people are told about places: where pods would go, what is fragmented, and what is free on each level."""

from typing import Any

import pytest

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from engine.forecasting.arrivals import foresee
from engine.forecasting.forecast import Forecast, ForecastVerdict, forecast
from engine.forecasting.observed import ObservedCluster
from engine.forecasting.topology_room import MOST_DOMAINS, topology_room
from engine.planning.prospect import look_ahead
from engine.vocabulary.effort import Effort, TooMuchEffortError
from gates.model.forecast_documents import topology_document
from gates.planning.choosing import PlannedWorker, Prospect
from gates.planning.documents import Route, plan_document
from gates.planning.wanted import read_wanted
from gates.reports.topology_document import topology_rooms_document
from tests.support.builders import Builder, cluster
from tests.unit.engine.topology.fleet import Hosts, Raw, fleet, node, placed, pods, queue

TWO_RACKS: Hosts = {"b1/r1/h11": 4, "b1/r1/h12": 4, "b1/r2/h21": 4, "b1/r2/h22": 4}
NOW = 1_800_000_000 * 10**9


def observed(*builders: Builder) -> ObservedCluster:
    """Return a worker as its watches show it."""
    found = ObservedCluster()
    found.observe_topology("")
    for raw in cluster(*fleet(TWO_RACKS), queue("q", cpu=32).preemption(within="LowerPriority"), *builders):
        key = ObjectKey(raw["metadata"].get("namespace") or "", raw["metadata"]["name"])
        found.put(raw["kind"], key.namespace, key.name, found.read(raw["kind"], raw))
    return found


def running(name: str, count: int, **hosts: int) -> Builder:
    """Return a Workload that runs on these hosts."""
    return placed(pods(name, "q", count, required="rack").holds("q"), **hosts)


def asked(found: ObservedCluster, count: int, priority: int = 0, **request: Any) -> Forecast:
    """Return the forecast for a Workload that is not there yet."""
    raw = pods("wl", "q", count, **request).priority(priority).raw
    return foresee(found, raw, (), NOW)[0]


def test_a_forecast_says_where_pods_go_and_a_promise_takes_the_room() -> None:
    found = observed()
    raw = pods("wl", "q", 6, required="rack").raw
    said, promise = foresee(found, raw, (), NOW)
    assert topology_document(said)["places"] == [
        {"podSet": "main", "domains": [{"domain": "b1/r1/h11", "pods": 4}, {"domain": "b1/r1/h12", "pods": 2}]}
    ]
    assert promise is not None
    other = pods("other", "q", 6, required="rack").raw
    assert foresee(found, other, [promise], NOW)[0].pod_sets[0].places[0].domain == ("b1", "r2", "h21")


FRAGMENTED: dict[str, tuple[int, dict[str, Any], dict[str, Any] | None]] = {
    "one rack must hold all": (
        6,
        {"required": "rack"},
        {"level": "rack", "needed": 6, "largest": 4, "domain": "b1/r2", "inAll": 6},
    ),
    "they may be spread, and there is not enough": (
        7,
        {"preferred": "rack"},
        {"level": "block", "needed": 7, "largest": 6, "domain": "", "inAll": 6},
    ),
    "they fit": (4, {"required": "rack"}, None),
    "quota is missing as well": (30, {"required": "rack"}, None),
    "no such level": (1, {"required": "row"}, None),
}


@pytest.mark.parametrize(("count", "request_", "told"), FRAGMENTED.values(), ids=FRAGMENTED)
def test_what_is_fragmented_is_told_only_where_quota_is_there(
    count: int, request_: dict[str, Any], told: dict[str, Any] | None
) -> None:
    found = observed(running("a", 6, h11=4, h12=2), running("b", 4, h21=2, h22=2))
    document = topology_document(asked(found, count, **request_))
    assert document["fragmented"] == ([{"podSet": "main", **told}] if told is not None else [])


def test_victims_say_what_they_leave() -> None:
    found = observed(running("a", 6, h11=4, h12=2), running("b", 4, h21=2, h22=2))
    said = asked(found, 6, priority=10, required="rack")
    assert said.verdict is ForecastVerdict.PREEMPTS
    (victim,) = said.victims
    rack = {place.domain[:2] for place in said.pod_sets[0].places}
    assert {place.domain[:2] for place in victim.places} == rack
    assert topology_document(said)["fragmented"][0]["largest"] == 4


def test_an_assignment_to_a_node_that_is_gone_is_told_as_it_stands() -> None:
    found = observed(running("a", 2, gone=2), running("b", 8, h11=4, h12=4), running("c", 6, h21=4, h22=2))
    said = asked(found, 8, priority=10, required="rack")
    leaves = {place.domain for victim in said.victims for place in victim.places}
    assert said.verdict is ForecastVerdict.PREEMPTS
    assert leaves <= {("gone",), *(tuple(path.split("/")) for path in TWO_RACKS)}


def test_the_room_of_each_level_adds_up() -> None:
    taken = Raw(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "daemon", "namespace": "team"},
            "spec": {"nodeName": "h21", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": "Running"},
        }
    )
    found = observed(running("a", 6, h11=4, h12=2), taken)
    (flavor,) = topology_rooms_document(topology_room(found.model, with_lowest=False))
    told = {
        each["domain"]: (each["capacity"]["cpu"], each["used"].get("cpu"), each["other"]["cpu"], each["free"]["cpu"])
        for each in flavor["domains"]
    }
    assert told == {
        "b1": ("16", "6", "1", "9"),
        "b1/r1": ("8", "6", "0", "2"),
        "b1/r2": ("8", None, "1", "7"),
    }
    (whole,) = topology_room(found.model, with_lowest=True)
    assert [room.values[-1] for room in whole.domains] == ["b1", "r1", "h11", "h12", "r2", "h21", "h22"]
    assert (whole.left_out, len(whole.domains) < MOST_DOMAINS) == (0, True)


def test_a_worker_of_many_nodes_takes_more_steps_than_are_left() -> None:
    found = observed(pods("wl", "q", 4, required="rack"))
    with pytest.raises(TooMuchEffortError):
        forecast(found, ObjectKey("ns", "wl"), NOW, Effort(12))
    namespace = pods("wl", "q", 4).raw["metadata"]["namespace"]
    assert forecast(found, ObjectKey(namespace, "wl"), NOW, Effort(4_000)).verdict is ForecastVerdict.FITS


def test_what_is_known_of_nodes_is_part_of_what_is_shown_to_another_thread() -> None:
    found = observed(pods("wl", "q", 4, required="rack"))
    namespace = pods("wl", "q", 4).raw["metadata"]["namespace"]
    assert forecast(ObservedCluster.of(found.expose()), ObjectKey(namespace, "wl"), NOW).verdict is ForecastVerdict.FITS
    version = found.version
    found.observe_topology("no role")
    assert (found.version, found.last_change) == (version + 1, "what is known of topologies")
    said = forecast(ObservedCluster.of(found.expose()), ObjectKey(namespace, "wl"), NOW)
    assert (said.verdict, "no role" in said.message) == (ForecastVerdict.UNSUPPORTED, True)


def test_a_heartbeat_changes_nothing() -> None:
    found = observed()
    version = found.version
    raw = node("b1/r1/h11", 4).raw
    found.put("Node", "", "h11", found.read("Node", raw))
    assert found.version == version
    found.put("Node", "", "h11", None)
    assert found.version == version + 1


@pytest.mark.parametrize(("count", "verdict"), [(6, "Fits"), (9, "Cannot")])
def test_a_plan_says_it_too(count: int, verdict: str) -> None:
    raw = pods("wl", "q", count, required="rack").raw
    wanted = read_wanted(raw, "ns", {})
    outlook = look_ahead(observed(), raw, (), NOW)
    name = WorkerName("w1")
    route = Route("cq", "check", "config", (name,))
    choice = PlannedWorker(name, "", ())
    document = plan_document(wanted, route, 0, "main", [Prospect(name, 0, outlook=outlook)], choice, NOW)
    (worker,) = document["workers"]
    assert (worker["verdict"], bool(worker["places"]), bool(worker["fragmented"])) == (
        verdict,
        verdict == "Fits",
        verdict == "Cannot",
    )
