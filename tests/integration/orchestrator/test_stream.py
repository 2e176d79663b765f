"""`/v1/events` and the lanes of a Workload, as a daemon answers them on its socket."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.integration.orchestrator.asking import Asker, asking
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, submit, tenant
from tests.integration.orchestrator.world import World, running
from tests.support.builders import Builder

SETTING: dict[str, list[Builder]] = {"w1": [queue(4), tenant("low", 4)], "w2": [queue(8), tenant("high", 8, 500)]}
GRACE = {"policy": "LeastDisruption", "non_preempting_grace": "30s"}


class Events:
    """What a viewer knows."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = defaultdict(dict)
        self.workload: Any = None
        self.seen: list[str] = []

    def take(self, block: str) -> None:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        data = json.loads(fields["data"])
        self.seen.append(fields["event"])
        if fields["event"] == "workload":
            self.workload = data["document"]
        if fields["event"] == "rows":
            rows = self.rows[data["topic"]]
            rows.update(data["put"])
            for key in data["drop"]:
                del rows[key]


def openings(events: Events) -> list[str]:
    headlines = events.rows["headlines"].get("", {"items": []})["items"]
    return [each["worker"] for each in headlines if each["event"] == "GateOpened"]


@asynccontextmanager
async def viewing(made: World, asker: Asker, **query: str) -> AsyncIterator[Events]:
    """Follow the stream while the block goes on."""
    events = Events()

    async def follow() -> None:
        async with asker.session.get("http://daemon/v1/events", params=query) as answer:
            assert answer.content_type == "text/event-stream"
            text = ""
            async for data in answer.content.iter_any():
                *blocks, text = (text + data.decode()).split("\n\n")
                for block in blocks:
                    events.take(block)

    task = made.lag.create_task(follow())
    try:
        await made.until(lambda: "synced" in events.seen)
        yield events
    finally:
        task.cancel()


async def test_a_viewer_sees_a_gate_open_and_the_workload_leave_the_waiting(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING, gates=GRACE) as made, asking(made, tmp_path) as asker:
        await passing(made, lambda: made["w1"].condition("Admitted", "low"))
        await passing(made, lambda: made["w2"].condition("Admitted", "high"))
        async with viewing(made, asker, workload="team/wl") as events:
            assert events.rows["waiting"] == {}
            assert {name: row["connection"] for name, row in events.rows["workers"].items()} == {
                "w1": "Connected",
                "w2": "Connected",
            }
            submit(made, cpu=4)
            await made.until(lambda: made["w1"].has_workload("wl") and made["w1"].condition("BlockedOnPreemptionGates"))
            await passing(made, lambda: events.rows["waiting"].get("team/wl", {}).get("lanes"))
            await passing(made, lambda: events.workload is not None and events.workload["phase"] == "Pending")
            await passing(made, lambda: "w1/team/low" in events.rows["risk"])
            assert events.rows["risk"]["w1/team/low"]["for"] == ["team/wl"]
            await passing(made, lambda: made.check()["state"] == "Ready")
            await passing(made, lambda: "team/wl" not in events.rows["waiting"])
            await passing(made, lambda: events.workload["phase"] == "Admitted")
            lanes = {lane["worker"]: lane for lane in events.workload["lanes"]}
            assert lanes["w1"]["admitted"] >= lanes["w1"]["created"] > ""
            await passing(made, lambda: openings(events) == ["w1"])
            assert events.rows["risk"] == {}


async def test_the_lanes_of_a_workload_say_what_explain_says(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING) as made, asking(made, tmp_path) as asker:
        await passing(made, lambda: made["w1"].condition("Admitted", "low"))
        submit(made, cpu=4)
        await made.settled()
        _, explained = await asker.get("workloads/team/wl/explanation")
        _, lanes = await asker.get("workloads/team/wl/lanes")
        assert {name: lanes[name] for name in explained if name != "now"} == {
            name: explained[name] for name in explained if name != "now"
        }
        assert [lane["worker"] for lane in lanes["lanes"]] == ["w1", "w2"]
        assert (await asker.get("workloads/team/nobody/lanes"))[0] == 404


async def test_a_lost_worker_and_a_rejected_workload_need_attention(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made, asking(made, tmp_path) as asker:
        await made.settled()
        async with viewing(made, asker) as events:
            assert events.rows["attention"] == {}
            made.queue("wl", active=False)
            await passing(made, lambda: "workload/team/wl" in events.rows["attention"])
            await made["w2"].local.stop()
            await passing(made, lambda: "worker/w2" in events.rows["attention"])
            item = events.rows["attention"]["worker/w2"]
            assert (item["severity"], item["remedy"]) == ("critical", "turnstile doctor --worker w2")


async def test_bad_questions_are_refused_by_name(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made, asking(made, tmp_path) as asker:
        status, told = await asker.get("events", topics="weather")
        assert (status, told["error"].split(":")[0]) == (400, "topics 'weather' is not allowed")
        status, told = await asker.get("events", workload="nameless")
        assert (status, told["error"]) == (400, "workload 'nameless' is not allowed: must be NAMESPACE/NAME")


async def test_the_seventeenth_viewer_is_told_to_come_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made, asking(made, tmp_path) as asker:
        assert made.daemon is not None
        for _ in range(16):
            made.daemon.inspector.streams.feed.arrive()
        async with asker.session.get("http://daemon/v1/events") as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
            assert "16 viewers" in (await answer.json())["error"]
