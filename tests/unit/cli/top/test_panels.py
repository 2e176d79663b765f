"""The panels of `turnstile top`: which columns fit, and what is in them."""

import pytest

from manager.cli.conventions.terminal import Tone
from manager.cli.top.panels import GAP, Panel, decisions_panel, workers_panel, workloads_panel
from tests.support.foreign_text import BAD, unprintable
from tests.unit.cli.top.fleets import NOW_NS, Obj, decision, fleet, followed, lane, quota, unfollowed, worker, workload


def heads(panel: Panel) -> list[str]:
    return [column.head for column in panel.columns]


def texts(panel: Panel) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in panel.rows]


def waiting(*items: Obj, width: int = 80, more: int = 0) -> Panel:
    return workloads_panel(fleet(*items, more=more), NOW_NS, width, has_namespaces=True)


def test_workers_show_state_gates_and_quota() -> None:
    ignored = {"state": "NotHonoured", "gatesUnsupported": "allow"}
    found = [worker(), worker("north", gates=ignored, quota=followed(quota("8", "8", 1.0)))]
    panel = workers_panel(fleet(workers=found), 80)
    assert heads(panel) == ["NAME", "STATE", "GATES", "QUOTA used/nominal"]
    assert texts(panel) == [
        ["east", "Connected", "honoured", "cpu ██████░░ 6/8"],
        ["north", "Connected", "not honoured (allow)", "cpu ████████ 8/8"],
    ]
    assert panel.rows[1].cells[2].tone is Tone.BAD
    assert heads(workers_panel(fleet(workers=found), 120))[3:5] == ["REPLICAS", "FORECASTS"]


def test_the_same_resource_stands_in_the_same_place_for_every_worker() -> None:
    both = followed(quota("10", "80", 0.125), quota("1Gi", "2Gi", 0.5, "memory"))
    one = followed(quota("1Gi", "4Gi", 0.25, "memory"))
    panel = workers_panel(fleet(workers=[worker(quota=both), worker("north", quota=one)]), 120)
    first, second = (row.cells[-1].text for row in panel.rows)
    assert first == "cpu █░░░░░░░ 10/80  memory ████░░░░ 1Gi/2Gi"
    assert second.index("memory") == first.index("memory")


def test_resources_that_do_not_fit_are_counted() -> None:
    many = followed(*(quota("10000", "20000", 0.5, f"example.com/r{number}") for number in range(5)))
    panel = workers_panel(fleet(workers=[worker(quota=many)]), 80)
    assert panel.rows[0].cells[-1].text == "r0 ████░░░░ 10000/20000  r1 ████░░░░ 10000/20000  +3"


UNFOLLOWED = {
    "Forbidden": "quota not followed: needs ClusterRole turnstile-worker-forecasts (deploy/rbac/worker-forecasts.yaml)",
    "Off": "quota not followed: forecast.enabled is false",
    "Unknown": "quota not followed: not everything on the cluster is known yet",
}


@pytest.mark.parametrize("state", UNFOLLOWED)
def test_quota_that_is_not_followed_says_what_would_change_that(state: str) -> None:
    told = unfollowed(state, "not everything on the cluster is known yet")
    wide = workers_panel(fleet(workers=[worker(quota=told)]), 160)
    assert wide.rows[0].cells[-1].text == wide.rows[0].about == UNFOLLOWED[state]
    narrow = workers_panel(fleet(workers=[worker(quota=told)]), 60)
    assert narrow.rows[0].cells[-1].text.startswith("quota not follow")


def test_workloads_have_a_column_for_each_worker_where_those_fit() -> None:
    item = workload("training", lane("east"), lane("north", gate="Open"), lane("west"))
    panel = waiting(item)
    assert heads(panel) == ["NAME", "PHASE", "AGE", "east", "north", "west"]
    assert texts(panel) == [["team/training", "Pending", "30s", "closed", "open", "closed"]]
    assert panel.rows[0].key == ("team", "training")


def test_more_workers_than_fit_share_one_column() -> None:
    lanes = [lane(f"w{number}") for number in range(12)]
    panel = waiting(workload("training", *lanes, moreLanes=3))
    assert heads(panel)[-1] == "LANES"
    assert panel.rows[0].cells[-1].text == "w0 closed, w1 closed, w2 closed, w3 closed +11"


def test_what_is_left_out_is_counted_in_the_title() -> None:
    assert waiting(workload(), more=9_812).title == "Workloads 1, and 9,812 more"
    assert waiting().rows == ()
    assert "no Workload" in waiting().empty


def test_a_workload_of_an_older_daemon_shows_its_message_instead_of_lanes() -> None:
    old = {key: value for key, value in workload().items() if key not in ("lanes", "moreLanes", "priority")}
    panel = waiting(old)
    assert texts(panel) == [["team/training", "Pending", "30s", "Pending on east"]]


def test_decisions_are_told_in_one_line_each() -> None:
    panel = decisions_panel(fleet(), 80, has_namespaces=False)
    assert heads(panel) == ["TIME", "WORKLOAD", "EVENT", "WORKER", "MESSAGE"]
    assert texts(panel) == [["07:59:58", "training", "GateOpened", "east", "LeastDisruption; no other worker asked"]]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_panel_is_wider_than_the_terminal(width: int) -> None:
    named = workload("a-name-" + "x" * 50, lane("a-worker-with-a-long-name"), lane("b"), lane("c"), lane("d"))
    document = fleet(named, workers=[worker("a-worker-with-a-long-name"), worker("b", quota=unfollowed("Forbidden"))])
    document["decisions"]["items"] = [decision(message="m" * 300)]
    for panel in (
        workers_panel(document, width),
        workloads_panel(document, NOW_NS, width, has_namespaces=True),
        decisions_panel(document, width, has_namespaces=True),
    ):
        assert sum(column.width + GAP for column in panel.columns) <= width


def test_no_text_of_a_cluster_reaches_the_terminal_as_it_is() -> None:
    hostile = workload(BAD, lane(BAD, state=BAD, gate=BAD, verdict=BAD), namespace=BAD, phase=BAD, message=BAD)
    found = worker(BAD, connection=BAD, message=f"{BAD}!", forecast=BAD, quota=followed(quota(BAD, BAD, 0.5, BAD)))
    document = fleet(hostile, workers=[found, worker("b", quota=unfollowed("Unknown", BAD))])
    document["decisions"]["items"] = [decision(BAD, name=BAD, namespace=BAD, worker=BAD, message=BAD)]
    for panel in (
        workers_panel(document, 200),
        workloads_panel(document, NOW_NS, 200, has_namespaces=True),
        decisions_panel(document, 200, has_namespaces=True),
    ):
        shown = [cell.text for row in panel.rows for cell in row.cells] + [row.about for row in panel.rows]
        shown += [panel.title, *heads(panel)]
        assert [unprintable(text) for text in shown if unprintable(text) or "\n" in text] == []
