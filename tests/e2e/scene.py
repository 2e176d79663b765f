"""One test's own world on shared clusters: a namespace, queues, a check, and at most one running Turnstile.

Everything carries the test's name, so tests neither see nor disturb each other. Waiting is always for a condition, with
a deadline that only a broken bed reaches.
"""

import asyncio
import base64
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from config.api.meta import parse_time
from config.names import CONTROLLER_NAME, KUEUE_GROUP, MULTIKUEUE_NAME
from localcluster.kueue.annotations import RUN_SECONDS
from tests.conformance.client import Api, Obj, Reply
from tests.conformance.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    JOBS,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    NAMESPACES,
    PODS,
    RESOURCE_FLAVORS,
    SECRETS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)
from tests.e2e.clusters import Cluster, Clusters
from tests.e2e.daemon import Turnstile
from tests.realbed.cluster import TURNSTILE_NAMESPACE

DEADLINE_SECONDS = 180.0
_POLL_SECONDS = 0.1
PRIORITIES = {"low": 100, "middle": 500, "high": 1000}
STUBBORN = "example.com/stubborn"
"""Manager of a Job that says it runs, and goes on saying so when it is told to stop."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What a ClusterQueue is like; quota is in CPUs."""

    cpu: str = "2"
    spec: Mapping[str, Any] = field(default_factory=dict)
    flavors: Sequence[str] = ("default",)


