"""Streams of changes: what a viewer gets, when it begins again, and what it costs if nobody looks."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from config.api.meta import ObjectKey
from manager.streaming.change_ring import ChangeRing
from manager.streaming.event_stream import MOST_STREAMS, EventStreams, StreamRequest, topics_of
from manager.streaming.live_feed import MOST_WAITING, TOPICS, FeedSources, FeedWorkload, LiveFeed
from manager.streaming.threats import MOST_AT_RISK, Threat, Threats
from manager.streaming.watched_workloads import WatchedWorkloads
from tests.support.virtual_time import VirtualClock, let_run

Obj = dict[str, Any]
Event = tuple[str, str, Any]


@dataclass
class Fleet:
    """What the rows are made of, as a test sets it."""

    workloads: dict[ObjectKey, FeedWorkload] = field(default_factory=dict)
    workers: list[Obj] = field(default_factory=list)
    reads: int = 0

    def put(self, name: str, priority: int = 0, phase: str = "Pending", **row: object) -> ObjectKey:
        key = ObjectKey("team", name)
        waits = None if phase == "Admitted" else {"phase": phase, "priority": priority, **row}
        self.workloads[key] = FeedWorkload(phase, waits, (-priority, 0))
        return key

    async def keys(self) -> AsyncIterator[Iterable[ObjectKey]]:
        yield list(self.workloads)

    def workload(self, key: ObjectKey) -> FeedWorkload | None:
        self.reads += 1
        return self.workloads.get(key)

    async def all_workers(self) -> list[Obj]:
        return self.workers

    async def document(self, key: ObjectKey) -> Obj | None:
        found = self.workloads.get(key)
        return None if found is None else {"phase": found.phase}


class Viewer:
    """Reads a stream; stops reading when a test says so."""

    def __init__(self) -> None:
        self.text = b""
        self.reads = asyncio.Event()
        self.reads.set()

    async def write(self, data: bytes) -> None:
        await self.reads.wait()
        self.text += data

    def take(self) -> list[Event]:
        """Return the events that came since the last call."""
        text, self.text = self.text.decode(), b""
        found = []
        for block in filter(None, text.split("\n\n")):
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            found.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
        return found


async def allowed() -> bool:
    return True


@dataclass
class Bench:
    clock: VirtualClock
    fleet: Fleet
    streams: EventStreams
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def connect(
        self, last: str = "", workload: ObjectKey | None = None, is_allowed: Callable[[], Awaitable[bool]] = allowed
    ) -> Viewer:
        viewer = Viewer()
        request = StreamRequest(TOPICS, workload, last)
        self.tasks.append(asyncio.create_task(self.streams.run(viewer, request, is_allowed)))
        await self.settle()
        return viewer

    async def settle(self) -> None:
        await let_run()

    async def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 4)):
            await self.clock.advance(0.25)
            await let_run()

    async def leave(self) -> None:
        task = self.tasks.pop()
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    clock, fleet = VirtualClock(), Fleet()
    sources = FeedSources(fleet.keys, fleet.workload, fleet.all_workers, lambda: {"acts": True}, list)
    feed, watched = LiveFeed(sources, clock), WatchedWorkloads(fleet.document, clock)
    made = Bench(clock, fleet, EventStreams(feed, watched, lambda: {"acts": True}, lambda: "now", clock))
    try:
        yield made
    finally:
        while made.tasks:
            await made.leave()


def rows_of(events: list[Event], topic: str = "waiting") -> tuple[dict[str, Any], list[str]]:
    put: dict[str, Any] = {}
    dropped: list[str] = []
    for name, _, data in events:
        if name == "rows" and data["topic"] == topic:
            put |= dict(data["put"])
            dropped += data["drop"]
    return put, dropped


def names(events: list[Event]) -> list[str]:
    return [name for name, _, _ in events]


async def test_a_stream_begins_with_everything_and_says_when_nothing_is_missing() -> None:
    async with bench() as made:
        made.fleet.put("a")
        viewer = await made.connect()
        events = viewer.take()
        assert (names(events)[0], names(events)[-1]) == ("hello", "synced")
        assert rows_of(events)[0] == {"team/a": {"phase": "Pending", "priority": 0}}
        assert rows_of(events, "fleet")[0][""]["phases"] == {"Pending": 1}


async def test_only_what_changed_follows_and_a_workload_that_runs_is_dropped() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        made.fleet.put("b")
        viewer = await made.connect()
        viewer.take()
        made.streams.mark(made.fleet.put("a", message="news"))
        await made.pass_time(1)
        assert rows_of(viewer.take()) == ({"team/a": {"phase": "Pending", "priority": 0, "message": "news"}}, [])
        made.fleet.put("a", phase="Admitted")
        made.streams.mark(key)
        await made.pass_time(1)
        events = viewer.take()
        assert rows_of(events) == ({}, ["team/a"])
        assert rows_of(events, "fleet")[0][""]["phases"] == {"Admitted": 1, "Pending": 1}
        del made.fleet.workloads[key]
        made.streams.mark(key)
        await made.pass_time(1)
        assert rows_of(viewer.take(), "fleet")[0][""]["phases"] == {"Pending": 1}


async def test_a_mark_without_a_change_sends_nothing() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        viewer = await made.connect()
        viewer.take()
        made.streams.mark(key)
        await made.pass_time(1)
        assert rows_of(viewer.take()) == ({}, [])


async def test_two_viewers_cost_one_reading() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        one, two = await made.connect(), await made.connect()
        reads = made.fleet.reads
        made.streams.mark(made.fleet.put("a", message="news"))
        await made.pass_time(1)
        assert made.fleet.reads == reads + 1
        assert rows_of(one.take())[0][str(key)] == rows_of(two.take())[0][str(key)]


async def test_nothing_is_read_while_nobody_looks() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        for _ in range(3):
            made.streams.mark(key)
            await made.pass_time(1)
        assert made.fleet.reads == 0


async def test_a_viewer_that_returns_gets_only_what_it_missed() -> None:
    async with bench() as made:
        made.fleet.put("a")
        made.fleet.put("b")
        viewer = await made.connect()
        place = [place for _, place, _ in viewer.take() if place][-1]
        await made.leave()
        made.streams.mark(made.fleet.put("b", message="news"))
        await made.pass_time(10)
        events = (await made.connect(place)).take()
        assert "reset" not in names(events)
        assert rows_of(events)[0].keys() == {"team/b"}


@pytest.mark.parametrize(
    "place",
    {
        "of another process": "0123456789ab-1",
        "that is no position": "x",
        "of the future": "EPOCH-999999",
        "that is no number": "EPOCH-１",
    }.items(),
    ids=lambda case: case[0],
)
async def test_a_position_that_means_nothing_here_begins_again(place: tuple[str, str]) -> None:
    async with bench() as made:
        made.fleet.put("a")
        await made.connect()
        events = (await made.connect(place[1].replace("EPOCH", made.streams.feed.epoch))).take()
        assert "reset" in names(events)
        assert rows_of(events)[0].keys() == {"team/a"}


async def test_after_a_long_absence_of_all_viewers_everything_is_read_again() -> None:
    async with bench() as made:
        made.fleet.put("a")
        viewer = await made.connect()
        place = [place for _, place, _ in viewer.take() if place][-1]
        await made.leave()
        await made.clock.advance(121)
        made.fleet.put("b")
        events = (await made.connect(place)).take()
        assert "reset" in names(events)
        assert rows_of(events)[0].keys() == {"team/a", "team/b"}


async def test_a_viewer_that_missed_changes_begins_again() -> None:
    async with bench() as made:
        made.fleet.put("a")
        viewer = await made.connect()
        viewer.take()
        viewer.reads.clear()
        made.streams.mark(made.fleet.put("a", message="0"))
        await made.pass_time(0.5)
        for number in range(40):
            made.streams.feed.ring.append("waiting", f"team/{number}", b"0" * (1 << 18))
        viewer.reads.set()
        await made.pass_time(1)
        assert [data for name, _, data in viewer.take() if name == "reset"] == [{"why": "lagging"}]


async def test_a_viewer_that_does_not_read_is_disconnected() -> None:
    async with bench() as made:
        made.fleet.put("a")
        viewer = await made.connect()
        viewer.reads.clear()
        await made.pass_time(40)
        assert made.tasks[0].done()
        assert made.streams.feed.viewers == 0


async def test_a_beat_comes_every_five_seconds_and_the_stream_ends_after_ten_minutes() -> None:
    async with bench() as made:
        viewer = await made.connect()
        viewer.take()
        await made.pass_time(11)
        assert names(viewer.take()).count("beat") == 2
        await made.pass_time(590)
        assert viewer.take()[-1][2] == {"why": "lifetime", "retryMs": 1000}
        assert made.tasks[0].done()


async def test_a_viewer_whose_right_is_taken_back_is_told_within_a_minute() -> None:
    is_allowed = True

    async def review() -> bool:
        return is_allowed

    async with bench() as made:
        viewer = await made.connect(is_allowed=review)
        await made.pass_time(61)
        assert not made.tasks[0].done()
        is_allowed = False
        await made.pass_time(61)
        assert viewer.take()[-1][2]["why"] == "revoked"


async def test_streams_end_when_the_daemon_stops() -> None:
    async with bench() as made:
        viewer = await made.connect()
        await made.streams.end()
        await made.settle()
        assert viewer.take()[-1][2]["why"] == "shutdown"
        assert made.streams.is_full


async def test_the_number_of_viewers_is_limited() -> None:
    async with bench() as made:
        for _ in range(MOST_STREAMS - 1):
            await made.connect()
        assert not made.streams.is_full
        await made.connect()
        assert made.streams.is_full


async def test_one_workload_is_sent_when_it_changes_and_null_when_it_is_gone() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        viewer = await made.connect(workload=key)
        assert [data for name, _, data in viewer.take() if name == "workload"] == [
            {"key": "team/a", "document": {"phase": "Pending"}}
        ]
        made.fleet.put("a", phase="Admitted")
        made.streams.mark(key)
        await made.pass_time(1)
        assert [data["document"] for name, _, data in viewer.take() if name == "workload"] == [{"phase": "Admitted"}]
        del made.fleet.workloads[key]
        await made.pass_time(6)
        assert [data["document"] for name, _, data in viewer.take() if name == "workload"] == [None]


async def test_too_many_single_workloads_are_refused() -> None:
    async with bench() as made:
        for number in range(64):
            assert made.streams.watched.arrive(ObjectKey("team", f"w{number}"))
        viewer = await made.connect(workload=ObjectKey("team", "one-more"))
        assert viewer.take() == [("bye", "", {"why": "crowded", "retryMs": 10_000})]
        assert made.streams.feed.viewers == 0


async def test_of_too_many_waiting_workloads_the_most_urgent_are_shown() -> None:
    async with bench() as made:
        for number in range(MOST_WAITING + 2):
            made.fleet.put(f"w{number}", priority=number)
        viewer = await made.connect()
        await made.pass_time(1)
        events = viewer.take()
        assert len(rows_of(events)[0]) == MOST_WAITING
        assert not {"team/w0", "team/w1"} & rows_of(events)[0].keys()
        assert rows_of(events, "fleet")[0][""]["leftOut"] == 2
        made.streams.mark(made.fleet.put("late", priority=10_000))
        await made.pass_time(1)
        assert rows_of(viewer.take(), "fleet")[0][""]["leftOut"] == 3
        await made.pass_time(31)
        assert "team/late" in rows_of(viewer.take())[0]


def victim(name: str, *, is_open: bool = False) -> Threat:
    return Threat("east", {"workload": f"team/{name}", "priority": 0}, is_open)


async def test_a_victim_is_told_for_whom_and_forgotten_when_no_forecast_names_it() -> None:
    async with bench() as made:
        key = made.fleet.put("a")
        other = made.fleet.put("b")
        made.fleet.workloads[key] = replace(made.fleet.workloads[key], threats=(victim("v"), victim("w")))
        made.fleet.workloads[other] = replace(made.fleet.workloads[other], threats=(victim("v", is_open=True),))
        viewer = await made.connect()
        at_risk = rows_of(viewer.take(), "risk")[0]
        assert {name: (row["for"], row["open"]) for name, row in at_risk.items()} == {
            "east/team/v": (["team/b", "team/a"], True),
            "east/team/w": (["team/a"], False),
        }
        made.fleet.put("a", phase="Admitted")
        made.streams.mark(key)
        await made.pass_time(1)
        put, dropped = rows_of(viewer.take(), "risk")
        assert (put["east/team/v"]["for"], dropped) == (["team/b"], ["east/team/w"])


def test_victims_are_bounded_and_their_workloads_counted() -> None:
    threats = Threats()
    for number in range(8):
        threats.replace(ObjectKey("team", f"w{number}"), [victim("v")])
    row = threats.row("east/team/v")
    assert row is not None
    assert (len(row["for"]), row["more"]) == (5, 3)
    threats.replace(ObjectKey("team", "large"), [victim(f"n{number}") for number in range(MOST_AT_RISK + 1)])
    assert threats.row("east/team/n0") is None


async def test_an_event_holds_at_most_500_rows_and_256_kib() -> None:
    async with bench() as made:
        for number in range(700):
            made.fleet.put(f"w{number}", message="x" * 600)
        viewer = await made.connect()
        pieces = [data["put"] for name, _, data in viewer.take() if name == "rows" and data["topic"] == "waiting"]
        assert sum(map(len, pieces)) == 700
        assert max(map(len, pieces)) <= 500
        assert max(len(json.dumps(piece)) for piece in pieces) <= 300 << 10


async def test_hostile_text_stays_one_line_of_one_event() -> None:
    async with bench() as made:
        made.fleet.put("a", message="x\n\nevent: bye\ndata: {}\n\n\x1b[2J\u202e")
        viewer = await made.connect()
        events = viewer.take()
        assert names(events)[-1] == "synced"
        assert "\x1b" not in rows_of(events)[0]["team/a"]["message"]


def test_the_ring_forgets_the_oldest_and_knows_it() -> None:
    ring = ChangeRing(most=3)
    for number in range(5):
        ring.append("waiting", f"k{number}", b"1")
    assert [ring.holds_all_after(number) for number in range(7)] == [False, False, True, True, True, True, False]
    assert [change.key for change in ring.after(3, frozenset({"waiting"}))] == ["k3", "k4"]


def test_the_ring_returns_only_the_newest_change_of_a_row() -> None:
    ring = ChangeRing()
    ring.append("waiting", "a", b"1")
    ring.append("waiting", "b", b"1")
    ring.append("waiting", "a", None)
    ring.append("workers", "a", b"1")
    assert [(each.key, each.row) for each in ring.after(0, frozenset({"waiting"}))] == [("b", b"1"), ("a", None)]


def test_an_unknown_topic_is_refused_by_name() -> None:
    assert topics_of(["", "fleet"], TOPICS) == {"fleet"}
    assert topics_of([""], TOPICS) == TOPICS
    with pytest.raises(ValueError, match=r"topics 'weather' is not allowed: must be some of attention, fleet"):
        topics_of(["weather"], TOPICS)
