"""Forecasts put to the test: a situation is set up on a real worker, a job arrives on the hub, Turnstile does the rest.

What became of it is read twice: from Turnstile's own record on the hub's Workload, and from the worker's objects, by
code that shares nothing with Turnstile.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import aiohttp

from config.names import ORIGIN_LABEL
from gates.marks import FORECAST
from manager.cli.asking import NoAnswerError, UnknownError, ask
from tests.conformance.client import Api, Obj
from tests.conformance.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    JOBS,
    LOCAL_QUEUES,
    NAMESPACES,
    RESOURCE_FLAVORS,
    WORKLOADS,
    Resource,
)
from tests.e2e.clusters import Cluster
from tests.e2e.evidence import Seen, has_quota, is_gate_open, is_turned_down, seen
from tests.e2e.scene import Queue, condition_of
from tests.e2e.situations import Situation

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
_JOBS = {"Job": JOBS, "JobSet": JOB_SETS}
_RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods", "ephemeral-storage", "example.com/widget", "example.com/page")
_POLL_SECONDS = 0.5
_QUIET_SECONDS = 4.0
"""How long nobody may be admitted until those that still wait are taken away."""
_DEADLINE_SECONDS = 240.0
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
    MISSED = "missed"
    """Turnstile says itself that it was wrong."""
    CONTRADICTED = "contradicted"
    """The worker's objects say something else than Turnstile's record."""
    BROKEN = "no outcome"


FAILURES = (Ending.MISSED, Ending.CONTRADICTED, Ending.BROKEN)


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


def hub_queue() -> Queue:
    """Return a hub's queue with room for every resource of every situation."""
    quotas = [{"name": name, "nominalQuota": "1E"} for name in _RESOURCES]
    groups = [{"coveredResources": list(_RESOURCES), "flavors": [{"name": "hub", "resources": quotas}]}]
    return Queue(spec={"namespaceSelector": {}, "resourceGroups": groups})


