"""A daemon that says what a test tells it to, at the moments that the test chooses; the page is the real one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from manager.page.assets import page_routes

Obj = dict[str, Any]
DAEMON: Obj = {
    "version": "0.1.0",
    "origin": "hub-eu",
    "acts": True,
    "hub": "Connected",
    "leader": "",
    "isShadow": False,
    "policy": "LeastDisruption",
}


def ago(seconds: float) -> str:
    """Return a moment before now, as the daemon writes it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lane(worker: str, state: str = "Pending", gate: str = "Closed", **more: object) -> list[object]:
    known = {"asksSince": "", "opened": "", "windowEnds": "", "verdict": "Preempts", "victims": 1, **more}
    return [worker, state, gate, *known.values()]


def row(priority: int = 0, lanes: list[list[object]] | None = None, **more: object) -> Obj:
    return {
        "phase": "Pending",
        "owner": "Job training",
        "queue": "main",
        "clusterQueue": "research",
        "priority": priority,
        "created": ago(60),
        "message": "",
        "lanes": lanes or [lane("east"), lane("north")],
        "moreLanes": 0,
        **more,
    }


def worker(name: str, connection: str = "Connected", **more: object) -> Obj:
    use = {"resource": "cpu", "nominal": "8", "used": "6", "share": 0.75}
    return {
        "name": name,
        "connection": connection,
        "message": connection,
        "lostSince": "" if connection == "Connected" else ago(360),
        "clockSkewSeconds": 0,
        "replicas": 3,
        "gates": {"state": "Honoured", "gatesUnsupported": "Sequential"},
        "forecast": "reliable",
        "forecastProblem": "",
        "hitRate": 98,
        "quota": {"state": "Followed", "message": "", "clusterQueues": 1, "resources": [use]},
        **more,
    }


@dataclass
class ScriptedDaemon:
    """What it says next is in its fields."""

    epoch: str = "aaaaaaaaaaaa"
    daemon: Obj = field(default_factory=lambda: dict(DAEMON))
    rows: dict[str, dict[str, Obj]] = field(default_factory=dict)
    workload: Obj | None = None
    events: list[Obj] | None = None
    listed: list[Obj] = field(default_factory=list)
    refusal: tuple[int, str] | None = None
    token: str = ""
    is_crowded: bool = False
    is_synced: bool = True
    port: int = 0
    asked: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    streams: list[asyncio.Queue[bytes | None]] = field(default_factory=list)
    number: int = 1

    def __post_init__(self) -> None:
        self.rows = {"workers": {"east": worker("east"), "north": worker("north")}, **self.rows}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/ui/"

    def put(self, topic: str, put: dict[str, Obj], drop: list[str] | None = None) -> None:
        """Tell all viewers of changed rows."""
        known = self.rows.setdefault(topic, {})
        known.update(put)
        for key in drop or []:
            known.pop(key, None)
        self.number += 1
        self.send("rows", {"topic": topic, "now": ago(0), "put": list(put.items()), "drop": drop or []})

    def send(self, name: str, data: Obj) -> None:
        text = f"event: {name}\nid: {self.epoch}-{self.number}\ndata: {json.dumps(data)}\n\n".encode()
        for stream in self.streams:
            stream.put_nowait(text)

    def show_workload(self, document: Obj | None) -> None:
        self.workload = document
        key = "team/training" if document is None else f"{document['namespace']}/{document['name']}"
        self.send("workload", {"key": key, "document": document})

    def cut(self) -> None:
        """End all streams without a word."""
        for stream in self.streams:
            stream.put_nowait(None)

    def _fleet(self) -> Obj:
        waiting = len(self.rows.get("waiting", {}))
        return {
            "daemon": self.daemon,
            "phases": {"Pending": waiting, "Admitted": 7},
            "leftOut": 0,
            **self.rows.get("fleet", {}).get("", {}),
        }

    async def _guard(self, request: web.Request) -> web.Response | None:
        self.asked.append(request.path)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"error": "a valid bearer token is required"}, status=401)
        if self.refusal is not None:
            return web.json_response({"error": self.refusal[1]}, status=self.refusal[0])
        return None

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if (refused := await self._guard(request)) is not None:
            return refused
        if self.is_crowded:
            return web.json_response(
                {"error": "16 viewers are connected already"}, status=503, headers={"Retry-After": "10"}
            )
        last = request.headers.get("Last-Event-ID", "")
        self.resumed.append(last)
        response = web.StreamResponse()
        response.content_type = "text/event-stream"
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.streams.append(queue)
        try:
            for text in self._beginning(last, request.query.get("workload", "")):
                await response.write(text)
            while (piece := await queue.get()) is not None:
                await response.write(piece)
        finally:
            self.streams.remove(queue)
        return response

    def _beginning(self, last: str, workload: str) -> list[bytes]:
        def event(name: str, data: Obj) -> bytes:
            return f"event: {name}\nid: {self.epoch}-{self.number}\ndata: {json.dumps(data)}\n\n".encode()

        found = [event("hello", {"epoch": self.epoch, "now": ago(0), **self.daemon})]
        if last and not last.startswith(self.epoch):
            found.append(event("reset", {"why": "epoch"}))
        if not last.startswith(self.epoch):
            rows = {**self.rows, "fleet": {"": self._fleet()}}
            found += [
                event("rows", {"topic": t, "now": ago(0), "put": list(r.items()), "drop": []}) for t, r in rows.items()
            ]
        if workload:
            found.append(event("workload", {"key": workload, "document": self.workload}))
        return [*found, *([event("synced", {"topics": []})] if self.is_synced else [])]

    async def _answer(self, request: web.Request) -> web.Response:
        if (refused := await self._guard(request)) is not None:
            return refused
        path = request.path
        if path == "/v1/top":
            items = [
                {"namespace": k.split("/")[0], "name": k.split("/")[1], **r}
                for k, r in self.rows.get("waiting", {}).items()
            ]
            fields = ("worker", "state", "gate", "asksSince", "opened", "windowEnds", "verdict", "victims")
            for each in items:
                each["lanes"] = [dict(zip(fields, lane, strict=True)) for lane in each["lanes"]]
            workloads = {"items": items, "more": 0, "phases": {"Pending": len(items)}, "order": "queue"}
            workers = {"items": list(self.rows["workers"].values()), "more": 0}
            return web.json_response(
                {
                    "now": ago(0),
                    "daemon": self.daemon,
                    "workers": workers,
                    "workloads": workloads,
                    "decisions": {"items": []},
                }
            )
        if path.endswith("/timeline"):
            if self.events is None:
                return web.json_response({"error": "there is no Workload"}, status=404)
            return web.json_response({"now": ago(0), "journalProblem": "", "events": self.events, "continue": ""})
        if path.endswith("/quota"):
            use = {"resource": "cpu", "nominal": "8", "used": "6", "share": 0.75}
            queue = {"clusterQueue": "research", "cohort": "cohort lab", "active": True, "flavor": "on-demand", **use}
            return web.json_response({"now": ago(0), "quota": [queue], "continue": ""})
        if path.endswith("/lanes"):
            return web.json_response(self.workload, status=200 if self.workload else 404)
        return web.json_response({"now": ago(0), "workloads": self.listed, "continue": ""})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["ScriptedDaemon"]:
        application = web.Application()
        application.add_routes(page_routes())
        application.add_routes([web.get("/v1/events", self._events), web.get("/v1/{question:.+}", self._answer)])
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self.port).start()
            self.port = runner.addresses[0][1]
            yield self
        finally:
            self.cut()
            await runner.cleanup()


