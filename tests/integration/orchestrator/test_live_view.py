"""What the daemon answers to `turnstile top`: everything in one bounded document.

That nothing keeps the loop for longer than 50 ms is checked at the end of every world.
"""

from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from manager.serving.parameters import limit_refused
from tests.integration.doctor.wards import allowing, grants_of
from tests.integration.orchestrator.asking import asking, fill
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, submit, tenant
from tests.integration.orchestrator.kueue import Obj
from tests.integration.orchestrator.world import SYSTEM, running, world
from tests.support.builders import Builder

SETTING: dict[str, list[Builder]] = {"w1": [queue(4), tenant("low", 4)], "w2": [queue(8), tenant("high", 8, 500)]}
GRACE = {"policy": "LeastDisruption", "non_preempting_grace": "30s"}


def lanes_of(document: Obj) -> dict[str, Obj]:
    (found,) = document["workloads"]["items"]
    return {lane["worker"]: lane for lane in found["lanes"]}


async def test_a_workload_has_a_lane_on_each_worker_while_it_waits_and_after_it_won(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING, gates=GRACE) as made, asking(made, tmp_path) as asker:
        await passing(made, lambda: made["w1"].condition("Admitted", "low"))
        await passing(made, lambda: made["w2"].condition("Admitted", "high"))
        submit(made, cpu=4)
        await made.until(lambda: made["w1"].has_workload("wl") and made["w1"].condition("BlockedOnPreemptionGates"))
        await made.settled()
        _, waiting = await asker.get("top")
        lanes = lanes_of(waiting)
        assert {name: (lane["state"], lane["gate"]) for name, lane in lanes.items()} == {
            "w1": ("AsksToPreempt", "Asked"),
            "w2": ("Pending", "Closed"),
        }
        assert (lanes["w1"]["verdict"], lanes["w1"]["victims"]) == ("Preempts", 1)
        assert (lanes["w1"]["windowEnds"], lanes["w1"]["won"]) == ("", False)
        await made.pass_time(30, settle=False)
        await passing(made, lambda: made.check()["state"] == "Ready")
        await made.settled()
        _, placed = await asker.get("top")
        lanes = lanes_of(placed)
        assert (lanes["w1"]["state"], lanes["w1"]["won"]) == ("Admitted", True)
        assert (lanes["w2"]["state"], lanes["w2"]["won"], lanes["w2"]["gate"]) == ("Missing", False, "")
        events = [(each["event"], each["worker"]) for each in reversed(placed["decisions"]["items"])]
        assert [each for each in events if each[0] in ("GateOpened", "Won", "Removed")] == [
            ("GateOpened", "w1"),
            ("Won", "w1"),
            ("Removed", "w2"),
        ]
        assert {(each["namespace"], each["name"]) for each in placed["decisions"]["items"]} == {("team", "wl")}
        _, elsewhere = await asker.get("top", namespace="other")
        assert (elsewhere["decisions"]["items"], elsewhere["workloads"]["items"]) == ([], [])