@dataclass
class Trial:
    """One situation on one worker."""

    situation: Situation
    hub: Cluster
    hub_queue: str
    worker: Cluster
    socket: Path
    incoming: Obj = field(default_factory=dict)
    """The job that arrived last."""
    _arrived: float = 0.0

    async def play(self) -> AsyncIterator[Outcome]:
        """Set the situation up and let one job after the other arrive; tell what happened and leave nothing behind."""
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await self._set_up()
                await self._settle()
                await self._allow_preemption()
            for job in self.situation.arrivals:
                yield await self._arrive(job)
        finally:
            await self._clear()

    async def _arrive(self, job: Obj) -> Outcome:
        self.incoming, self._arrived = job, time.monotonic()
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await self._post(self.hub.api, self.incoming)
                outcome = await self._outcome()
                await self._send_away()
                return outcome
        except TimeoutError:
            return self._ended(Ending.BROKEN, message=f"not over after {_DEADLINE_SECONDS:g} s: {await self._state()}")

    async def _send_away(self) -> None:
        """Let the job go, and those that it preempted come back."""
        place = self.incoming["metadata"]
        path = _JOBS[self.incoming["kind"]].at(place["namespace"], place["name"])
        (await self.hub.api.delete(path, {"propagationPolicy": "Background"})).ok()
        while await self._is_anything_left():  # noqa: ASYNC110 - the clusters are other processes
            await asyncio.sleep(_POLL_SECONDS)
        await self._settle()

    async def _is_anything_left(self) -> bool:
        return await self._hub_workload() is not None or any(_is_copy(each) for each in await self._workloads())

    # --- setting up

    async def _set_up(self) -> None:
        now, later = self.worker.api, self.situation
        for each in later.namespaces:
            await self._post(now, each)
        for each in (*later.flavors, *later.cohorts):
            await self._post(now, each)
        for each in later.cluster_queues:
            await self._post(now, {**each, "spec": _without(each["spec"], "preemption")})
        for each in later.local_queues:
            await self._post(now, each)
        for each in later.namespaces:
            await self._post(self.hub.api, {**each, "metadata": {"name": each["metadata"]["name"]}})
        for each in later.local_queues:
            await self._post(self.hub.api, {**each, "spec": {"clusterQueue": self.hub_queue}})
        for each in later.crowd:
            await self._post(now, each)

    async def _settle(self) -> None:
        """Wait until everybody in the crowd is in who fits, and send the others away."""
        admitted, since = -1, time.monotonic()
        while True:
            jobs, workloads = await self._jobs(), await self._workloads()
            waiting = [each for each in workloads if condition_of(each, "Admitted").get("status") != "True"]
            if len(workloads) == len(jobs) and not waiting:
                return
            if len(workloads) - len(waiting) != admitted:
                admitted, since = len(workloads) - len(waiting), time.monotonic()
            elif len(workloads) == len(jobs) and time.monotonic() - since > _QUIET_SECONDS:
                for each in waiting:
                    await self._dismiss(each)
            await asyncio.sleep(_POLL_SECONDS)

    async def _dismiss(self, workload: Obj) -> None:
        (owner,) = workload["metadata"]["ownerReferences"]
        path = _JOBS[owner["kind"]].at(workload["metadata"]["namespace"], owner["name"])
        await self.worker.api.delete(path, {"propagationPolicy": "Background"})

    async def _allow_preemption(self) -> None:
        """Give the queues the policies that they are to have, now that everybody has a place."""
        for each in self.situation.cluster_queues:
            path = CLUSTER_QUEUES.at(None, each["metadata"]["name"])
            (await self.worker.api.patch(path, {"spec": {"preemption": each["spec"]["preemption"]}})).ok()
        for each in self.situation.cluster_queues:
            while not await self._is_taken_note_of(each):  # noqa: ASYNC110 - Kueue is another process
                await asyncio.sleep(_POLL_SECONDS)

    async def _is_taken_note_of(self, queue: Obj) -> bool:
        found = (await self.worker.api.get(CLUSTER_QUEUES.at(None, queue["metadata"]["name"]))).ok()
        return bool(condition_of(found, "Active").get("observedGeneration") == found["metadata"]["generation"])

    # --- what happens

    async def _outcome(self) -> Outcome:
        silent_since: float | None = None
        while True:
            copy, record = await self._copy(), await self._record()
            if record is not None and record["result"] != "pending":
                return await self._judge(record)
            if record is None and copy is not None and has_quota(copy):
                return await self._fitted(copy)
            if record is None and copy is not None and is_turned_down(copy):
                silent_since = silent_since or time.monotonic()
                promised = await asyncio.to_thread(self._asked, copy["metadata"]["name"])
                if promised.startswith("Cannot") or time.monotonic() - silent_since > _SURE_SECONDS:
                    return self._turned_down(promised, condition_of(copy, "QuotaReserved")["message"])
            else:
                silent_since = None
            await asyncio.sleep(_POLL_SECONDS)

    async def _judge(self, record: Obj) -> Outcome:
        """Hold Turnstile's verdict on itself against what the worker's objects say."""
        promised, result = str(record["verdict"]), str(record["result"])
        found = seen(await self._workloads(), record["replicaUID"])
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
        return self._ended(ending, promised, result, victims=found.victims if found else (), message=message)

    async def _fitted(self, copy: Obj) -> Outcome:
        """Somebody who got in without asking for a gate may not have preempted anybody."""
        await asyncio.sleep(_POLL_SECONDS)
        if await self._record() is not None:
            return await self._outcome()  # it asked first, and all went faster than we look
        found = seen(await self._workloads(), copy["metadata"]["uid"])
        if found is not None and not found.victims:
            return self._ended(Ending.FITTED)
        if found is not None and is_gate_open(copy):
            return self._ended(Ending.LATE, victims=found.victims)
        return self._ended(Ending.CONTRADICTED, message=f"preempted without a gate: {found}")

    def _turned_down(self, promised: str, said: str) -> Outcome:
        verdict = promised.partition(":")[0].partition(" ")[0]
        if verdict == "Cannot":
            return self._ended(Ending.CANNOT, verdict)
        if verdict in ("Unsupported", "Ambiguous"):
            return self._ended(Ending.UNPROMISED, verdict, message=promised)
        return self._ended(Ending.MISSED, verdict, message=f"Kueue: {said}; Turnstile: {promised}")

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
        name = f"{self.situation.name}/{self.incoming['metadata']['name']}"
        return Outcome(name, ending, verdict, result, len(found), reasons, message, seconds)

    # --- looking

    def _spaces(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.situation.namespaces]

    async def _jobs(self) -> list[Obj]:
        return [
            each
            for space in self._spaces()
            for resource in _JOBS.values()
            for each in (await self.worker.api.get(resource.at(space))).ok()["items"]
        ]

    async def _workloads(self) -> list[Obj]:
        return [
            each for space in self._spaces() for each in (await self.worker.api.get(WORKLOADS.at(space))).ok()["items"]
        ]

    async def _hub_workload(self) -> Obj | None:
        found = (await self.hub.api.get(WORKLOADS.at(self.incoming["metadata"]["namespace"]))).ok()["items"]
        return found[0] if found else None

    async def _copy(self) -> Obj | None:
        hub = await self._hub_workload()
        if hub is None:
            return None
        reply = await self.worker.api.get(WORKLOADS.at(self.incoming["metadata"]["namespace"], hub["metadata"]["name"]))
        return reply.body if reply.status == 200 else None

    async def _record(self) -> Obj | None:
        hub = await self._hub_workload()
        text = ((hub or {}).get("metadata") or {}).get("annotations", {}).get(FORECAST)
        return json.loads(text) if text else None

    def _asked(self, name: str) -> str:
        """Ask the daemon what it expects of the worker."""
        try:
            found: Any = ask(self.socket, "workloads", self.incoming["metadata"]["namespace"], name, "explanation")
        except (NoAnswerError, UnknownError) as error:
            return str(error)
        return next((str(each["forecast"]) for each in found["workers"] if each["name"] == self.worker.name), "-")

    async def _state(self) -> str:
        try:
            async with asyncio.timeout(20):
                copy, hub = await self._copy(), await self._hub_workload()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return repr(error)
        return f"hub {(hub or {}).get('status')}, copy {(copy or {}).get('status')}"

    # --- writing

    async def _post(self, api: Api, document: Obj) -> None:
        resource = _RESOURCE_OF[document["kind"]]
        reply = await api.post(resource.at(document["metadata"].get("namespace")), document)
        if reply.status != 201:
            name = document["metadata"]["name"]
            raise AssertionError(f"{resource.kind} {name} was refused: {reply.status} {reply.body.get('message')}")

    async def _clear(self) -> None:
        """Remove everything; what takes time happens behind our back."""
        gone = {"propagationPolicy": "Background"}
        for side in (self.hub, self.worker):
            for space in self._spaces():
                for resource in (*_JOBS.values(), WORKLOADS, LOCAL_QUEUES):
                    await side.api.delete(resource.at(space), gone)
                await side.api.delete(NAMESPACES.at(None, space))
        found = self.situation
        for resource, each in (
            *((CLUSTER_QUEUES, each) for each in found.cluster_queues),
            *((COHORTS, each) for each in found.cohorts),
            *((RESOURCE_FLAVORS, each) for each in found.flavors),
        ):
            await self.worker.api.delete(resource.at(None, each["metadata"]["name"]))


_RESOURCE_OF = {
    each.kind: each
    for each in (
        NAMESPACES,
        RESOURCE_FLAVORS,
        COHORTS,
        CLUSTER_QUEUES,
        LOCAL_QUEUES,
        JOBS,
        JOB_SETS,
    )
}


def _is_copy(workload: Obj) -> bool:
    return ORIGIN_LABEL in (workload["metadata"].get("labels") or {})


def _pairs(flavors: Obj) -> frozenset[tuple[str, str]]:
    lists = {resource: names if isinstance(names, list) else [names] for resource, names in flavors.items()}
    return frozenset((resource, name) for resource, names in lists.items() for name in names)


def _without(spec: Obj, name: str) -> Obj:
    return {key: value for key, value in spec.items() if key != name}
