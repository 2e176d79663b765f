"""The view as a user has it: keys, refreshing and failures, against a daemon that gives any answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from manager.cli.conventions.daemon import daemon_of
from manager.cli.conventions.options import DaemonOptions
from manager.cli.top.app import TopApp
from manager.cli.top.source import FleetQuestion, TopSource
from tests.support.foreign_text import BAD, unprintable
from tests.support.screen_text import lines_of
from tests.support.scripted_daemon import ScriptedDaemon, scripted_daemon
from tests.unit.cli.top.fleets import NOW, Obj, decision, fleet, lane, unfollowed, worker, workload

_PATIENCE_SECONDS = 30.0
EXPLANATION: Obj = {
    **dict.fromkeys(("owner", "queue", "clusterQueue", "created", "problem", "cluster"), ""),
    "now": NOW,
    "namespace": "team",
    "name": "training",
    "phase": "Pending",
    "state": {
        **dict.fromkeys(("message", "since", "check", "deactivatedBy", "requeueAt", "remedy"), ""),
        "reason": "OnWorkers",
    },
    "check": {"name": "mk", "state": "Pending"},
    "nominated": [],
    "gates": [],
    "workers": [],
    "lastForecast": None,
    "lastPodForecast": None,
    "next": {
        **dict.fromkeys(("worker", "at", "otherWorker", "reason", "rule"), ""),
        "kind": "NoRequest",
        "actions": [],
    },
}
TIMELINE: Obj = {
    "now": NOW,
    "namespace": "team",
    "name": "training",
    "journalProblem": "",
    "events": [{"time": NOW, "event": "Created", "worker": "", "message": "for Job training"}],
    "continue": "",
}
QUOTA: Obj = {
    "clusterQueue": "research",
    "cohort": "lab",
    "active": True,
    "flavor": "spot",
    "resource": "cpu",
    "nominal": "8",
    "used": "6",
    "share": 0.75,
}
PATHS: dict[str, Obj] = {
    "workloads/team/training/explanation": EXPLANATION,
    "workloads/team/training/timeline": TIMELINE,
    "workers/east/quota": {"now": NOW, "quota": [QUOTA], "continue": ""},
}


@dataclass
class Viewer:
    """A user before the screen."""

    app: TopApp
    pilot: Pilot[None]
    daemon: ScriptedDaemon

    def lines(self) -> list[str]:
        """Return the screen as lines of text."""
        return lines_of(self.app.export_screenshot())

    def text(self) -> str:
        return "\n".join(self.lines())

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def asked(self, *keys: str) -> None:
        """Press keys that have the daemon asked, and wait for what it says."""
        before = self.app.answers
        await self.press(*keys)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while self.app.answers == before:  # noqa: ASYNC110 - the app tells nothing else
                await asyncio.sleep(0.01)
        await self.pilot.pause()


@asynccontextmanager
async def viewing(
    directory: Path, document: Obj, size: tuple[int, int] = (80, 24), namespace: str | None = None
) -> AsyncIterator[Viewer]:
    """Show an answer; the view's clock stands still, and the daemon is asked again by keys alone."""
    with scripted_daemon(directory / "s", top=document, **PATHS) as daemon:
        source = TopSource(lambda: daemon_of(DaemonOptions(socket=directory / "s")), namespace)
        first = await asyncio.to_thread(source.fleet, FleetQuestion())
        app = TopApp(source, first, 3600.0, lambda: 0.0)
        async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
            await pilot.pause()
            yield Viewer(app, pilot, daemon)


async def test_everything_is_on_the_smallest_usual_terminal(tmp_path: Path) -> None:
    item = workload("training", lane("east", "AsksToPreempt", "Asked", verdict="Preempts", victims=2))
    async with viewing(tmp_path, fleet(item)) as viewer:
        shown = viewer.lines()
        assert len(shown) == 24
        assert shown[0].split("  ")[:3] == ["turnstile top", "hub-a Connected", "acts"]
        assert "cpu ██████░░ 6/8" in viewer.text()
        assert "team/training  Pending  30s  asks 2v" in viewer.text()
        assert "GateOpened" in viewer.text()
        assert shown[-2] == "training: Pending on east"
        assert shown[-1].endswith("<q> quit")