async def test_an_open_gate_says_when_its_window_ends(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made, asking(made, tmp_path) as asker:
        made.queue("wl")
        await made.settled()
        made["w1"].block("wl")
        await made.settled()
        _, found = await asker.get("top")
        lane = lanes_of(found)["w1"]
        assert (lane["gate"], bool(lane["opened"]), lane["windowEnds"] > lane["opened"]) == ("Open", True, True)


async def test_quota_is_added_up_over_clusterqueues_and_listed_in_pages(tmp_path: Path) -> None:
    setting: dict[str, list[Builder]] = {
        "w1": [queue(8, "a"), queue(4, "b"), tenant("one", 6, queue_name="a"), tenant("two", 1, queue_name="b")]
    }
    async with forecasting(tmp_path, setting) as made, asking(made, tmp_path) as asker:
        await passing(made, lambda: made["w1"].condition("Admitted", "one") and made["w1"].condition("Admitted", "two"))
        await made.settled()
        await made.pass_time(1)
        _, found = await asker.get("top")
        (worker,) = found["workers"]["items"]
        assert worker["quota"] == {
            "state": "Followed",
            "message": "",
            "clusterQueues": 2,
            "resources": [{"resource": "cpu", "nominal": "12", "used": "7", "share": 0.5833}],
        }
        assert worker["gates"] == {"state": "Honoured", "gatesUnsupported": "sequential"}
        _, first = await asker.get("workers/w1/quota", limit="1")
        assert [(each["clusterQueue"], each["flavor"], each["used"]) for each in first["quota"]] == [("a", "f", "6")]
        _, second = await asker.get("workers/w1/quota", limit="1", **{"continue": first["continue"]})
        assert [(each["clusterQueue"], each["nominal"]) for each in second["quota"]] == [("b", "4")]
        assert second["continue"] == ""
        assert await asker.get("workers/w9/quota") == (404, {"error": "there is no worker w9"})


async def test_quota_that_is_not_followed_says_why(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made, asking(made, tmp_path) as asker:
        _, found = await asker.get("top")
        (worker,) = found["workers"]["items"]
        assert (worker["quota"]["state"], worker["quota"]["resources"]) == ("Off", [])
        assert (await asker.get("workers/w1/quota"))[1]["quota"] == []


async def test_a_missing_role_is_told_from_a_worker_that_is_not_known_yet(tmp_path: Path) -> None:
    limited = {"w1": allowing(grants_of("worker.yaml"))}
    async with world(tmp_path, "w1", forecast={"enabled": True}, limited=limited) as made:
        await made.start()
        await made.connected()
        async with asking(made, tmp_path) as asker:
            found: list[str] = []

            async def state() -> str:
                _, answer = await asker.get("top")
                return str(answer["workers"]["items"][0]["quota"]["state"])

            while (now := await state()) != "Forbidden":
                found.append(now)
                await made.clock.advance(1)
            assert set(found) <= {"Unknown"}


async def test_S1_many_workloads_cost_no_more_than_their_first_page(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made, asking(made, tmp_path) as asker:
        names = fill(made, 10_000)
        _, found = await asker.get("top", limit="50")
        assert [each["name"] for each in found["workloads"]["items"]] == names[:50]
        assert (found["workloads"]["more"], found["workloads"]["phases"]) == (9_950, {"Queued": 10_000})
        _, named = await asker.get("top", contains="w00123", limit="5")
        assert [each["name"] for each in named["workloads"]["items"]] == names[1230:1235]
        assert named["workloads"]["more"] == 5


async def test_S1_the_order_of_many_workloads_is_kept_for_a_while(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made, asking(made, tmp_path) as asker:
        fill(made, 10_000)
        await asker.get("top")
        made.queue("new")
        cache = made.running_daemon().hub.workloads.cache
        await made.until(lambda: ObjectKey("team", "new") in set(cache))
        _, kept = await asker.get("top", contains="team/new")
        assert kept["workloads"]["items"] == []
        await made.clock.advance(2)
        _, later = await asker.get("top", contains="team/new")
        assert [each["name"] for each in later["workloads"]["items"]] == ["new"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": "0"}, limit_refused("0", 200)),
        ({"limit": "201"}, limit_refused("201", 200)),
        ({"order": "size"}, "order 'size' is not allowed: must be queue or age or name"),
        ({"contains": "x" * 1025}, f"contains '{'x' * 64}' is not allowed: must be at most 1024 characters"),
    ],
)
async def test_a_question_that_cannot_be_is_one_sentence(tmp_path: Path, query: dict[str, str], message: str) -> None:
    async with running(tmp_path, "w1") as made, asking(made, tmp_path) as asker:
        assert await asker.get("top", **query) == (400, {"error": message})


async def test_a_standby_says_which_instance_leads(tmp_path: Path) -> None:
    other = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    lease = {"metadata": {"name": "turnstile", "namespace": SYSTEM}, "spec": other}
    async with world(tmp_path, "w1") as made:
        made.hub.create("leases", lease, "coordination.k8s.io", SYSTEM)
        await made.start(elects=True)
        await made.connected()
        async with asking(made, tmp_path) as asker:
            _, found = await asker.get("top")
            assert (found["daemon"]["acts"], found["daemon"]["leader"]) == (False, "other")
            await made.pass_time(16, settle=False)
            await made.until(lambda: made.running_daemon().may_act)
            _, found = await asker.get("top")
            assert (found["daemon"]["acts"], found["daemon"]["leader"]) == (True, "the daemon")
            assert (found["daemon"]["policy"], found["daemon"]["isShadow"]) == ("FirstComeFirstServed", False)