@dataclass
class Scene:
    """A test's world."""

    name: str
    clusters: Clusters
    directory: Path
    controller_name: str = CONTROLLER_NAME
    secrets_namespace: str = TURNSTILE_NAMESPACE
    """Where the workers' kubeconfigs are put; elsewhere than in Turnstile's own they are for another controller."""
    turnstile: Turnstile | None = None
    standby: Turnstile | None = None
    cleanups: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    @property
    def hub(self) -> Cluster:
        return self.clusters.hub

    @property
    def workers(self) -> Mapping[str, Cluster]:
        return self.clusters.workers

    def others(self, name: str) -> Cluster:
        """Return the worker that is not the named one."""
        (other,) = (worker for worker in self.workers.values() if worker.name != name)
        return other

    # --- set-up

    async def build(self, worker: Queue | None = None, *, hub: Queue | None = None) -> None:
        """Create the namespace and a queue on every cluster, and what ties the workers to the hub."""
        for side in self.workers.values():
            await self._create_queue(side, worker or Queue(), {})
        await self._tie()
        checked = {"admissionChecksStrategy": {"admissionChecks": [{"name": self.name}]}}
        await self._create_queue(self.hub, hub or Queue(cpu="100"), checked)

    async def start_turnstile(self, **sections: Any) -> Turnstile:
        """Start a daemon and wait until its check is active."""
        self.turnstile = Turnstile(self.directory, self.hub.kubeconfig(), self.sections(**sections))
        await self.turnstile.start()
        await self.until_active()
        return self.turnstile

    def sections(self, **sections: Any) -> dict[str, Any]:
        """Return a daemon's configuration for this scene."""
        return {**sections, "hub": {"controllerName": self.controller_name, **sections.get("hub", {})}}

    async def until_active(self) -> None:
        """Wait until the check can be used."""
        await self.until(lambda: self._is_active(self.hub.api, ADMISSION_CHECKS.at(None, self.name)), "an active check")

    async def _create_queue(self, side: Cluster, queue: Queue, more: Mapping[str, Any]) -> None:
        await self.create(side, NAMESPACES, {"metadata": {"name": self.name}})
        for name, value in PRIORITIES.items():
            reply = await side.api.post(
                WORKLOAD_PRIORITY_CLASSES.at(), _head(WORKLOAD_PRIORITY_CLASSES, name, value=value)
            )
            assert reply.status in (201, 409), reply.body
        flavors = [f"{self.name}-{flavor}" for flavor in queue.flavors]
        for flavor in flavors:
            await self.create(side, RESOURCE_FLAVORS, _head(RESOURCE_FLAVORS, flavor, spec={}))
        quotas = [{"name": each, "resources": [{"name": "cpu", "nominalQuota": queue.cpu}]} for each in flavors]
        spec = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.name}},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": quotas}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
            **queue.spec,
            **more,
        }
        await self.create(side, CLUSTER_QUEUES, _head(CLUSTER_QUEUES, self.name, spec=spec))
        local = _head(LOCAL_QUEUES, "jobs", spec={"clusterQueue": self.name})
        (await side.api.post(LOCAL_QUEUES.at(self.name), local)).expect(201)
        if side is not self.hub:  # the hub's is active once Turnstile says that its check is
            await self.until(lambda: self._is_active(side.api, CLUSTER_QUEUES.at(None, self.name)), "an active queue")

    async def _tie(self) -> None:
        for name, side in self.workers.items():
            is_ours = self.secrets_namespace == TURNSTILE_NAMESPACE
            kubeconfig = side.kubeconfig() if is_ours else side.unlimited_kubeconfig()
            data = {"kubeconfig": base64.b64encode(kubeconfig.encode()).decode()}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
            path = SECRETS.at(self.secrets_namespace, name)
            assert (await self.hub.api.apply(path, secret, "e2e", force="true")).status in (200, 201)
            source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
            cluster = _head(MULTIKUEUE_CLUSTERS, name, spec={"clusterSource": source})
            assert (await self.hub.api.post(MULTIKUEUE_CLUSTERS.at(), cluster)).status in (201, 409)
        config = _head(MULTIKUEUE_CONFIGS, self.name, spec={"clusters": list(self.workers)})
        await self.create(self.hub, MULTIKUEUE_CONFIGS, config)
        parameters = {"apiGroup": KUEUE_GROUP, "kind": "MultiKueueConfig", "name": self.name}
        spec = {"controllerName": self.controller_name, "parameters": parameters}
        await self.create(self.hub, ADMISSION_CHECKS, _head(ADMISSION_CHECKS, self.name, spec=spec))

    async def create(self, side: Cluster, resource: Resource, document: Obj) -> None:
        (await side.api.post(resource.at(), document)).expect(201)
        path = resource.at(None, document["metadata"]["name"])
        self.cleanups.append(lambda: side.api.delete(path))

    async def tear_down(self) -> None:
        """Stop the daemon and remove everything; clusters finish what takes time behind our back."""
        for daemon in (self.turnstile, self.standby):
            if daemon is not None:
                await daemon.stop()
        for side in (self.hub, *self.workers.values()):
            for resource in (JOBS, WORKLOADS):
                await side.api.delete(resource.at(self.name), {"propagationPolicy": "Background"})
        while self.cleanups:
            await self.cleanups.pop()()

    # --- jobs

    async def submit(self, name: str, *, on: Cluster | None = None, cpu: int = 2, **options: Any) -> Obj:
        """Create a Job: on the hub for the workers to run, or for one worker itself."""
        side = on or self.hub
        document = self.job(name, cpu=cpu, **options)
        if side is self.hub:
            document["spec"].setdefault("managedBy", MULTIKUEUE_NAME)
        return (await side.api.post(JOBS.at(self.name), document)).expect(201)

    def job(
        self, name: str, *, cpu: int = 2, priority: str = "low", runs: float | None = None, managed_by: str = ""
    ) -> Obj:
        """Return a Job of one pod; `runs` seconds, or for ever."""
        annotations = {} if runs is None else {RUN_SECONDS: str(runs)}
        labels = {f"{KUEUE_GROUP}/queue-name": "jobs", f"{KUEUE_GROUP}/priority-class": priority}
        container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": str(cpu)}}}
        pod = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 0}
        spec: Obj = {"suspend": True, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
        if managed_by:
            spec["managedBy"] = managed_by
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    async def occupy(self, side: Cluster, name: str = "low", *, stubborn: bool = False, **options: Any) -> None:
        """Fill a worker's queue with a job of its own; a stubborn one does not stop when it is told to."""
        await self.submit(name, on=side, managed_by=STUBBORN if stubborn else "", **options)
        await self.until(lambda: self.has(side, name, "Admitted"), f"{name} to be admitted on {side.name}")
        if stubborn:
            await self.report_active(side, name, 1)

    async def report_active(self, side: Cluster, name: str, pods: int) -> None:
        """Report in a stubborn job's name how many of its pods run."""
        path = JOBS.at(self.name, name, "status")
        (await side.api.patch(path, {"status": {"active": pods, "ready": 0}})).ok()

    async def finish(self, side: Cluster, job: str) -> None:
        """Let a job that runs on a worker succeed."""
        over = {"metadata": {"annotations": {RUN_SECONDS: "0"}}}
        (await side.api.patch(JOBS.at(self.name, job), over)).ok()
        pods = (await side.api.get(PODS.at(self.name), labelSelector=f"job-name={job}")).ok()["items"]
        for pod in pods:
            await side.api.patch(PODS.at(self.name, pod["metadata"]["name"]), over)

    async def touch(self, job: str) -> None:
        """Change something on the hub's Workload that means nothing."""
        await self.patch_workload(job, {"metadata": {"annotations": {"example.com/touched": secrets.token_hex(4)}}})

    async def patch_workload(self, job: str, patch: Obj) -> None:
        """Change the hub's Workload of a job."""
        found = await self.workload(self.hub, job)
        assert found is not None
        (await self.hub.api.patch(WORKLOADS.at(self.name, found["metadata"]["name"]), patch)).ok()

    async def change_priority(self, job: str, priority: str) -> None:
        """Give the hub's Job another priority class."""
        labels = {f"{KUEUE_GROUP}/priority-class": priority}
        (await self.hub.api.patch(JOBS.at(self.name, job), {"metadata": {"labels": labels}})).ok()

    async def delete_job(self, job: str) -> None:
        """Delete the hub's Job, and with it its Workload."""
        (await self.hub.api.delete(JOBS.at(self.name, job), {"propagationPolicy": "Background"})).ok()

    # --- what is the case

    async def job_on(self, side: Cluster, name: str) -> Obj | None:
        """Return a Job."""
        return await self._find(side, JOBS.at(self.name, name))

    async def workload(self, side: Cluster, job: str) -> Obj | None:
        """Return the Workload of a job; on a worker also that of a job which is still on the hub alone."""
        listed = (await self._read(side, WORKLOADS.at(self.name))).ok()["items"]
        return next((each for each in listed if _belongs(each, job)), None)

    async def generation(self, side: Cluster, job: str) -> int:
        """Return how often the spec of the Workload of a job was written."""
        found = await self.workload(side, job)
        assert found is not None
        return int(found["metadata"]["generation"])

    async def uid(self, side: Cluster, job: str) -> str:
        """Return the UID of the Workload of a job."""
        found = await self.workload(side, job)
        assert found is not None
        return str(found["metadata"]["uid"])

    async def has(self, side: Cluster, job: str, condition: str, status: str = "True") -> bool:
        """Return whether the Workload of a job has a condition."""
        found = await self.workload(side, job)
        return found is not None and condition_of(found, condition).get("status") == status

    async def was_evicted(self, side: Cluster, job: str) -> bool:
        """Return whether the Workload of a job has ever been evicted."""
        found = await self.workload(side, job)
        return found is not None and bool(condition_of(found, "Evicted"))

    async def opened_at(self, side: Cluster, job: str) -> float | None:
        """Return when the gate of a replica was opened, None while it is closed."""
        found = await self.workload(side, job)
        gates = ((found or {}).get("status") or {}).get("preemptionGates") or []
        opened = [parse_time(gate["lastTransitionTime"]) / 1e9 for gate in gates if gate["position"] == "Open"]
        return opened[0] if opened else None

    async def open_on(self, job: str) -> list[str]:
        """Return the workers on which the gate of a job is open."""
        return [name for name, side in self.workers.items() if await self.opened_at(side, job) is not None]

    async def holders(self, job: str) -> list[str]:
        """Return the workers that hold a replica."""
        return [name for name, side in self.workers.items() if await self.workload(side, job) is not None]

    async def check(self, job: str) -> Obj:
        """Return the hub Workload's entry of the check."""
        found = await self.workload(self.hub, job)
        entries = ((found or {}).get("status") or {}).get("admissionChecks") or []
        return next((entry for entry in entries if entry["name"] == self.name), {})

    async def check_is_served(self) -> bool:
        """Return whether the check has been judged, whatever the judgement."""
        return bool(condition_of((await self.hub.api.get(ADMISSION_CHECKS.at(None, self.name))).ok(), "Active"))

    async def winner(self, job: str) -> str | None:
        """Return the worker that the hub says a job runs on."""
        found = await self.workload(self.hub, job)
        cluster: str | None = ((found or {}).get("status") or {}).get("clusterName")
        return cluster

    # --- waiting

    async def until(self, holds: Callable[[], Awaitable[object]], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
        """Wait until something is the case, and return what the condition returned."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := await self._try(holds)):  # noqa: ASYNC110 - the clusters are other processes
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise AssertionError(f"waited {seconds:g} s for {what}\n{await self._report()}") from None
        return found

    async def until_won(self, job: str) -> Cluster:
        """Wait until a job has a winner and is admitted on the hub; return the worker."""
        await self.until(lambda: self.has(self.hub, job, "Admitted"), f"{job} to be admitted on the hub")
        name = await self.winner(job)
        assert name is not None
        return self.workers[name]

    async def until_one_open(self, job: str) -> Cluster:
        """Wait until a gate of a job is open; return the worker."""
        (name, *more) = await self.until(lambda: self.open_on(job), f"an open gate of {job}")
        assert not more, f"gates are open on {[name, *more]}"
        return self.workers[name]

    async def until_runs(self, side: Cluster, job: str) -> None:
        """Wait until a job runs on a worker."""

        async def runs() -> bool:
            found = await self.job_on(side, job)
            return bool(((found or {}).get("status") or {}).get("ready"))

        await self.until(runs, f"{job} to run on {side.name}")

    async def until_complete(self, job: str) -> Obj:
        """Wait until the hub's Job is complete, and its Workload finished; return the Job."""
        await self.until(lambda: self._is_complete(job), f"{job} to complete on the hub")
        await self.until(lambda: self.has(self.hub, job, "Finished"), f"{job} to be finished on the hub")
        found = await self.job_on(self.hub, job)
        assert found is not None
        return found

    async def until_gone(self, job: str, sides: Iterable[Cluster]) -> None:
        """Wait until workers hold nothing of a hub job any more."""
        for side in sides:
            await self.until(lambda side=side: self.is_deleted(side, job), f"{job} to be gone from {side.name}")  # type: ignore[misc]

    async def is_deleted(self, side: Cluster, job: str) -> bool:
        """Return whether a cluster holds neither a Job nor its Workload."""
        return await self.workload(side, job) is None and await self.job_on(side, job) is None

    async def _is_complete(self, job: str) -> bool:
        found = await self.job_on(self.hub, job)
        return found is not None and condition_of(found, "Complete").get("status") == "True"

    async def _is_active(self, api: Api, path: str) -> bool:
        return condition_of((await api.get(path)).ok(), "Active").get("status") == "True"

    async def _try(self, holds: Callable[[], Awaitable[object]]) -> object:
        try:
            return await holds()
        except (aiohttp.ClientError, OSError):
            return None  # a cluster that was struck down is coming back

    async def _find(self, side: Cluster, path: str) -> Obj | None:
        reply = await self._read(side, path)
        return None if reply.status == 404 else reply.ok()

    async def _read(self, side: Cluster, path: str) -> Reply:
        reply = await side.api.get(path)
        if reply.status == 429 or reply.status >= 500:
            raise ConnectionError(f"{side.name} is coming back: {reply.body}")
        return reply

    async def _report(self) -> str:
        """Describe the scene for the one who has to find out why a wait was in vain."""
        lines = []
        for side in (self.hub, *self.workers.values()):
            try:
                async with asyncio.timeout(5):
                    workloads = (await side.api.get(WORKLOADS.at(self.name))).ok()["items"]
                    jobs = (await side.api.get(JOBS.at(self.name))).ok()["items"]
            except (aiohttp.ClientError, OSError, TimeoutError, AssertionError) as error:
                lines.append(f"{side.name}: {error!r}")
                continue
            lines += [f"{side.name}: {each['metadata']['name']}: {each.get('status')}" for each in workloads]
            lines += [f"{side.name}: job {_brief(each)}" for each in jobs]
        log = self.turnstile.log().splitlines()[-40:] if self.turnstile is not None else []
        return "\n".join([*lines, *log])


def condition_of(obj: Obj, kind: str) -> Obj:
    """Return a condition, empty if there is none."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def _belongs(workload: Obj, job: str) -> bool:
    """Return whether a Workload is that of a job, by the name that Kueue gives it, or is called so itself."""
    name = str(workload["metadata"]["name"])
    return name == job or (name.startswith(f"job-{job}-") and "-" not in name.removeprefix(f"job-{job}-"))


def _brief(job: Obj) -> str:
    spec, status = job["spec"], job.get("status")
    return f"{job['metadata']['name']}: suspend={spec.get('suspend')} managedBy={spec.get('managedBy')} {status}"


def _head(resource: Resource, name: str, **fields: Any) -> Obj:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, **fields}