def explained(**more: object) -> Obj:
    """Return the document of a Workload whose gate is open on `east`."""
    opened, ends = ago(10), ago(-290)
    victim = {
        "workload": "team/render", "owner": "Job render", "clusterQueue": "cq", "priority": 0, "pods": 2,
        "runningSince": ago(3600), "reason": "InClusterQueue", "preemptionCost": 0, "leavingAlready": False,
    }  # fmt: skip
    forecast = {
        "verdict": "Preempts", "message": "", "clusterQueue": "cq", "flavors": {"cpu": ["f"]}, "otherFlavors": [],
        "borrowing": 0, "victims": [victim], "reliable": True,
        "cost": {"victims": 1, "pods": 2, "cpuSeconds": 0, "acceleratorSeconds": 0, "preemptionCost": 0},
    }  # fmt: skip
    preemption = {"opened": opened, "windowEnds": ends, "victims": [{**victim, "forecast": True, "preempted": True}]}
    times = {
        "reach": "synced",
        "lostSince": "",
        "gates": "honoured",
        "clockSkewSeconds": 0,
        "reserved": "",
        "admitted": "",
    }
    state = dict.fromkeys(("message", "since", "deactivatedBy", "requeueAt", "remedy"), "")
    state |= {"reason": "OnWorkers", "check": "mk"}
    step = {"kind": "GateOpensAfterWindow", "worker": "north", "otherWorker": "east", "reason": "", "rule": ""}
    of_worker = {"forecast": forecast, "pods": None}
    waits = {"state": "Pending", "since": "", "message": ""}
    asks = {"state": "AsksToPreempt", "since": ago(29), "message": ""}
    return {
        "now": ago(0), "namespace": "team", "name": "training", "owner": "Job training", "queue": "main",
        "clusterQueue": "research", "created": ago(40), "phase": "Pending", "problem": "", "cluster": "",
        "state": state,
        "check": {"name": "mk", "state": "Pending"}, "nominated": ["east", "north"], "gates": [],
        "workers": [
            {**of_worker, "name": "east", "replica": waits, "gate": "Open", "preemption": preemption},
            {**of_worker, "name": "north", "replica": asks, "gate": "Closed", "preemption": None},
        ],
        "lastForecast": None, "lastPodForecast": None,
        "next": {**step, "at": ends},
        "priority": 100, "policy": "LeastDisruption", "timeoutSeconds": 300, "began": ago(40),
        "lanes": [
            {"worker": "east", "created": ago(39), "asksSince": "", "opened": opened, "windowEnds": ends, **times},
            {"worker": "north", "created": ago(39), "asksSince": ago(29), "opened": "", "windowEnds": "", **times},
        ],
        **more,
    }  # fmt: skip
