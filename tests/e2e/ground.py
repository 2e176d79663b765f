"""A situation on real clusters: set up, settled after each arrival, looked at, and removed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from config.names import ORIGIN_LABEL
from gates.model.marks import FORECAST
from tests.conformance.client import Api, Obj, Watch
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
from tests.e2e.scene import Queue, condition_of
from tests.e2e.situations import Situation

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
POLL_SECONDS = 0.5
_JOBS = {"Job": JOBS, "JobSet": JOB_SETS}
_RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "pods", "ephemeral-storage", "example.com/widget", "example.com/page")
_QUIET_SECONDS = 4.0
"""How long no admission may happen until those that still wait are taken away."""


def hub_queue() -> Queue:
    """Return a hub's queue with room for every resource of every situation."""
    quotas = [{"name": name, "nominalQuota": "1E"} for name in _RESOURCES]
    groups = [{"coveredResources": list(_RESOURCES), "flavors": [{"name": "hub", "resources": quotas}]}]
    return Queue(spec={"namespaceSelector": {}, "resourceGroups": groups})


@dataclass(frozen=True, slots=True)
class Ground:
    """One situation on one worker, and its place on the hub."""

    situation: Situation
    hub: Cluster
    hub_queue: str
    worker: Cluster

    async def prepare(self) -> None:
        """Create everything, let the crowd in, and then let the queues preempt."""
        await self._set_up()
        await self.settle()
        await self._allow_preemption()

    async def receive(self, job: Obj) -> None:
        """Let a job arrive on the hub."""
        await self._post(self.hub.api, job)

    async def send_away(self, job: Obj) -> None:
        """Let a job go, and those that it preempted come back."""
        place = job["metadata"]
        path = _JOBS[job["kind"]].at(place["namespace"], place["name"])
        (await self.hub.api.delete(path, {"propagationPolicy": "Background"})).ok()
        while await self._is_anything_left(job):  # noqa: ASYNC110 - the clusters are other processes
            await asyncio.sleep(POLL_SECONDS)
        await self.settle()

    async def _is_anything_left(self, job: Obj) -> bool:
        return await self.hub_workload(job) is not None or any(_is_copy(each) for each in await self.workloads())

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

    async def settle(self) -> None:
        """Wait until everybody in the crowd is in who fits, and send the others away."""
        admitted, since = -1, time.monotonic()
        while True:
            jobs, workloads = await self._jobs(), await self.workloads()
            waiting = [each for each in workloads if condition_of(each, "Admitted").get("status") != "True"]
            if len(workloads) == len(jobs) and not waiting:
                return
            if len(workloads) - len(waiting) != admitted:
                admitted, since = len(workloads) - len(waiting), time.monotonic()
            elif len(workloads) == len(jobs) and time.monotonic() - since > _QUIET_SECONDS:
                for each in waiting:
                    await self._dismiss(each)
            await asyncio.sleep(POLL_SECONDS)

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
                await asyncio.sleep(POLL_SECONDS)

    async def _is_taken_note_of(self, queue: Obj) -> bool:
        found = (await self.worker.api.get(CLUSTER_QUEUES.at(None, queue["metadata"]["name"]))).ok()
        return bool(condition_of(found, "Active").get("observedGeneration") == found["metadata"]["generation"])

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

    async def workloads(self) -> list[Obj]:
        """Return all Workloads on the worker."""
        return [
            each for space in self._spaces() for each in (await self.worker.api.get(WORKLOADS.at(space))).ok()["items"]
        ]

    @asynccontextmanager
    async def followed(self, note: Callable[[Obj], None]) -> AsyncIterator[None]:
        """Report every version of a Workload on the worker meanwhile; fail if one may have been missed."""
        async with AsyncExitStack() as stack:
            paths = [WORKLOADS.at(space) for space in self._spaces()]
            watches = [await stack.enter_async_context(self.worker.api.watch(path)) for path in paths]
            following = [asyncio.create_task(_tell(watch, note)) for watch in watches]
            try:
                yield
            finally:
                missed = [each for each in following if each.done()]
                for each in following:
                    each.cancel()
                await asyncio.wait(following)
            assert not missed, "the worker ended a watch"

    async def hub_workload(self, job: Obj) -> Obj | None:
        """Return the hub's Workload of a job."""
        found = (await self.hub.api.get(WORKLOADS.at(job["metadata"]["namespace"]))).ok()["items"]
        return found[0] if found else None

    async def copy(self, job: Obj) -> Obj | None:
        """Return its copy on the worker."""
        hub = await self.hub_workload(job)
        if hub is None:
            return None
        reply = await self.worker.api.get(WORKLOADS.at(job["metadata"]["namespace"], hub["metadata"]["name"]))
        return reply.body if reply.status == 200 else None

    async def record(self, job: Obj) -> Obj | None:
        """Return what Turnstile wrote down about it."""
        hub = await self.hub_workload(job)
        text = ((hub or {}).get("metadata") or {}).get("annotations", {}).get(FORECAST)
        return json.loads(text) if text else None

    # --- writing

    async def _post(self, api: Api, document: Obj) -> None:
        resource = _RESOURCE_OF[document["kind"]]
        reply = await api.post(resource.at(document["metadata"].get("namespace")), document)
        if reply.status != 201:
            name = document["metadata"]["name"]
            raise AssertionError(f"{resource.kind} {name} was refused: {reply.status} {reply.body.get('message')}")

    async def clear(self) -> None:
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


async def _tell(watch: Watch, note: Callable[[Obj], None]) -> None:
    while (event := await watch.next_or_silence()) is not None:
        note(event["object"])


def _is_copy(workload: Obj) -> bool:
    return ORIGIN_LABEL in (workload["metadata"].get("labels") or {})


def _without(spec: Obj, name: str) -> Obj:
    return {key: value for key, value in spec.items() if key != name}
