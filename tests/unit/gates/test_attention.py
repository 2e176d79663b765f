"""What needs an operator, and what only has to wait."""

import re
from pathlib import Path
from typing import Any

import pytest

from gates.reports.attention import worker_attention, workload_attention
from gates.reports.hub_state import HubReason, HubState

ROOT = Path(__file__).resolve().parents[3]
WELL: dict[str, Any] = {
    "name": "east",
    "connection": "Connected",
    "message": "Connected",
    "lostSince": "",
    "gates": {"state": "Honoured"},
    "forecast": "reliable",
}
WORKERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a worker that is well": ({}, []),
    "a worker that is being connected": ({"connection": "Connecting", "gates": None}, []),
    "a lost worker": ({"connection": "Lost", "gates": None, "lostSince": "2025-06-15T15:06:40Z"}, ["worker/east"]),
    "a worker that was refused": ({"connection": "Refused", "gates": None}, ["worker/east"]),
    "a worker that ignores gates": ({"gates": {"state": "NotHonoured"}}, ["gates/east"]),
    "a worker of which that is not known": ({"gates": {"state": "Unknown"}}, []),
    "a worker whose forecasts are wrong": ({"forecast": "unreliable"}, ["forecasts/east"]),
    "a worker without forecasts": ({"forecast": "off"}, []),
}


@pytest.mark.parametrize("case", WORKERS.values(), ids=WORKERS)
def test_workers(case: tuple[dict[str, Any], list[str]]) -> None:
    changes, want = case
    found = worker_attention([{**WELL, **changes}])
    assert list(found) == want
    assert all(item["name"] == "east" and item["remedy"] for item in found.values())


def test_alerts_are_those_of_the_runbook() -> None:
    known = re.findall(r"alert: (\w+)", (ROOT / "deploy/prometheus/rules.yaml").read_text())
    for changes, _ in WORKERS.values():
        assert {item["alert"] for item in worker_attention([{**WELL, **changes}]).values()} <= set(known)


def test_a_workload_that_waits_in_vain_says_what_to_do() -> None:
    found = workload_attention("team/a", HubState(HubReason.DEACTIVATED, remedy="set spec.active to true"))
    assert found is not None
    assert found["message"] == "team/a does not go on by itself: spec.active is false"
    assert found["remedy"] == "set spec.active to true"


def test_a_workload_that_only_has_to_wait_needs_nobody() -> None:
    assert workload_attention("team/a", HubState(HubReason.WAITS_FOR_QUOTA)) is None
    assert workload_attention("team/a", HubState(HubReason.ON_WORKERS)) is None
