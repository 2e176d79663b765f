"""A cluster on loopback, the cost controller on a virtual clock, and the tests in the role of Kueue and its users."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.sources import load_worker_kubeconfig
from config.sections.sections import KubeconfigPolicy
from engine.cost.facts import QUEUE_LABEL
from engine.cost.models import CostModel, reference
from engine.cost.rules import CostPolicy
from localcluster.access.auth import Allow
from localcluster.kinds.kinds import ServedKind
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from localcluster.serving.faults import Fault, Latency
from manager.cost.controller import CostController, CostSettings
from manager.cost.metrics import CostMetrics
from manager.cost.propagating import CostPropagation
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj, job, workload
from tests.integration.orchestrator.world import steady
from tests.support.lag import LagProbe, measured_loop
from tests.support.virtual_time import VirtualClock, let_run, until
from workerclient.cluster import ClientContext, ClientLimits

if TYPE_CHECKING:
    from workerclient.base.backoff import Retry

COST = f"{KUEUE}/preemption-cost"
BOOST = f"{KUEUE}/priority-boost"
CLUSTER = "w1"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")


class CostWorld:
    """One cluster and at most one controller."""

    def __init__(self, clock: VirtualClock, cluster: Cluster, directory: Path) -> None:
        self.clock = clock
        self.cluster = cluster
        self.directory = directory
        self.metrics = CostMetrics()
        self.policy: dict[str, Any] = {}
        self.model: CostModel = reference
        self.refresh_seconds = 300.0
        self.propagation = CostPropagation()
        self.limits = ClientLimits()
        self.controller: CostController | None = None
        self.retried: list[Retry] = []
        self.lag = LagProbe()
        self.task: asyncio.Task[None] | None = None

    # --- the controller

    def access(self) -> ClusterAccess:
        path = self.directory / "kubeconfig-of-the-controller"
        path.write_bytes(self.cluster.kubeconfig())
        return load_worker_kubeconfig(path, KubeconfigPolicy(allowed_directories=(self.directory,)))

    async def start(self) -> CostController:
        """Start a controller and wait until it has done all there is to do."""
        settings = CostSettings(CostPolicy(self.model, "mine", **self.policy), self.refresh_seconds, self.propagation)
        client_context = ClientContext(self.clock, steady, on_retry=self.retried.append)
        self.controller = CostController(CLUSTER, self.access(), client_context, self.limits, settings, self.metrics)
        self.task = self.lag.create_task(self.controller.run())
        await self.settled()
        return self.controller

    async def stop(self) -> None:
        """End the controller at once, as a kill does."""
        task, self.task, self.controller = self.task, None, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def until(self, condition: Callable[[], object]) -> None:
        def met() -> object:
            if self.task is not None and self.task.done():
                self.task.result()
            return condition()

        await until(met)

    async def settled(self) -> None:
        """Wait until the controller knows what the cluster holds and has nothing left to do."""
        await self.until(self.is_settled)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass in steps short enough for watches to be answered on the way."""
        while seconds > 0:
            step = min(seconds, 20.0)
            await self.clock.advance(step)
            seconds -= step
            await let_run()
            await self.settled()

    async def pass_until(self, condition: Callable[[], object]) -> None:
        """Let as much time pass as it takes."""

        async def pass_time() -> None:
            while not condition():
                await self.clock.advance(0.1)
                await asyncio.sleep(0.001)

        await asyncio.wait_for(pass_time(), 120)

    def is_settled(self) -> bool:
        controller = self.controller
        if controller is None or not controller.is_connected or not controller.queue.is_idle:
            return False
        managed = self._versions("jobs", "batch", managed=True)
        return managed == _known(controller.jobs.cache) and self._versions("workloads", KUEUE) == _known(
            controller.workloads.cache
        )

    def _versions(self, plural: str, group: str, *, managed: bool = False) -> dict[tuple[str, str], str]:
        return {
            (raw["metadata"]["namespace"], raw["metadata"]["name"]): raw["metadata"]["resourceVersion"]
            for raw in self.cluster.store.list(self.cluster.store.kind(plural, group))
            if not managed or QUEUE_LABEL in raw["metadata"].get("labels", {})
        }

    # --- what is on the cluster

    def counted(self, plural: str, verbs: Sequence[str] = VERBS) -> dict[str, Fault]:
        """Count requests of a kind from now on, by verb."""
        return {verb: self.cluster.local.faults.add(Latency(0), verb=verb, plural=plural) for verb in verbs}

    def submit(
        self,
        name: str = "j",
        annotations: dict[str, str] | None = None,
        *,
        preempted: int = 0,
        with_workload: bool = True,
    ) -> Obj:
        """Create a Job as a user, and its Workload as Kueue."""
        document = job(name, managed_by=None)
        document["metadata"]["annotations"] = annotations or {}
        made = self.cluster.create("jobs", document, "batch", NAMESPACE)
        if with_workload:
            self.add_workload(name, name, preempted=preempted)
        return made

    def add_workload(self, name: str, owner: str, *, preempted: int = 0) -> None:
        owned = workload(name, self.cluster.get("jobs", owner, "batch"))
        self.cluster.create("workloads", owned, KUEUE, NAMESPACE)
        if preempted:
            self.preempt(name, preempted)

    def preempt(self, name: str = "j", times: int = 1, reason: str = "Preempted", cause: str = "") -> None:
        """Count so many evictions, as Kueue does."""

        def change(status: Obj) -> None:
            entries = status.setdefault("schedulingStats", {}).setdefault("evictions", [])
            for entry in entries:
                if (entry["reason"], entry["underlyingCause"]) == (reason, cause):
                    entry["count"] += times
                    return
            entries.append({"reason": reason, "underlyingCause": cause, "count": times})

        self.cluster.set_status(name, change)

    def annotate(self, plural: str, name: str, group: str, changes: Mapping[str, str | None]) -> None:
        """Let another writer set or remove annotations."""

        def change(raw: Obj) -> None:
            annotations = raw["metadata"].setdefault("annotations", {})
            for key, text in changes.items():
                if text is None:
                    annotations.pop(key, None)
                else:
                    annotations[key] = text

        self.cluster.change(plural, name, change, group)

    def annotate_job(self, changes: Mapping[str, str | None], name: str = "j") -> None:
        self.annotate("jobs", name, "batch", changes)

    def annotate_workload(self, changes: Mapping[str, str | None], name: str = "j") -> None:
        self.annotate("workloads", name, KUEUE, changes)

    def annotations(self, name: str = "j", plural: str = "jobs", group: str = "batch") -> Obj:
        found: Obj = self.cluster.get(plural, name, group)["metadata"].get("annotations") or {}
        return deepcopy(found)

    def cost(self, name: str = "j") -> str | None:
        return self.annotations(name).get(COST)

    def workload_annotations(self, name: str = "j") -> Obj:
        return self.annotations(name, "workloads", KUEUE)

    def finish_job(self, name: str = "j") -> None:
        """Let a Job succeed, as Kubernetes' job controller does."""
        stamp = self.cluster.now()
        entries = [
            {"type": kind, "status": "True", "reason": "CompletionsReached", "lastTransitionTime": stamp}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        done = {"conditions": entries, "startTime": stamp, "completionTime": stamp, "succeeded": 1}
        self.cluster.change("jobs", name, lambda raw: raw["spec"].update(suspend=False), "batch")
        self.cluster.change_status("jobs", name, lambda status: status.update(done), "batch")

    def events(self) -> list[Obj]:
        return self.cluster.store.list(self.cluster.store.kind("events"), NAMESPACE)


def _known(cache: Any) -> dict[tuple[str, str], str]:
    return {(key.namespace, key.name): cache.identity(key).resource_version for key in cache}


@asynccontextmanager
async def cost_world(
    directory: Path,
    *,
    rules: tuple[Allow, ...] | None = None,
    profile: KueueProfile = CURRENT,
    kinds: tuple[ServedKind, ...] | None = None,
) -> AsyncIterator[CostWorld]:
    """Run a cluster without Kueue: the test plays its part."""
    clock = VirtualClock()
    cluster = Cluster(CLUSTER, directory, clock, kinds or profile.kinds(), rules)
    made = CostWorld(clock, cluster, directory)
    with measured_loop():
        async with cluster.local:
            cluster.create("namespaces", {"metadata": {"name": NAMESPACE}})
            try:
                yield made
                made.lag.check()
            finally:
                await made.stop()


@asynccontextmanager
async def with_kueue(made: CostWorld, profile: KueueProfile) -> AsyncIterator[LocalKueue]:
    """Run a stand-in for Kueue on the cluster of a world."""
    async with LocalKueue(made.cluster.store, profile).running() as kueue:
        yield kueue
