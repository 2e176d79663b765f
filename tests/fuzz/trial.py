"""The property: whatever a worker answers, its link goes on, and nothing but a `ClusterError` leaves a call."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.sections.sections import JobsSection
from gates.jobs.kinds import SHIPPED
from manager.base.clock import SystemDeadline
from manager.base.kinds import WORKLOADS, job_kinds
from manager.base.kueue_configuration import load_kueue_configuration
from manager.clusters.kueue_detection import KueueDetector
from manager.clusters.permissions import needs_on_worker
from manager.clusters.worker import WorkerLink
from manager.clusters.worker_context import Notices, WorkerContext, WorkerModels
from manager.models.observation import Observation
from manager.models.pod_forecasts import PodForecasts
from manager.models.pod_observation import PodObservation
from manager.process.supervision import supervise
from manager.process.worker_thread import WorkerThread
from tests.fuzz.documents import ORIGIN
from tests.fuzz.server import FuzzServer
from workerclient.base.errors import ClusterError
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.resource import Precondition
from workerclient.transport.budget import BudgetLimits

_HASTE = 10.0
_SLEEPS_HASTE = 1000.0
"""Pauses end sooner still: an answer that is late on a busy machine is late, but a pause tells nothing."""
_CALLERS = 6
_PLENTY = BudgetLimits(queries_per_second=1e6, burst=10**6)
_KEY = ObjectKey("team", "n1")
_FENCE = Precondition("u-n1", "1")


class HurriedClock:
    """The system's clock, several times as fast."""

    steady_id = "hurried"

    def now_ns(self) -> int:
        return int(time.time_ns() * _HASTE)

    def monotonic(self) -> float:
        return time.monotonic() * _HASTE

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / _SLEEPS_HASTE)

    def timeout(self, seconds: float) -> "HurriedDeadline":
        return HurriedDeadline(seconds / _HASTE)


class HurriedDeadline(SystemDeadline):
    """A deadline of the hurried clock."""

    def extend(self, seconds: float) -> None:
        super().extend(seconds / _HASTE)


@dataclass
class Outcome:
    """What a trial came to."""

    cases: int = 0
    connected: int = 0
    """How often the worker counted as connected: a fuzzer that is never let in tries nothing beyond the door."""
    objects: int = 0
    unreadable: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """Errors that calls ended with, as they should."""
    findings: list[str] = field(default_factory=list)
    longest_stretch: float = 0.0
    """For how many seconds the loop had no turn; told, not judged: it depends on the machine."""


class Trial:
    """One link, and some clients that only call, on one server."""

    def __init__(self, server: FuzzServer, outcome: Outcome) -> None:
        self._server = server
        self._outcome = outcome
        self._client_context = ClientContext(HurriedClock(), lambda: 0.0)
        access = ClusterAccess(server.url, token="fuzz-token-that-must-not-be-told")
        self._access = access
        kueue = load_kueue_configuration(None)
        observation = Observation(
            WorkerName("fuzz"), access, self._client_context, kueue, lambda *_: None, WorkerThread("fuzz")
        )
        pods = PodForecasts(
            observation.cluster,
            observation.background,
            lambda *_: None,
            lambda on_pod: PodObservation(WorkerName("fuzz"), access, self._client_context, None, on_pod),
        )
        self._kinds = job_kinds(JobsSection())
        self.link = WorkerLink(
            WorkerName("fuzz"),
            access,
            ClientLimits(budget=_PLENTY),
            WorkerContext(
                self._client_context,
                ORIGIN,
                self._kinds,
                Notices(lambda *_: None, lambda *_: None, self._note_connection),
            ),
            WorkerModels(observation, pods),
        )

    async def run(self, cases: int) -> None:
        """Serve that many answers."""
        clients = [
            ClusterClient("fuzz", self._access, self._client_context, ClientLimits(budget=_PLENTY))
            for _ in range(_CALLERS)
        ]
        clock = self._client_context.clock
        following = asyncio.create_task(supervise("fuzz", self.link, clock, lambda: 0.0, "worker.failed"))
        tasks = [following, *(asyncio.create_task(self._call(client, turn)) for turn, client in enumerate(clients))]
        tasks.append(asyncio.create_task(self._watch_the_loop()))
        try:
            while self._server.served < cases and not self._outcome.findings:
                await asyncio.wait(tasks, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
                self._judge(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for client in (*clients, self.link.client):
                await client.close()
            self._outcome.cases += self._server.served

    def _judge(self, tasks: list[asyncio.Task[None]]) -> None:
        """Find what must not be: a task that ended, or a boundary that something reached."""
        for task in tasks:
            if task.done():
                self._outcome.findings.append(f"a task ended: {task!r}")
        link = self.link
        if link.failures:
            broken = link.observation.why_silent() if link.observation is not None else ""
            self._outcome.findings.append(f"{link.failures} failures; {link.report.message}; {broken}")
        followed: list[WatchedResource[Any]] = [link.workloads, *link.jobs.values()]
        self._outcome.objects = max(self._outcome.objects, sum(len(each.cache) for each in followed))
        unreadable = sum(len(each.cache.unreadable()) for each in followed)
        self._outcome.unreadable = max(self._outcome.unreadable, unreadable)

    def _note_connection(self, _name: str) -> None:
        self._outcome.connected += self.link.is_connected

    async def _call(self, client: ClusterClient, turn: int) -> None:
        calls = self._calls(client)
        for call in cycle([*calls[turn:], *calls[:turn]]):
            try:
                await call()
            except ClusterError as error:
                name = type(error).__name__
                self._outcome.refused[name] = self._outcome.refused.get(name, 0) + 1
                if "fuzz-token" in str(error):
                    self._outcome.findings.append(f"the token is told: {error}")
                await asyncio.sleep(0)

    def _calls(self, client: ClusterClient) -> list[Callable[[], Awaitable[Any]]]:
        workloads = client.resource(WORKLOADS)
        body = {"metadata": {"namespace": "team", "name": "n1"}}
        apis = list(needs_on_worker(SHIPPED))

        async def learn() -> None:
            await KueueDetector(client).detect()

        async def pages() -> None:
            async for _ in workloads.pages():
                pass

        return [
            learn,
            pages,
            lambda: workloads.get(_KEY),
            lambda: workloads.create(body),
            lambda: workloads.merge_patch(_KEY, {"spec": {}}, _FENCE),
            lambda: workloads.json_patch(_KEY, [], _FENCE, subresource="status"),
            lambda: workloads.delete(_KEY, _FENCE),
            lambda: client.missing_permissions(apis[:3]),
            lambda: client.served_kinds([WORKLOADS]),
            lambda: client.served_versions("kueue.x-k8s.io"),
            client.version,
            lambda: client.bearer_of("some-token", ["a"]),
        ]

    async def _watch_the_loop(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0)
            self._outcome.longest_stretch = max(self._outcome.longest_stretch, time.monotonic() - before)
            await asyncio.sleep(0.005)


async def fuzzed(cases: int, seed: str, outcome: Outcome | None = None) -> Outcome:
    """Try that many answers; with the same seed they are the same, though not in the same order of paths."""
    outcome = outcome or Outcome()
    unhandled: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: unhandled.append(str(context)))
    async with FuzzServer(seed).running() as server:
        await Trial(server, outcome).run(cases)
        if outcome.findings:
            outcome.findings += [f"{number} {asked}: {raw[:2000]!r}" for number, asked, raw in server.last]
    outcome.findings += [f"unhandled: {each}" for each in unhandled]
    return outcome
