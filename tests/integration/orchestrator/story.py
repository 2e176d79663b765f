"""Hub and workers with a stand-in for Kueue on each, the daemon between them, and one virtual clock for all.

The tests do not play Kueue here: they submit jobs, and the local Kueue and the daemon do the rest.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.names import MULTIKUEUE_NAME
from gates.model import marks
from gates.wire.annotations import parse_openings
from localcluster.cluster import LocalCluster
from localcluster.fleet import LocalFleet, Member
from localcluster.kueue.profile import CURRENT, KueueProfile
from localcluster.sample_queues import CHECK, NAMESPACE, QUEUE
from tests.integration.orchestrator.kueue import KUEUE, Cluster, ClusterClock, Obj
from tests.integration.orchestrator.world import ORIGIN, SYSTEM, World
from tests.support.job_builder import JobBuilder, job
from tests.support.virtual_time import VirtualClock

SIGNALS = ("BlockedOnPreemptionGates", "QuotaReservationBlocked")


def work(name: str, cpu: int, priority: str = "low") -> JobBuilder:
    """Return a job that runs until it is told to stop."""
    return job(name).queue(QUEUE).request(cpu=cpu).priority_class(priority).with_metadata(namespace=NAMESPACE)


@dataclass
class Story:
    """What happens to jobs on a hub and its workers."""

    world: World
    fleet: LocalFleet

    def __getitem__(self, name: str) -> LocalCluster:
        return self.fleet.clusters[name]

    # --- what users and operators do

    def create(self, cluster: str, plural: str, document: Obj, group: str = KUEUE, namespace: str = "") -> Obj:
        store = self[cluster].store
        return store.create(store.kind(plural, group), deepcopy(document), namespace).version.obj

    def change(
        self,
        cluster: str,
        plural: str,
        name: str,
        change: Callable[[Obj], object],
        subresource: str = "",
        namespace: str = "",
    ) -> None:
        def changed(stored: Obj) -> Obj:
            copy = deepcopy(stored)
            change(copy)
            return copy

        store = self[cluster].store
        store.patch(store.kind(plural, KUEUE), name, changed, namespace, subresource=subresource)

    def submit(self, cluster: str, builder: JobBuilder) -> None:
        """Submit a job to one cluster; on the hub it is left to the orchestrator."""
        made = builder.managed_elsewhere() if cluster == "hub" else builder
        self.create(cluster, "jobs", made.raw, "batch", NAMESPACE)

    # --- what can be seen

    def workloads(self, cluster: str, name: str) -> list[Obj]:
        """Return the Workloads of a cluster that are called so, or whose job is; a replica is called like the hub's."""
        store = self[cluster].store
        return [w for w in store.list(store.kind("workloads", KUEUE), NAMESPACE) if _belongs(w, name)]

    def has(self, cluster: str, name: str) -> bool:
        return bool(self.workloads(cluster, name))

    def workload(self, cluster: str, name: str) -> Obj:
        (found,) = self.workloads(cluster, name)
        return found

    def condition(self, cluster: str, name: str, *types: str) -> Obj | None:
        conditions = self.workload(cluster, name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] in types), None)

    def holds(self, cluster: str, name: str, *types: str) -> bool:
        found = self.condition(cluster, name, *types) if self.has(cluster, name) else None
        return found is not None and found["status"] == "True"

    def asks(self, cluster: str, name: str) -> bool:
        return self.holds(cluster, name, *SIGNALS)

    def gate(self, cluster: str, name: str) -> str | None:
        entries = self.workload(cluster, name).get("status", {}).get("preemptionGates", [])
        found = next((e for e in entries if e["name"] == MULTIKUEUE_NAME), None)
        return None if found is None else str(found.get("position") or found.get("state"))

    def openings(self, name: str) -> list[tuple[str, int]]:
        """Return which gates were opened for a job, and how many seconds ago."""
        annotations = self.workload("hub", name)["metadata"].get("annotations", {})
        now = self.world.clock.now_ns()
        recorded = parse_openings(annotations.get(marks.GATE_OPENINGS))
        return [(o.cluster, (now - o.opened_ns) // 10**9) for o in recorded if not o.until_shown]

    def check(self, name: str) -> Obj:
        entries = self.workload("hub", name)["status"]["admissionChecks"]
        return next(dict(entry) for entry in entries if entry["name"] == CHECK)

    def is_ready(self, name: str) -> bool:
        """Return whether the hub knows where a job runs."""
        has_check = self.has("hub", name) and self.workload("hub", name).get("status", {}).get("admissionChecks")
        return bool(has_check) and self.check(name)["state"] == "Ready"

    def evictions(self, cluster: str) -> "Evictions":
        return Evictions(self[cluster])

    # --- time

    def is_settled(self) -> bool:
        moved = [kueue.step() for kueue in self.fleet.kueues.values()]
        return not any(moved) and self.world.is_settled()

    async def settled(self) -> None:
        """Wait until neither the daemon nor any Kueue has anything left to do."""
        await self.world.until(self.is_settled)

    async def until(self, condition: Callable[[], object]) -> None:
        await self.world.until(condition)

    async def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            await self.world.clock.advance(1)
            await self.settled()


class Evictions:
    """Notes which Workloads of a cluster are ever evicted, from now on."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.names: set[str] = set()
        self._kind = cluster.store.kind("workloads", KUEUE)
        self._store = cluster.store
        cluster.store.subscribe(self._kind, self._look)

    def _look(self, _change: object) -> None:
        for found in self._store.list(self._kind, NAMESPACE):
            conditions = found.get("status", {}).get("conditions", [])
            if any(c["type"] == "Evicted" and c["status"] == "True" for c in conditions):
                self.names.add(found["metadata"]["name"])


def _belongs(workload: Obj, name: str) -> bool:
    found = str(workload["metadata"]["name"])
    return found == name or found.removeprefix("job-").rpartition("-")[0] == name


@asynccontextmanager
async def story(
    directory: Path, profiles: Mapping[str, KueueProfile] | None = None, cpu: str = "8", **options: Any
) -> AsyncIterator[Story]:
    """Run a hub, two workers by default, their Kueues, and the daemon. The preemption timeout is 30 seconds."""
    clock = VirtualClock()
    kueues = profiles or {"w1": CURRENT, "w2": CURRENT}
    members = [Member(name, cpu, profile, ClusterClock(clock)) for name, profile in kueues.items()]
    async with LocalFleet(Member("hub", "64", clock=ClusterClock(clock)), members, directory) as fleet:
        views = {name: Cluster(name, directory, clock, local=local) for name, local in fleet.clusters.items()}
        given = {
            "hub": {"origin": ORIGIN, "namespace": SYSTEM},
            "gates": {"single_cluster_preemption_timeout": "30s"},
            **options,
        }
        world = World(clock, views.pop("hub"), views, given)
        try:
            await world.start()
            await world.connected()
            told = Story(world, fleet)
            await told.settled()
            yield told
        finally:
            await world.stop()
