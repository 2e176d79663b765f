"""Forecasts put to the test: a situation is set up on a real worker, a job arrives on the hub, Turnstile does the rest.

What became of it is read twice: from Turnstile's own record on the hub's Workload, and from the worker's objects, by
code that shares nothing with Turnstile.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import aiohttp

from tests.conformance.client import Obj
from tests.e2e.evidence import Preemptions, Seen, has_quota, is_gate_open, is_parked_as_gated, is_turned_down, seen
from tests.e2e.ground import POLL_SECONDS, Ground
from tests.e2e.scene import condition_of

_DEADLINE_SECONDS = 400.0
_SURE_SECONDS = 5.0
"""How long a worker must stay silent, or disagree, until that counts."""


class Ending(StrEnum):
    """What became of a forecast, all in all."""

    EXACT = "exact"
    OVERTAKEN = "overtaken"
    UNPROMISED = "nothing promised"
    FITTED = "fitted, no gate asked for"
    CANNOT = "cannot, and did not"
    LATE = "gate opened before a forecast was ready"
    STALLED = "Kueue did not look again after the gate was opened"
    """The copy was parked with its gate open and stayed so for the whole window, although it is to be opened again."""
    RETURNED = "victims as forecast, but Kueue let them in again first"
    """It happens over and over where a victim borrows less than the one that it left for."""
    MISSED = "missed"
    """Turnstile says itself that it was wrong."""
    CONTRADICTED = "contradicted"
    """The worker's objects say something else than Turnstile's record."""
    BROKEN = "no outcome"


FAILURES = (Ending.MISSED, Ending.CONTRADICTED, Ending.BROKEN, Ending.STALLED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One arrival, played to its end."""

    name: str
    ending: Ending
    verdict: str = ""
    result: str = ""
    victims: int = 0
    reasons: frozenset[str] = frozenset()
    message: str = ""
    seconds: float = 0.0
    nudges: int = 0
    """How often the gate was closed and opened again, because Kueue had overlooked that it was open."""