async def test_one_refresh_is_one_request_and_never_two_at_once(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload()), namespace="team") as viewer:
        viewer.daemon.asked.clear()
        for _ in range(3):
            await viewer.asked("r")
        assert viewer.daemon.asked == ["top"] * 3
        assert "Workloads 1  in team, ordered by queue" in viewer.text()
        assert viewer.daemon.queries[-1] == {"order": "queue", "limit": "100", "namespace": "team"}
        assert viewer.daemon.most_at_once == 1


async def test_a_filter_and_an_order_are_asked_of_the_daemon(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.press("slash")
        await viewer.asked(*"train", "enter")
        assert viewer.daemon.queries[-1]["contains"] == "train"
        assert "containing 'train'" in viewer.text()
        await viewer.asked("s")
        assert viewer.daemon.queries[-1]["order"] == "age"
        await viewer.asked("escape")
        assert "contains" not in viewer.daemon.queries[-1]


async def test_keys_in_a_filter_are_letters(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.press("slash", "q", "s")
        assert viewer.app.is_running
        await viewer.asked("enter")
        assert viewer.daemon.queries[-1]["contains"] == "qs"


async def test_a_workload_is_opened_and_left(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        viewer.daemon.asked.clear()
        await viewer.asked("enter")
        assert "Workload team/training" in viewer.text()
        assert "no worker asks to preempt; the first worker to admit wins" in viewer.text()
        assert "Created" in viewer.text()
        await viewer.asked("r")
        names = [path.rpartition("/")[2] for path in viewer.daemon.asked]
        assert names == ["explanation", "timeline", "explanation"], "the journal is not read every second"
        await viewer.press("escape")
        assert "Workers 1" in viewer.text()


async def test_a_worker_is_opened_by_its_panel(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.press("shift+tab")
        await viewer.asked("enter")
        assert [line.split() for line in viewer.lines()[2:4]] == [
            ["CLUSTERQUEUE", "COHORT", "ACTIVE", "RESOURCE", "FLAVOR", "USED", "USED/NOMINAL"],
            ["research", "lab", "yes", "cpu", "spot", "██████░░", "6/8"],
        ]


async def test_the_cursor_stays_on_its_workload_while_others_come(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload("a"), workload("b"))) as viewer:
        await viewer.press("j")
        assert viewer.lines()[-2].startswith("b: ")
        document = fleet(workload("urgent"), workload("a"), workload("b"))
        viewer.daemon.replies["top"] = lambda: (200, document)
        await viewer.asked("r")
        assert viewer.lines()[-2].startswith("b: ")
        await viewer.press("k", "up")
        assert viewer.lines()[-2].startswith("urgent: ")


async def test_a_role_that_is_missing_is_named_when_the_worker_is_selected(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workers=[worker(quota=unfollowed("Forbidden"))]), (120, 40)) as viewer:
        await viewer.press("shift+tab")
        assert viewer.lines()[-2].startswith("quota not followed: needs ClusterRole turnstile-worker-forecasts")


FAILURES: dict[str, tuple[int, Obj, str]] = {
    "refused": (403, {"error": "not allowed"}, "refuses (not allowed); check the token in --token-file"),
    "unknown": (401, {"error": "no token"}, "refuses (no token)"),
    "busy": (429, {"error": "too many requests"}, "is busy: too many requests"),
    "another version": (200, {"now": "yesterday"}, "the daemon's answer is not understood"),
    "another document": (200, {"now": NOW, "daemon": {}}, "the daemon's answer is not understood"),
    "nothing at all": (200, [], "the daemon's answer is not understood"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("case", FAILURES)
async def test_a_failure_keeps_the_last_data_and_says_so(tmp_path: Path, case: str) -> None:
    status, document, message = FAILURES[case]
    async with viewing(tmp_path, fleet(workload()), (160, 40)) as viewer:
        viewer.daemon.replies["top"] = lambda: (status, document)
        await viewer.asked("r")
        assert message in viewer.lines()[-2]
        assert "STALE, 0s old" in viewer.lines()[1]
        assert "team/training" in viewer.text()
        back = fleet(workload("back"))
        viewer.daemon.replies["top"] = lambda: (200, back)
        await viewer.asked("r")
        assert "STALE" not in viewer.text()
        assert "team/back" in viewer.text()


async def test_a_daemon_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload()), (160, 40)) as viewer:
        (tmp_path / "s").rename(tmp_path / "away")
        await viewer.asked("r")
        assert "no daemon answers on" in viewer.lines()[-2]
        assert "team/training" in viewer.text()
        (tmp_path / "away").rename(tmp_path / "s")
        await viewer.asked("r")
        assert "STALE" not in viewer.text()


async def test_an_older_daemon_is_shown_as_far_as_it_tells(tmp_path: Path) -> None:
    old = {key: value for key, value in workload().items() if key not in ("lanes", "moreLanes", "priority")}
    old_worker = {key: value for key, value in worker().items() if key not in ("quota", "gates")}
    daemon = {"version": "0.0.9", "origin": "hub-a", "acts": True, "hub": "Connected"}
    lists: dict[str, Obj] = {
        "overview": {"now": NOW, "daemon": daemon},
        "workers": {"now": NOW, "workers": [old_worker], "continue": ""},
        "workloads": {"now": NOW, "workloads": [old], "continue": ""},
    }
    with scripted_daemon(tmp_path / "s", **lists) as served:
        source = TopSource(lambda: daemon_of(DaemonOptions(socket=tmp_path / "s")), None)
        first = await asyncio.to_thread(source.fleet, FleetQuestion())
        app = TopApp(source, first, 3600.0, lambda: 0.0)
        async with app.run_test(size=(120, 40), tooltips=True, notifications=True) as pilot:
            viewer = Viewer(app, pilot, served)
            await pilot.pause()
            assert "team/training" in viewer.text()
            assert "0.0.9" in viewer.lines()[0]
            served.asked.clear()
            await viewer.asked("r")
            assert served.asked == ["workers", "workloads"], "what it cannot answer is not asked again"
            assert "Last decisions  an older daemon: it tells no quota, lanes, order or decisions" in viewer.text()


async def test_space_stops_the_questions_and_r_asks_nevertheless(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.press("space")
        assert "PAUSED, 0s old" in viewer.lines()[1]
        await viewer.asked("r")
        assert "PAUSED" in viewer.lines()[1]
        await viewer.asked("space", "r")
        assert "PAUSED" not in viewer.text()


async def test_keys_are_explained(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.press("question_mark")
        assert "next panel" in viewer.text()
        assert "OPEN 22s" in viewer.text()
        await viewer.press("escape")
        assert "Workers 1" in viewer.text()


async def test_sizes_change_what_is_shown(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload("training", lane()))) as viewer:
        await viewer.pilot.resize_terminal(120, 40)
        await viewer.pilot.pause()
        assert "PRIORITY" in viewer.text()
        await viewer.pilot.resize_terminal(60, 15)
        await viewer.pilot.pause()
        assert "PRIORITY" not in viewer.text()
        assert "team/training" in viewer.text()
        assert "Last decisions" not in viewer.text()
        await viewer.pilot.resize_terminal(59, 15)
        await viewer.pilot.pause()
        assert viewer.lines()[0] == "too small: 59×15, needs 60×15"
        await viewer.pilot.resize_terminal(80, 24)
        await viewer.pilot.pause()
        assert "Last decisions" in viewer.text()


async def test_nothing_that_a_cluster_says_reaches_the_terminal_as_it_is(tmp_path: Path) -> None:
    item = workload(BAD, lane(BAD, BAD, BAD), namespace=BAD, message=BAD)
    document = fleet(item, workers=[worker(BAD, message=BAD)], origin=BAD)
    document["decisions"]["items"] = [decision(BAD, message=BAD)]
    async with viewing(tmp_path, document, (200, 40)) as viewer:
        assert unprintable(viewer.text()) == []
        assert "<b>&\\x1b[2J" in viewer.text(), "and nothing is taken for markup"


async def test_q_quits_with_0_and_ctrl_c_with_130(tmp_path: Path) -> None:
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.pilot.press("q")
    assert viewer.app.return_code == 0
    (tmp_path / "s").unlink()
    async with viewing(tmp_path, fleet(workload())) as viewer:
        await viewer.pilot.press("ctrl+c")
    assert viewer.app.return_code == 130


async def test_an_empty_fleet_says_so(tmp_path: Path) -> None:
    document = fleet(workers=[])
    document["decisions"]["items"] = []
    async with viewing(tmp_path, document) as viewer:
        assert "no Workload is waiting or running here" in viewer.text()
        assert "nothing was decided since the daemon started" in viewer.text()