@dataclass
class Trial:
    """What becomes of the jobs of one situation."""

    ground: Ground
    socket: Path
    """Of the daemon."""
    incoming: Obj = field(default_factory=dict)
    """The job that arrived last."""
    preemptions: Preemptions = field(default_factory=Preemptions)
    _arrived: float = 0.0

    async def play(self) -> AsyncIterator[Outcome]:
        """Set the situation up and let one job after the other arrive; tell what happened and leave nothing behind."""
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await self.ground.prepare()
            async with self.ground.followed(self.preemptions.note):
                for job in self.ground.situation.arrivals:
                    yield await self._arrive(job)
        finally:
            await self.ground.clear()

    async def _arrive(self, job: Obj) -> Outcome:
        self.incoming, self._arrived = job, time.monotonic()
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await self.ground.receive(job)
                outcome = await self._outcome()
                await self.ground.send_away(job)
                return outcome
        except TimeoutError:
            return self._ended(Ending.BROKEN, message=f"not over after {_DEADLINE_SECONDS:g} s: {await self._state()}")

    # --- what happens

    async def _outcome(self) -> Outcome:
        silent_since: float | None = None
        while True:
            copy, record = await self.ground.copy(self.incoming), await self.ground.record(self.incoming)
            if record is not None and record["result"] != "pending":
                return await self._judge(record)
            if record is None and copy is not None and has_quota(copy):
                return await self._fitted(copy)
            if record is None and copy is not None and is_turned_down(copy):
                silent_since = silent_since or time.monotonic()
                promised = await self._asked(copy["metadata"]["name"])
                if promised["verdict"] == "Cannot" or time.monotonic() - silent_since > _SURE_SECONDS:
                    return self._turned_down(promised, condition_of(copy, "QuotaReserved")["message"])
            else:
                silent_since = None
            await asyncio.sleep(POLL_SECONDS)

    async def _judge(self, record: Obj) -> Outcome:
        """Hold Turnstile's verdict on itself against what the worker's objects say."""
        promised, result = str(record["verdict"]), str(record["result"])
        found = seen(await self.ground.workloads(), record["replicaUID"], self.preemptions)
        victims = frozenset((each["workload"], each["reason"]) for each in record["victims"] if not each["inFlight"])
        ending, message = Ending.MISSED, f"{promised}, {result}: {record['resultMessage']}; {record['message']}"
        if result == "exact":
            ways = [_pairs(each) for each in (record["flavors"], *record.get("otherFlavors", ()))]
            said = [Seen(promised != "Cannot", flavors, victims) for flavors in ways]
            ending = Ending.EXACT if found in said else Ending.CONTRADICTED
            message = "" if found in said else f"said {said}, seen {found}"
        elif result == "overtaken":
            ending = Ending.OVERTAKEN
        elif result == "none":
            ending = Ending.UNPROMISED
        elif result == "timeout" and await self._is_stalled():
            ending = Ending.STALLED
        elif result == "timeout" and found is not None and victims and found.victims == victims:
            ending = Ending.RETURNED
        ended = self._ended(ending, promised, result, victims=found.victims if found else (), message=message)
        return replace(ended, nudges=await self._nudges())

    async def _nudges(self) -> int:
        """Read from the record of openings how often one was repeated."""
        workload = await self.ground.hub_workload(self.incoming) or {}
        annotations = (workload.get("metadata") or {}).get("annotations") or {}
        openings = json.loads(annotations.get("multikueue-turnstile.dev/gate-openings") or "[]")
        return sum(int(opening.get("nudges", 0)) for opening in openings)

    async def _is_stalled(self) -> bool:
        """Return whether the last that Kueue said of the copy is from before its gate was opened."""
        copy = await self.ground.copy(self.incoming)
        return copy is not None and is_gate_open(copy) and is_parked_as_gated(copy)

    async def _fitted(self, copy: Obj) -> Outcome:
        """A workload that was admitted without asking for a gate may not have preempted any."""
        await asyncio.sleep(POLL_SECONDS)
        if await self.ground.record(self.incoming) is not None:
            return await self._outcome()  # it asked first, and all went faster than we look
        found = seen(await self.ground.workloads(), copy["metadata"]["uid"], self.preemptions)
        if found is not None and not found.victims:
            return self._ended(Ending.FITTED)
        if found is not None and is_gate_open(copy):
            return self._ended(Ending.LATE, victims=found.victims)
        return self._ended(Ending.CONTRADICTED, message=f"preempted without a gate: {found}")

    def _turned_down(self, promised: Obj, said: str) -> Outcome:
        verdict, message = promised["verdict"], promised["message"]
        if verdict == "Cannot":
            return self._ended(Ending.CANNOT, verdict)
        if verdict in ("Unsupported", "Ambiguous"):
            return self._ended(Ending.UNPROMISED, verdict, message=message)
        return self._ended(Ending.MISSED, verdict, message=f"Kueue: {said}; Turnstile: {verdict}: {message}")

    def _ended(
        self,
        ending: Ending,
        verdict: str = "",
        result: str = "",
        *,
        victims: Iterable[tuple[str, str]] = (),
        message: str = "",
    ) -> Outcome:
        found = list(victims)
        reasons = frozenset(reason for _, reason in found)
        seconds = time.monotonic() - self._arrived
        name = f"{self.ground.situation.name}/{self.incoming['metadata']['name']}"
        return Outcome(name, ending, verdict, result, len(found), reasons, message, seconds)

    async def _asked(self, name: str) -> Obj:
        """Ask the daemon what it expects of the worker; the verdict is empty where it expects nothing."""
        url = f"http://daemon/v1/workloads/{self.incoming['metadata']['namespace']}/{name}/explanation"
        way = aiohttp.UnixConnector(str(self.socket))
        async with aiohttp.ClientSession(connector=way, trust_env=False) as session, session.get(url) as response:
            found = await response.json()
        told = (each["forecast"] for each in found.get("workers", ()) if each["name"] == self.ground.worker.name)
        return next(told, None) or {"verdict": "", "message": ""}

    async def _state(self) -> str:
        try:
            async with asyncio.timeout(20):
                copy, hub = await self.ground.copy(self.incoming), await self.ground.hub_workload(self.incoming)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return repr(error)
        return f"hub {(hub or {}).get('status')}, copy {(copy or {}).get('status')}"


def _pairs(flavors: Obj) -> frozenset[tuple[str, str]]:
    lists = {resource: names if isinstance(names, list) else [names] for resource, names in flavors.items()}
    return frozenset((resource, name) for resource, names in lists.items() for name in names)
